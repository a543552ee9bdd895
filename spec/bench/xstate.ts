// The programs that XState can do, with the leanest actor logic it has for each.

import { type ActorRef, assign, createActor, fromTransition, type Snapshot, setup } from "xstate";
import type { Program } from "./program.js";
import { SIZES } from "./sizes.js";

interface Ping {
  readonly type: "ping";
  readonly from: ActorRef<Snapshot<unknown>, Pong>;
}

interface Pong {
  readonly type: "pong";
}

export function pingPong(trips: number): Program {
  return {
    operations: trips,
    expected: 2 * trips,
    run: () =>
      new Promise((resolve) => {
        const pong = createActor(
          fromTransition((pings: number, ping: Ping) => {
            ping.from.send({ type: "pong" });
            return pings + 1;
          }, 0),
        );
        const ping = createActor(
          fromTransition((pongs: number, _pong: Pong, { self }) => {
            if (pongs + 1 < trips) pong.send({ type: "ping", from: self });
            else queueMicrotask(finish);
            return pongs + 1;
          }, 0),
        );
        const finish = (): void =>
          resolve({ counted: pong.getSnapshot().context + ping.getSnapshot().context });
        pong.start();
        ping.start();
        pong.send({ type: "ping", from: ping });
      }),
  };
}

const over = setup({}).createMachine({ initial: "over", states: { over: { type: "final" } } });

/** An actor that is done at once; `complete` is what comes nearest to a DOWN. */
export function spawnMonitorExit(count: number): Program {
  return {
    operations: count,
    expected: count,
    run: async () => {
      let completed = 0;
      for (let i = 0; i < count; i++) {
        const actor = createActor(over);
        actor.subscribe({ complete: () => completed++ });
        actor.start();
      }
      return { counted: completed };
    },
  };
}

const lamp = setup({
  types: { context: {} as { flips: number }, events: {} as { type: "flip" } },
}).createMachine({
  context: { flips: 0 },
  initial: "off",
  states: {
    off: { on: { flip: { target: "on", actions: assign({ flips: ({ context }) => context.flips + 1 }) } } },
    on: { on: { flip: { target: "off", actions: assign({ flips: ({ context }) => context.flips + 1 }) } } },
  },
});

/** Each event is handled within `send`: there is no mailbox between. */
export function stateMachine(events: number): Program {
  return {
    operations: events,
    expected: events,
    run: async () => {
      const actor = createActor(lamp).start();
      for (let i = 0; i < events; i++) actor.send({ type: "flip" });
      return { counted: actor.getSnapshot().context.flips };
    },
  };
}

export const programs: Readonly<Record<string, Program>> = {
  "ping-pong": pingPong(SIZES.pingPong),
  "spawn-monitor-exit": spawnMonitorExit(SIZES.spawnMonitorExit),
  "state-machine": stateMachine(SIZES.stateMachine),
};
