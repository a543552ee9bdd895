// Chaos: kills a process of the shop every so often, of any kind but the supervisors.

import { type Context, defineServer, type ServerDefinition, type System } from "signalbox";

/** Whom chaos may kill, by the labels of the processes. */
export const VICTIMS: readonly string[] = [
  "journal",
  "stock",
  "desk",
  "fulfilment",
  "payment",
  "consumer",
  "worker",
  "breaker",
];

interface State {
  readonly ctx: Context<unknown>;
  readonly system: System;
}

/** @param everyMs - the time between two kills; 0 for none */
export const Chaos: ServerDefinition<
  [system: System, everyMs: number],
  Record<never, never>,
  Record<never, never>
> = defineServer({
  label: "chaos",
  init: (ctx: Context<unknown>, system: System, everyMs: number): State => {
    if (everyMs > 0) ctx.sendInterval(ctx.self, "kill", everyMs);
    return { ctx, system };
  },
  info: ({ ctx, system }) => {
    // A kind of victim first, and then one of them: else the many fulfilments would hide the one journal.
    const kind = oneOf(VICTIMS, ctx);
    const victims = system.processes().filter((pid) => system.info(pid)?.label === kind);
    const victim = oneOf(victims, ctx);
    if (victim !== undefined) ctx.exit(victim, "kill");
  },
});

function oneOf<T>(items: readonly T[], ctx: Context<unknown>): T | undefined {
  return items[Math.floor(ctx.random() * items.length)];
}
