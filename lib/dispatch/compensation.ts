// Undoes the work of a crashed consumer, in a process of its own. The process has no links. The conversation monitors it, and
// kills it when it takes too long.

import type { Context } from "../process/context.js";
import { adoptContext } from "../process/sender-context.js";
import type { Envelope } from "./envelope.js";
import type { FullSettings } from "./settings.js";

/** Starts the compensation. The conversation gets its DOWN. */
export function compensate<T>(
  ctx: Context<never>,
  envelope: Envelope<T>,
  settings: FullSettings<T>,
  crashed: { readonly consumer: string; readonly attempt: number },
): void {
  const body = async (): Promise<void> => {
    await settings.compensate?.(envelope, crashed);
  };
  const pid = adoptContext(ctx.spawnMonitor(body, { label: `compensation of ${envelope.id}` }).pid);
  pid.process?.kernel.taps?.internal(pid, "compensation");
  const ms = settings.compensationTimeoutMs;
  if (ms !== Number.POSITIVE_INFINITY) ctx.runAfter(ms, () => ctx.exit(pid, "kill"));
}
