// Work that repeats in memory: enough where a missed time is no loss, such as for a cache that is filled again.

import { type Context, defineServer, type ServerDefinition } from "signalbox";

export interface Repetition {
  /** The time between the end of one run and the begin of the next. */
  readonly everyMs: number;
  /** Up to this much is added by chance, so that many hosts do not all run in the same moment. Default 0. */
  readonly jitterMs?: number;
  /** The work. `signal` is aborted when the process ends. A throw crashes the process, and its supervisor restarts it. */
  run(signal: AbortSignal): Promise<void>;
}
/** Runs at once and then again and again, never twice at a time. A child of a supervisor. */
export const Repeat: ServerDefinition<
  [Repetition],
  Record<never, never>,
  Record<never, never>
> = defineServer({
  label: "repeat",
  init: (ctx: Context<unknown>, repetition: Repetition) => {
    ctx.sendAfter(ctx.self, "run", 0);
    return { ctx, repetition };
  },
  info: async ({ ctx, repetition }) => {
    await repetition.run(ctx.signal);
    // Only now: a run that takes long delays the next one, and none pile up.
    const { everyMs, jitterMs = 0 } = repetition;
    ctx.sendAfter(ctx.self, "run", everyMs + ctx.random() * jitterMs);
  },
});
