// Kills the hosts of flows and pipelines in turn. Their supervisors start them again, and they go on where the store says.

import { type Context, defineServer, type ServerDefinition, type System } from "signalbox";

interface State {
  readonly ctx: Context<unknown>;
  readonly system: System;
  turns: number;
  kills: number;
}

/** @param names - of the hosts. @param everyMs - the time between two kills */
export const HostsChaos: ServerDefinition<
  [system: System, names: readonly string[], everyMs: number],
  { kills(state: State): number },
  Record<never, never>
> = defineServer({
  label: "chaos of hosts",
  init: (ctx: Context<unknown>, system: System, names: readonly string[], everyMs: number) => {
    ctx.sendInterval(ctx.self, names, everyMs);
    return { ctx, system, turns: 0, kills: 0 };
  },
  calls: { kills: (state: State): number => state.kills },
  info: (state: State, names: unknown): void => {
    const name = (names as readonly string[])[state.turns++ % (names as readonly string[]).length] as string;
    const victim = state.system.whereis(name);
    if (victim === undefined) return;
    state.ctx.exit(victim, "kill");
    state.kills++;
  },
});
