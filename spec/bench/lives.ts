// Births and deaths: processes watched, linked, by the hundred thousand, and what an idle one weighs.

import {
  type Behaviour,
  type Body,
  type Callbacks,
  custom,
  type Monitor,
  type Pid,
  System,
  stop,
} from "signalbox";
import { onSystem, type Program } from "./program.js";

/** One after the other: spawned and monitored, ends `normal`, its DOWN arrives. */
export function spawnMonitorExit(count: number): Program {
  return onSystem(count, count, (system, done) => {
    let downs = 0;
    let current: { readonly pid: Pid; readonly ref: Monitor };
    const child = (): void => undefined;
    system.spawn<never>({
      init: (ctx) => {
        current = ctx.spawnMonitor(child);
      },
      handle: () => undefined,
      signal: (ctx, down) => {
        const expected = down.type === "down" && down.ref === current.ref && down.pid === current.pid;
        if (!expected || down.reason.type !== "normal") throw new Error("an unexpected signal");
        if (++downs < count) current = ctx.spawnMonitor(child);
        else done(downs);
      },
    });
  });
}

const BOOM = stop(custom("boom"));

/** One after the other: spawned and linked, exits with `boom`, its EXIT is trapped. */
export function linkedCrash(count: number): Program {
  return onSystem(count, count, (system, done) => {
    let exits = 0;
    let current: Pid;
    const child = (): unknown => BOOM;
    system.spawn<never>(
      {
        init: (ctx) => {
          current = ctx.spawnLink(child);
        },
        handle: () => undefined,
        signal: (ctx, exit) => {
          const expected = exit.type === "exit" && exit.from === current && exit.reason === BOOM.reason;
          if (!expected) throw new Error("an unexpected signal");
          if (++exits < count) current = ctx.spawnLink(child);
          else done(exits);
        },
      },
      { trapExit: true },
    );
  });
}

/** A tree of processes, ten to a parent: every leaf sends its number up, every parent the sum of its children. */
export function skynet(leaves: number): Program {
  let processes = 0;
  for (let level = leaves; level >= 1; level /= 10) processes += level;
  return onSystem(processes, (leaves * (leaves - 1)) / 2, (system, done) => {
    const root = system.spawn<number>({ handle: (_ctx, sum) => done(sum) });
    system.spawn(node(root, 0, leaves));
  });
}

function node(parent: Pid<number>, first: number, leaves: number): Behaviour<number> {
  return leaves === 1 ? leaf(parent, first) : branch(parent, first, leaves);
}

const leaf =
  (parent: Pid<number>, number: number): Body<number> =>
  (ctx) =>
    ctx.send(parent, number);

function branch(parent: Pid<number>, first: number, leaves: number): Callbacks<number> {
  let left = 10;
  let sum = 0;
  return {
    init: (ctx) => {
      const part = leaves / 10;
      for (let i = 0; i < 10; i++) ctx.spawn(node(ctx.self, first + i * part, part));
    },
    handle: (ctx, part) => {
      sum += part;
      if (--left > 0) return undefined;
      ctx.send(parent, sum);
      return stop();
    },
  };
}

/** Processes that are linked to one parent and have nothing to do; counts those alive, the parent among them. */
export function idleLinkedProcesses(count: number): Program {
  return {
    operations: count,
    expected: count + 1,
    once: true,
    run: async () => {
      const system = new System({ report: false });
      const idle: Callbacks<never> = { handle: () => undefined };
      await system.idle();
      const before = usedBytes();
      system.spawn<never>({
        init: (ctx) => {
          for (let i = 0; i < count; i++) ctx.spawnLink(idle);
        },
        handle: () => undefined,
      });
      await system.idle();
      const bytes = (usedBytes() - before) / count;
      return { counted: system.population, figures: { bytes }, end: () => system.stop() };
    },
  };
}

/** What is alive, where the garbage collector can be called. */
export function usedBytes(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
