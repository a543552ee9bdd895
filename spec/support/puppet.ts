// A process that runs the functions that a test sends it, and keeps the signals that it gets.

import type { Context, ExitReason, Pid, Signal, SpawnOptions } from "signalbox";
import type { ProcessSystem } from "../../lib/process/system.js";

/** The puppet runs the order as its own code, within one activation. */
export type Order = (ctx: Context<Order>) => unknown;

export interface Puppet {
  readonly pid: Pid<Order>;
  /** Signals received so far, in order. */
  readonly signals: Signal[];
  /** Runs an order in the puppet and resolves with its result. An error of the order goes to the test, not to the puppet. */
  do<T>(order: (ctx: Context<Order>) => T): Promise<Awaited<T>>;
}

/** The behaviour of a puppet, for `ctx.spawnLink` and the like. */
export function obedient(signals: Signal[] = []): {
  handle(ctx: Context<Order>, order: Order): unknown;
  signal(ctx: Context<Order>, signal: Signal): unknown;
} {
  return {
    handle: (ctx, order) => order(ctx),
    signal: (_ctx, signal) => {
      signals.push(signal);
    },
  };
}

export function puppet(system: ProcessSystem, options?: SpawnOptions): Puppet {
  const signals: Signal[] = [];
  const pid = system.spawn<Order>(obedient(signals), options);
  return {
    pid,
    signals,
    do: (order) =>
      new Promise((resolve, reject) => {
        system.send(pid, (ctx: Context<Order>) => {
          try {
            resolve(order(ctx) as Awaited<ReturnType<typeof order>>);
          } catch (error) {
            reject(error);
          }
        });
      }),
  };
}

/** The body of a process that waits for ever. */
export async function sleep(ctx: { receive(): Promise<unknown> }): Promise<void> {
  for (;;) await ctx.receive();
}

/** The exit reason of each process that ends from now on. A listener does not observe an end: crashes are still reported. */
export function endings(system: ProcessSystem): Map<Pid, ExitReason> {
  const ends = new Map<Pid, ExitReason>();
  system.events.on("exit", ({ pid, reason }) => ends.set(pid, reason));
  return ends;
}
