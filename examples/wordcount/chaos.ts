// Chaos: a process that counts finished lines and, after a random number of them, kills a task of the topology.

import { type Context, defineServer, type Pid, type ServerDefinition, type ServerRef } from "signalbox";
import type { TopologyRef } from "signalbox/topology";
import { mulberry32 } from "../flights/chaos.js";

/** The running tasks: of spouts, bolts and ackers, and the system task. */
export function tasksOf(running: TopologyRef): readonly Pid[] {
  return running.tasks().flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
}

interface State {
  readonly ctx: Context<never>;
  readonly victims: () => readonly Pid[];
  readonly random: () => number;
  readonly killEvery: number;
  /** Lines until the next kill. */
  left: number;
  kills: number;
}

interface Calls {
  kills(state: State): number;
}

interface Casts {
  line(state: State): void;
}

export type ChaosRef = ServerRef<Calls, Casts>;

export const Chaos: ServerDefinition<
  [victims: () => readonly Pid[], killEvery: number, seed: number],
  Calls,
  Casts
> = defineServer({
  label: "chaos",
  init: (ctx, victims: () => readonly Pid[], killEvery: number, seed: number): State => {
    const random = mulberry32(seed);
    return { ctx, victims, random, killEvery, left: gap(random, killEvery), kills: 0 };
  },
  calls: {
    kills: (state: State): number => state.kills,
  },
  casts: {
    /** A line is done once, however often it is replayed. So a run ends even with a kill for every line. */
    line: (state: State): void => {
      if (--state.left > 0) return;
      const victims = state.victims();
      const victim = victims[Math.floor(state.random() * victims.length)];
      if (victim === undefined) return; // all tasks are down already, so the next line kills
      state.ctx.exit(victim, "kill");
      state.kills++;
      state.left = gap(state.random, state.killEvery);
    },
  },
});

/** From 1 to 2n - 1, n on average; for 0 never. */
function gap(random: () => number, n: number): number {
  return n === 0 ? Number.POSITIVE_INFINITY : 1 + Math.floor(random() * (2 * n - 1));
}
