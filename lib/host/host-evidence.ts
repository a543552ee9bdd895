// The evidence of a host on a system: by the clock and the timers of its kernel.

import type { Kernel } from "../process/kernel.js";
import { type Evidence, openEvidence } from "./evidence/evidence.js";
import { type EvidenceOption, evidencePlaceOf } from "./evidence/evidence-place.js";

/** The options of a host's evidence. */
export interface HostEvidenceOptions {
  readonly evidence: EvidenceOption | undefined;
  readonly store: { readonly file?: string; readonly label: string };
  /** Other processes use the store, too: its hosts count together where their lives end, and {@link Evidence.share} follows. */
  readonly shared: boolean;
  readonly kind: "flows" | "pipelines" | "queues";
  /** The id of the host, if it keeps one. */
  readonly hostId?: string | undefined;
  /** The fencing token of the host's claim. */
  readonly token?: number;
}

/** Opens the evidence of a host. @param opened - called when subjects that had to wait may be found again */
export function hostEvidence(
  kernel: Kernel,
  { evidence, store, shared, kind, hostId, token }: HostEvidenceOptions,
  opened: () => void,
): Evidence {
  const { env } = kernel;
  // Code under a simulator does not end this program.
  const isFiled = env.interception === undefined || typeof evidence === "object";
  return openEvidence({
    place: isFiled ? evidencePlaceOf(evidence, store, shared) : undefined,
    who: hostId === undefined ? kind : `${kind}-${hostId}`,
    ...(token !== undefined && { token }),
    isCounted: shared,
    ...(shared && { id: () => env.id() }),
    now: () => env.wallTime(),
    after: (ms, fn) => {
      const timer = kernel.addTimer(ms, { fire: fn });
      return () => kernel.cancelTimer(timer);
    },
    opened,
  });
}
