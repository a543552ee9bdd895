// Patience with servers that crash: a call that meets one of them while it is restarted is made again. Every call here may be made
// twice, so it does not matter whether the first one was carried out.

import { CalleeExitedError, CallTimeoutError, NoProcessError, type System } from "signalbox";
import { JobLostError, retryPolicy } from "signalbox/service";

/** Makes a call until its callee has answered. */
export type Patient = <R>(call: () => Promise<R>) => Promise<R>;

export function patienceOf(system: System): Patient {
  const retry = retryPolicy({
    attempts: 30,
    backoff: { minMs: 5, maxMs: 200 },
    deadlineMs: 20_000,
    retryIf: (error) =>
      error instanceof CalleeExitedError ||
      error instanceof NoProcessError ||
      error instanceof CallTimeoutError ||
      error instanceof JobLostError,
  }).local(system);
  return (call) => retry(() => call())();
}
