// The evidence of a host on a system: by the clock and the timers of its kernel.

import type { Kernel } from "../process/kernel.js";
import { type Evidence, openEvidence } from "./evidence/evidence.js";
import { type EvidenceOption, evidencePlaceOf } from "./evidence/evidence-place.js";

/** Where a host keeps its evidence. */
export interface HostEvidenceOptions {
  readonly evidence: EvidenceOption | undefined;
  readonly store: { readonly file?: string; readonly label: string };
  /** Other processes use the store, too. */
  readonly shared: boolean;
  /** Its hosts count together where their lives end: {@link Evidence.share} follows. Default false. */
  readonly counted?: boolean;
  /** The kind of host, and its id if it keeps one. */
  readonly who: string;
  /** The fencing token of the host's claim. */
  readonly token?: number;
}

/** Opens the evidence of a host. @param opened - called when subjects that had to wait may be found again */
export function hostEvidence(
  kernel: Kernel,
  { evidence, store, shared, counted = false, who, token }: HostEvidenceOptions,
  opened: () => void,
): Evidence {
  const { env } = kernel;
  // Code under a simulator does not end this program.
  const isFiled = env.interception === undefined || typeof evidence === "object";
  return openEvidence({
    place: isFiled ? evidencePlaceOf(evidence, store, shared) : undefined,
    who,
    ...(token !== undefined && { token }),
    isCounted: counted,
    ...(counted && { id: () => env.id() }),
    now: () => env.wallTime(),
    after: (ms, fn) => {
      const timer = kernel.addTimer(ms, { fire: fn });
      return () => kernel.cancelTimer(timer);
    },
    opened,
  });
}
