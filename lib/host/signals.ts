// The signals of hosts for an autoscaler, and where metrics read them. A host looks into its store for them, which takes a moment; a page
// of metrics is made at once. So a page has what the host saw last, and asks it to look again.

import type { Kernel } from "../process/kernel.js";

/** How much work waits for hosts, and how much more this host could take. */
export interface HostSignals {
  /** How much work is due now and held by no host, in the whole store: every host of the store answers the same. At most 100,000. */
  readonly due: number;
  /** For how many milliseconds the oldest work that is due has waited, by the clock of the store. 0: none is due. */
  readonly oldestDueMs: number;
  /** How much more this host could take now. 0 while it stops. */
  readonly room: number;
  /** How much this host holds. */
  readonly held: number;
}

/** `due` never exceeds this, so that a look has a bound. */
export const MOST_DUE = 100_000;

/** The signals of one host, for metrics. */
export interface SignalSource {
  /** The kind of host: `flows`. */
  readonly kind: string;
  /** The name of the host, or its label. */
  readonly host: string;
  /** What it saw last. Undefined: nothing yet, or its store failed. */
  readonly seen: HostSignals | undefined;
  /** Asks the host to look. Another look that is under way is enough. */
  look(): void;
}

const sources = new WeakMap<Kernel, Set<SignalSource>>();

/** Has metrics read the signals of a host, until the call that is returned. */
export function showSignals(kernel: Kernel, source: SignalSource): () => void {
  const shown = sources.get(kernel) ?? new Set();
  sources.set(kernel, shown);
  shown.add(source);
  return () => void shown.delete(source);
}

/** The hosts of a system whose signals are shown. */
export function shownSignals(kernel: Kernel): Iterable<SignalSource> {
  return sources.get(kernel) ?? [];
}
