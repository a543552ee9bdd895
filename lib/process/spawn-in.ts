// A process that works on something durable belongs to the trace that was kept with it, not to that of the code that starts it.

import type { Kernel } from "./kernel.js";
import type { Pid } from "./pid.js";
import { adoptContext } from "./sender-context.js";

/**
 * Spawns a process whose messages are those of the library alone, in a trace that was kept.
 *
 * @param label - what telemetry calls it
 */
export function spawnIn<T extends Pid<never>>(
  { taps }: Kernel,
  trace: string | null,
  label: string,
  spawn: () => T,
): T {
  const pid = taps?.isTracing ? taps.continuing(trace, () => adoptContext(spawn())) : spawn();
  taps?.internal(pid, label);
  return pid;
}
