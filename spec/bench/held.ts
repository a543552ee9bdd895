// For how long the event loop was held. On a busy machine the loop also stands still while the processor is another process's.

import { monitorEventLoopDelay } from "node:perf_hooks";

/** The longest time, in milliseconds, for which the event loop was held while `work` ran. */
export async function held<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly ms: number }> {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  const result = await work();
  delays.disable();
  return { result, ms: delays.max / 1e6 };
}
