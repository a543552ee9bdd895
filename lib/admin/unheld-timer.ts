// Timers for what is kept for people who look. Nobody may look any more, so a program that has nothing else to do need not wait for them.

import type { Kernel } from "../process/kernel.js";

/** Calls `fire` after a while, as a timer of the kernel does, unless the program has ended by then. Returns the call that cancels it. */
export function unheldTimer(kernel: Kernel, delayMs: number, fire: () => void): () => void {
  const onTime = (ms: number): (() => void) => {
    const timer = kernel.addTimer(ms, { fire });
    return () => void kernel.cancelTimer(timer);
  };
  let cancel = kernel.scheduler.eventually?.(delayMs, () => {
    // In a turn, as all timers.
    cancel = onTime(0);
  });
  cancel ??= onTime(delayMs);
  return () => cancel?.();
}
