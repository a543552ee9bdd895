// The evidence of a pipeline host about its messages: see lib/host/evidence.

import {
  type Evidence,
  type EvidenceView,
  type HostEvidenceOptions,
  hostEvidence,
} from "../../host/index.js";
import type { Kernel } from "../../process/kernel.js";
import type { Claim, Store } from "../../store/index.js";
import type { Accused, Blame, Found } from "../ledger/blame.js";

const NOTHING: Found = { evidence: undefined, mayRun: true };

export class HostBlame implements Blame {
  readonly #evidence: Evidence;
  readonly #watchers = new Set<() => void>();

  constructor(kernel: Kernel, options: HostEvidenceOptions) {
    this.#evidence = hostEvidence(kernel, options, () => {
      for (const opened of this.#watchers) opened();
    });
  }

  find(scope: number, id: string): Found {
    if (this.#evidence.isCalm) return NOTHING;
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

  /** Counts with the other hosts of the store where lives end. @throws StoreError */
  share(store: Store, claim: Claim): Promise<void> {
    return this.#evidence.share(store, claim);
  }

  /** What it says, for people. */
  view(): EvidenceView {
    return this.#evidence.view();
  }

  close(): void {
    this.#evidence.close();
  }
}

/** A message as the evidence names it. */
function subjectOf(scope: number, id: string): string {
  return `message:${scope}/${id}`;
}
