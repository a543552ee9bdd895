// A wait by the system's clock, which an AbortSignal ends.

import type { Kernel } from "../../process/kernel.js";
import { CallScope, sleep } from "../../service/protection/scope.js";

/** Waits so many milliseconds. Rejects with the reason of the signal. */
export async function pause(kernel: Kernel, ms: number, signal: AbortSignal): Promise<void> {
  const scope = new CallScope(kernel, { signal });
  scope.begin();
  try {
    await sleep(kernel, scope, ms);
  } finally {
    scope.end();
  }
}
