// Chaos: kills a process of the shop every so often, of any kind but the supervisors.

import { type Context, defineServer, type ServerDefinition, type System } from "signalbox";

/** Whom chaos kills in turn, by the labels of the processes: `picker` stands for `picker-1` and so on. */
export const VICTIMS: readonly string[] = [
  "journal",
  "stock",
  "desk",
  "fulfilment",
  "payment",
  "picker",
  "worker",
  "bank",
  "carrier",
];

interface State {
  readonly ctx: Context<unknown>;
  readonly system: System;
  readonly onKill: (kind: string) => void;
  /** Kinds of victims so far. */
  turns: number;
}

/**
 * @param everyMs - the time between two kills; 0 for none
 * @param onKill - called with the kind of each victim
 */
export const Chaos: ServerDefinition<
  [system: System, everyMs: number, onKill: (kind: string) => void],
  Record<never, never>,
  Record<never, never>
> = defineServer({
  label: "chaos",
  init: (ctx: Context<unknown>, system: System, everyMs: number, onKill: (kind: string) => void): State => {
    if (everyMs > 0) ctx.sendInterval(ctx.self, "kill", everyMs);
    return { ctx, system, onKill, turns: 0 };
  },
  info: (state) => {
    const { ctx, system, onKill } = state;
    // Kind by kind: else the many fulfilments would hide the one journal.
    const kind = VICTIMS[state.turns++ % VICTIMS.length] ?? "";
    const victims = system.processes().filter((pid) => isOf(kind, system.info(pid)?.label ?? ""));
    const victim = oneOf(victims, ctx);
    if (victim === undefined) return;
    ctx.exit(victim, "kill");
    onKill(kind);
  },
});

function isOf(kind: string, label: string): boolean {
  return label === kind || label.startsWith(`${kind}-`);
}

function oneOf<T>(items: readonly T[], ctx: Context<unknown>): T | undefined {
  return items[Math.floor(ctx.random() * items.length)];
}
