// The evidence of a pipeline host about its messages: see lib/host/evidence.

import { type Evidence, type EvidenceOption, evidencePlaceOf, openEvidence } from "../../host/index.js";
import type { Kernel } from "../../process/kernel.js";
import type { Accused, Blame, Found } from "../ledger/blame.js";

/** Where a host keeps its evidence. */
export interface BlameOptions {
  readonly evidence: EvidenceOption | undefined;
  readonly store: { readonly file?: string; readonly label: string };
  /** Other processes use the store, too. */
  readonly shared: boolean;
  /** The kind of host, and its id if it keeps one. */
  readonly who: string;
}

/** Opens the evidence of a host or a subscriber. */
export function evidenceOf(
  kernel: Kernel,
  { evidence, store, shared, who }: BlameOptions,
  opened: () => void,
): Evidence {
  const { env } = kernel;
  // What a simulator runs does not end this program.
  const isFiled = env.interception === undefined || typeof evidence === "object";
  return openEvidence({
    place: isFiled ? evidencePlaceOf(evidence, store, shared) : undefined,
    who,
    now: () => env.wallTime(),
    after: (ms, fn) => void kernel.addTimer(ms, { fire: fn }),
    opened,
  });
}

export class HostBlame implements Blame {
  readonly #evidence: Evidence;
  readonly #watchers = new Set<() => void>();

  constructor(kernel: Kernel, options: BlameOptions) {
    this.#evidence = evidenceOf(kernel, options, () => {
      for (const opened of this.#watchers) opened();
    });
  }

  find(scope: number, id: string): Found {
    const { mark, mayRun } = this.#evidence.find(subjectOf(scope, id));
    return { evidence: mark?.kind, mayRun };
  }

  begin(scope: number, id: string): Accused {
    return this.#evidence.begin(subjectOf(scope, id));
  }

  taken(scope: number, id: string): void {
    this.#evidence.taken(subjectOf(scope, id));
  }

  watch(opened: () => void): () => void {
    // One call each: the same function may watch twice.
    const own = (): void => opened();
    this.#watchers.add(own);
    return () => void this.#watchers.delete(own);
  }

  close(): void {
    this.#evidence.close();
  }
}

/** A message as the evidence names it. */
function subjectOf(scope: number, id: string): string {
  return `message:${scope}/${id}`;
}
