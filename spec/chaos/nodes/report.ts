// How a kill test of nodes ended, in one line and in words.

import type { Ledger } from "./ledger.js";
import type { NamesLedger } from "./names.js";
import type { LinkEnd } from "./words.js";

/** How it ended. */
export interface NodesReport {
  readonly line: string;
  readonly clean: boolean;
  /** What is wrong, in words. */
  readonly findings: readonly string[];
  readonly acknowledged: number;
  readonly failures: ReadonlyMap<string, number>;
  /** Writes under names, and the holders that there were. Undefined: the server is too old for leases. */
  readonly names: NamesLedger["counts"] | undefined;
}

/** What is not as it has to be in the end. */
export interface Unsettled {
  readonly links: readonly string[];
  /** Undefined: no names were tried. */
  readonly names: readonly string[] | undefined;
}

/** Links that are known at one end alone. */
export function asymmetryOf(ends: readonly LinkEnd[]): string[] {
  const known = new Set(ends.map(({ from, to }) => `${from} ${to}`));
  return ends
    .filter(({ from, to }) => !known.has(`${to} ${from}`))
    .map(({ from, to }) => `the link of ${from} with ${to} is known at one end alone`);
}

/** @param names - the account of names, if there is one */
export function reportOf(
  faults: number,
  ledger: Ledger,
  ends: Unsettled,
  names?: NamesLedger | undefined,
): NodesReport {
  const lost = ledger.isDone ? [] : ledger.lost.map((n) => `dispatch ${n} has no end`);
  const wrongNames = [...(names?.wrong ?? []), ...(ends.names ?? [])];
  const findings = [...ledger.wrong, ...lost, ...ends.links, ...wrongNames];
  const symmetric =
    ends.links.length === 0 ? "links symmetric" : `${ends.links.length} links at one end alone`;
  const unique = wrongNames.length === 0 ? "names unique" : `${wrongNames.length} faults of names`;
  const tried = ends.names === undefined ? "names not tried" : unique;
  return {
    findings,
    clean: findings.length === 0 && ledger.isDone,
    acknowledged: ledger.acknowledged,
    failures: ledger.failures,
    names: names?.counts,
    line: `${faults} faults, ${ledger.total} dispatches, ${ledger.total - ledger.acknowledged - sum(ledger.failures)} lost, ${symmetric}, ${tried}`,
  };
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((all, one) => all + one, 0);
}
