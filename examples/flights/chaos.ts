// Chaos: a process that counts departing flights and, every so many, kills one of the workers.

import { type Context, defineServer, type ServerDefinition, type ServerRef, type System } from "signalbox";
import type { Crew } from "./workers.js";

interface State {
  readonly ctx: Context<never>;
  readonly system: System;
  readonly crew: Crew;
  readonly random: () => number;
  readonly killEvery: number;
  /** Departures until the next kill. */
  left: number;
  kills: number;
}

interface Calls {
  kills(state: State): number;
}

interface Casts {
  departed(state: State): void;
}

export type ChaosRef = ServerRef<Calls, Casts>;

export const Chaos: ServerDefinition<
  [system: System, crew: Crew, killEvery: number, seed: number],
  Calls,
  Casts
> = defineServer({
  label: "chaos",
  init: (ctx, system: System, crew: Crew, killEvery: number, seed: number): State => {
    const random = mulberry32(seed);
    return { ctx, system, crew, random, killEvery, left: gap(random, killEvery), kills: 0 };
  },
  calls: {
    kills: (state: State): number => state.kills,
  },
  casts: {
    /** A flight counts once, however often it is re-routed: so even a kill for every flight comes to an end. */
    departed: (state: State): void => {
      if (--state.left > 0) return;
      const victims = state.crew.consumers.filter(({ pid }) => state.system.isAlive(pid));
      const victim = victims[Math.floor(state.random() * victims.length)];
      if (victim === undefined) return; // all are down already: the next departure's turn
      state.ctx.exit(victim.pid, "kill");
      state.kills++;
      state.left = gap(state.random, state.killEvery);
    },
  },
});

/** From 1 to 2n - 1, n on average. */
function gap(random: () => number, n: number): number {
  return 1 + Math.floor(random() * (2 * n - 1));
}

/** A small generator of numbers in [0, 1), by Tommy Ettinger. */
export function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}
