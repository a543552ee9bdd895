// Calls of a server made with defineServer, one after the other: by callback, and awaited from inside and outside of processes.

import { defineServer, type Reply, type ServerDefinition, type System } from "signalbox";
import { onSystem, type Program } from "./program.js";

export interface EchoCalls {
  readonly echo: (state: never, value: number) => number;
}

const echo = defineServer({ init: () => ({}), calls: { echo: (_state, value: number) => value } });
/** Gives back what it gets. */
export const Echo: ServerDefinition<[], EchoCalls, Record<never, never>> = echo;

const sumOf = (count: number): number => (count * (count + 1)) / 2;

function checked(reply: number, value: number): number {
  if (reply !== value) throw new Error("an unexpected reply");
  return reply;
}

/** The next call is made from the reply of the one before. */
export function serverCall(count: number): Program {
  return onSystem(count, sumOf(count), async (system, done) => {
    const server = await system.start(Echo);
    let value = count;
    let sum = 0;
    system.spawn<never>({
      init: (ctx) => {
        const { ask } = server.with({ from: ctx });
        const next = (reply: Reply<number>): void => {
          if (!reply.ok) throw reply.error;
          sum += checked(reply.value, value);
          if (--value > 0) ask.echo(value, next);
          else done(sum);
        };
        ask.echo(value, next);
      },
      handle: () => undefined,
    });
  });
}

/** The same in a function body that awaits each reply. */
export function serverCallAwait(count: number, prepare?: (system: System) => void | Promise<void>): Program {
  return onSystem(count, sumOf(count), async (system, done) => {
    await prepare?.(system);
    const server = await system.start(Echo);
    system.spawn<never>(async (ctx) => {
      const { call } = server.with({ from: ctx });
      let sum = 0;
      for (let value = count; value > 0; value--) sum += checked(await call.echo(value), value);
      done(sum);
    });
  });
}

/** The same from code outside of all processes. */
export function serverCallOutside(count: number): Program {
  return onSystem(count, sumOf(count), async (system, done) => {
    const { call } = await system.start(Echo);
    let sum = 0;
    for (let value = count; value > 0; value--) sum += checked(await call.echo(value), value);
    done(sum);
  });
}
