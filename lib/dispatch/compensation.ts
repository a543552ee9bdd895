// The undoing of a crashed consumer's work, as a process of its own: linked to nothing, watched over by the conversation,
// and killed when it takes too long.

import type { Context } from "../process/context.js";
import { adoptContext } from "../process/sender-context.js";
import type { Envelope } from "./envelope.js";
import type { FullSettings } from "./settings.js";

/** Starts it; the conversation gets the DOWN of its end. */
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
  const ms = settings.compensationTimeoutMs;
  if (ms !== Number.POSITIVE_INFINITY) ctx.runAfter(ms, () => ctx.exit(pid, "kill"));
}
