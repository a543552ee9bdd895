// What flows of programs did, as the world outside saw it, and what must not be found in it.

import { isDeepStrictEqual } from "node:util";
import { decisionStep, type Value } from "./interpret.js";
import { type Decisions, ImpossibleError, type Meaning, meaningOf } from "./model.js";
import type { Node } from "./program.js";

/** One thing that a flow did. */
export type Deed =
  | {
      readonly type: "ran";
      readonly flow: string;
      readonly step: string;
      readonly attempt: number;
      readonly token: number;
    }
  | { readonly type: "seen"; readonly flow: string; readonly step: string; readonly booked: boolean }
  | { readonly type: "ended"; readonly flow: string; readonly outcome: Ended };

/** How a flow ended, for whoever awaited it. */
export type Ended =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly thrown: string };

/** What was found in a record. */
export interface Findings {
  /** Flows that have an end, of those that were begun. */
  readonly ended: number;
  readonly lost: readonly string[];
  /** Steps whose body ran although their outcome was recorded, or with an attempt from before. */
  readonly repeated: readonly string[];
  /** Bookings that are not there exactly once. */
  readonly bookings: readonly string[];
  /** Flows that did something else than their programs say. */
  readonly wrong: readonly string[];
}

/** How often each booking is in the store: `flow step`. */
export type Bookings = ReadonlyMap<string, number>;

/**
 * Compares a record with what the programs mean.
 *
 * @param programs - by the ids of their flows
 * @param bookings - undefined where bookings are steps
 */
export function findingsOf(
  programs: ReadonlyMap<string, Node>,
  deeds: readonly Deed[],
  bookings?: Bookings,
): Findings {
  const seen = new Set<string>();
  for (const deed of deeds) if (deed.type === "seen") seen.add(placeOf(deed));
  const { decisions, faults } = decisionsOf(deeds);
  const ends = new Map<string, Ended>();
  const wrong = [...faults];
  for (const deed of deeds) {
    if (deed.type !== "ended") continue;
    const before = ends.get(deed.flow);
    if (before !== undefined && !isDeepStrictEqual(before, deed.outcome))
      wrong.push(`${deed.flow} ended twice: ${show(before)}, then ${show(deed.outcome)}`);
    ends.set(deed.flow, deed.outcome);
  }
  const lost = [...programs.keys()].filter((flow) => !ends.has(flow));
  for (const [flow, end] of ends) {
    const program = programs.get(flow);
    if (program !== undefined) wrong.push(...differences(flow, program, end, decisions, seen));
  }
  return {
    ended: ends.size,
    lost,
    repeated: repeatedIn(deeds),
    bookings: bookings === undefined ? [] : doubtful(deeds, bookings),
    wrong,
  };
}

const placeOf = ({ flow, step }: { readonly flow: string; readonly step: string }): string =>
  `${flow} ${step}`;

function differences(
  flow: string,
  program: Node,
  end: Ended,
  decisions: Decisions,
  seen: ReadonlySet<string>,
): string[] {
  let meaning: Meaning;
  try {
    meaning = meaningOf(flow, program, decisions);
  } catch (error) {
    if (error instanceof ImpossibleError) return [`${error.message}, and it ended with ${show(end)}`];
    throw error;
  }
  const found: string[] = [];
  if (!isDeepStrictEqual(meaning.outcome, end))
    found.push(`${flow} ended with ${show(end)} instead of ${show(meaning.outcome)}`);
  for (const [of, steps] of meaning.steps)
    for (const step of steps) if (!seen.has(`${of} ${step}`)) found.push(`${of} ended without ${step}`);
  return found;
}

const DECISION = /^(.*)=(-?\d+)$/;

/** What the flows decided. A flow that decided twice at one place went another way when it ran again. */
function decisionsOf(deeds: readonly Deed[]): { decisions: Decisions; faults: string[] } {
  const made = new Map<string, number>();
  const faults: string[] = [];
  for (const deed of deeds) {
    if (deed.type === "ended") continue;
    const [, key, index] = DECISION.exec(deed.step) ?? [];
    if (key === undefined) continue;
    const place = placeOf({ flow: deed.flow, step: key });
    const before = made.get(place);
    if (before !== undefined && before !== Number(index))
      faults.push(
        `${place} was decided twice: ${decisionStep("", before)}, then ${decisionStep("", Number(index))}`,
      );
    made.set(place, Number(index));
  }
  return { decisions: (flow, key) => made.get(placeOf({ flow, step: key })), faults };
}

/**
 * Steps that ran again although the code had their outcome, or began with an attempt from before. What a host does under a token
 * that is no longer the flow's newest does not count: an outside system refuses it by the token.
 */
function repeatedIn(deeds: readonly Deed[]): string[] {
  const found: string[] = [];
  const seen = new Set<string>();
  const attempts = new Map<string, number>();
  const tokens = new Map<string, number>();
  for (const deed of deeds) {
    if (deed.type === "ended") continue;
    const place = placeOf(deed);
    if (deed.type === "seen") {
      seen.add(place);
      continue;
    }
    const newest = tokens.get(deed.flow) ?? 0;
    if (deed.token < newest) continue;
    tokens.set(deed.flow, deed.token);
    if (seen.has(place)) found.push(`${place} ran again`);
    if (deed.attempt < (attempts.get(place) ?? 0))
      found.push(`${place} began again with attempt ${deed.attempt}`);
    attempts.set(place, deed.attempt);
  }
  return found;
}

function doubtful(deeds: readonly Deed[], bookings: Bookings): string[] {
  const found: string[] = [];
  for (const [place, count] of bookings) if (count !== 1) found.push(`${place} is booked ${count} times`);
  for (const deed of deeds)
    if (deed.type === "seen" && deed.booked && !bookings.has(placeOf(deed)))
      found.push(`${placeOf(deed)} is not booked`);
  return found;
}

const show = (value: unknown): string => JSON.stringify(value);

/** Nothing was found, and no flow is missing. */
export function isClean({ lost, repeated, bookings, wrong }: Findings): boolean {
  return lost.length + repeated.length + bookings.length + wrong.length === 0;
}
