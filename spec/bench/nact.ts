// The programs that nact can do, as its documentation would write them.

import { type ActorSystemRef, dispatch, query, type Ref, spawn, spawnStateless, start, stop } from "nact";
import { importOf } from "./imports.js";
import type { Program } from "./program.js";
import { SIZES } from "./sizes.js";

interface Ping {
  readonly from: Ref<"pong">;
}

export function pingPong(trips: number): Program {
  return onNact(trips, 2 * trips, (system, done) => {
    let pings = 0;
    let pongs = 0;
    const pong = spawnStateless(system, (ping: Ping) => {
      pings++;
      dispatch(ping.from, "pong");
    });
    const ping: Ref<"pong"> = spawnStateless(system, (_pong: "pong") => {
      if (++pongs < trips) dispatch(pong, { from: ping });
      else done(pings + pongs);
    });
    dispatch(pong, { from: ping });
  });
}

/** nact has no monitors; `afterStop` is what comes nearest. An actor's function runs only when a message comes. */
export function spawnMonitorExit(count: number): Program {
  return onNact(count, count, (system, done) => {
    let stopped = 0;
    const next = (): void => {
      const child: Ref<"end"> = spawn(
        system,
        (state: undefined, _end: "end") => {
          stop(child);
          return state;
        },
        undefined,
        {
          afterStop: () => {
            if (++stopped < count) next();
            else done(stopped);
          },
        },
      );
      dispatch(child, "end");
    };
    next();
  });
}

const BOOM = new Error("boom");

/** One of a hundred actors crashes on its first message, and its `onCrash` resets it. */
export function restart(count: number): Program {
  return onNact(count, count, (system, done) => {
    for (let i = 0; i < 99; i++) spawnStateless(system, () => undefined);
    let starts = 0;
    spawn(
      system,
      (_starts: number, _fail: "fail"): number => {
        throw BOOM;
      },
      "failing",
      {
        initialStateFunc: (ctx) => {
          if (starts < count) dispatch(ctx.self, "fail");
          else done(starts);
          return starts++;
        },
        onCrash: (_message, _error, ctx) => ctx.reset,
      },
    );
  });
}

interface Echo {
  readonly from: Ref<number>;
  readonly value: number;
}

export function call(count: number): Program {
  return onNact(count, (count * (count + 1)) / 2, (system, done, failed) => {
    const server = spawnStateless(system, ({ from, value }: Echo) => dispatch(from, value));
    const client = async (): Promise<void> => {
      let sum = 0;
      for (let value = count; value > 0; value--) {
        sum += await query(server, (from: Ref<number>): Echo => ({ from, value }), 5_000);
      }
      done(sum);
    };
    client().catch(failed);
  });
}

function onNact(
  operations: number,
  expected: number,
  work: (system: ActorSystemRef, done: (counted: number) => void, failed: (error: unknown) => void) => void,
): Program {
  return {
    operations,
    expected,
    run: async () => {
      const system = start();
      const counted = await new Promise<number>((resolve, reject) => work(system, resolve, reject));
      return { counted, end: async () => stop(system) };
    },
  };
}

export const programs: Readonly<Record<string, Program>> = {
  import: importOf("nact"),
  "ping-pong": pingPong(SIZES.pingPong),
  "spawn-monitor-exit": spawnMonitorExit(SIZES.spawnMonitorExit),
  restart: restart(SIZES.restart),
  "call-await": call(SIZES.call),
};
