// Processes that work on an execution belong to its trace, whoever gives them their turn.

import type { Kernel } from "../../process/kernel.js";
import type { Pid } from "../../process/pid.js";
import { adoptContext } from "../../process/sender-context.js";

/**
 * Spawns a process whose messages are those of the library alone, in the trace of its execution.
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
