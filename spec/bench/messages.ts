// Message passing: two processes in turn, a thousand in a ring, a hundred to one; and receives behind many messages.

import { AsyncLocalStorage } from "node:async_hooks";
import type { Pid, SystemOptions } from "signalbox";
import { onSystem, type Program } from "./program.js";

interface Ping {
  readonly from: Pid<"pong">;
}

/** Each ping carries its sender, as Erlang's does, and so is a new object. */
export function pingPong(trips: number, options?: SystemOptions): Program {
  const work: Parameters<typeof onSystem>[2] = (system, done) => {
    let pings = 0;
    let pongs = 0;
    const pong = system.spawn<Ping>({
      handle: (ctx, ping) => {
        pings++;
        ctx.send(ping.from, "pong");
      },
    });
    system.spawn<"pong">({
      init: (ctx) => ctx.send(pong, { from: ctx.self }),
      handle: (ctx) => {
        if (++pongs < trips) ctx.send(pong, { from: ctx.self });
        else done(pings + pongs);
      },
    });
  };
  return onSystem(trips, 2 * trips, work, options);
}

const store = new AsyncLocalStorage<string>();

/** The same, where each message carries the context of its sender, with a store in it. */
export function pingPongContext(trips: number): Program {
  const program = pingPong(trips, { context: "sender" });
  return { ...program, run: () => store.run("a request", () => program.run()) };
}

/** A token goes round; every hop is counted where it arrives. */
export function ring(processes: number, rounds: number): Program {
  const hops = processes * rounds;
  return onSystem(hops, hops, (system, done) => {
    let arrived = 0;
    let laps = 0;
    let next: Pid<"token">;
    const driver = system.spawn<"token">({
      handle: (ctx, token) => {
        arrived++;
        if (++laps < rounds) ctx.send(next, token);
        else done(arrived);
      },
    });
    next = driver;
    for (let i = 1; i < processes; i++) {
      const to = next;
      next = system.spawn<"token">({
        handle: (ctx, token) => {
          arrived++;
          ctx.send(to, token);
        },
      });
    }
    system.send(next, "token");
  });
}

interface Shot {
  readonly n: number;
}

/** How many a sender sends before it lets the others run: where OTP preempts it, ours yields. */
const SALVO = 100;

/** Every shot is a new object, as Erlang's is a new tuple; the receiver counts them. */
export function fanIn(senders: number, each: number): Program {
  return onSystem(senders * each, senders * each, (system, done) => {
    let arrived = 0;
    const sink = system.spawn<Shot>({
      handle: (_ctx, shot) => {
        if (shot.n > 0 && ++arrived === senders * each) done(arrived);
      },
    });
    for (let i = 0; i < senders; i++) {
      const sender = system.spawn<number>({
        handle: (ctx, left) => {
          const rest = Math.max(0, left - SALVO);
          for (let n = left; n > rest; n--) ctx.send(sink, { n });
          if (rest > 0) ctx.send(ctx.self, rest);
        },
      });
      system.send(sender, each);
    }
  });
}

interface Parcel {
  readonly type: "waits" | "wanted";
  readonly n: number;
}

/** Each receive looks past all the messages that wait, and takes the one behind them. */
export function selectiveReceive(receives: number, waiting: number): Program {
  return onSystem(receives, (receives * (receives + 1)) / 2, (system, done) => {
    system.spawn<Parcel>(async (ctx) => {
      for (let n = 0; n < waiting; n++) ctx.send(ctx.self, { type: "waits", n });
      let sum = 0;
      for (let n = receives; n > 0; n--) {
        ctx.send(ctx.self, { type: "wanted", n });
        sum += (await ctx.receive((parcel) => parcel.type === "wanted")).n;
      }
      done(sum);
    });
  });
}
