// A process is in the run queue at most once: what a scheduler may rely on, whatever it is.

import { defineServer, type Environment, System } from "signalbox";
import { describe, expect, it } from "vitest";
import type { Runnable } from "../../lib/process/environment.js";
import { production } from "../../lib/process/production.js";

/** An environment that counts how often a process is made ready that is ready already. */
function countingEnvironment(): { readonly environment: Environment; readonly twice: () => number } {
  const queued = new Map<Runnable, Runnable>();
  let twice = 0;
  const environment: Environment = {
    ...production,
    createScheduler: (host, limits) => {
      const inner = production.createScheduler(host, limits);
      const ready = inner.ready.bind(inner);
      inner.ready = (runnable) => {
        if (queued.has(runnable)) twice++;
        const once: Runnable = {
          activate: (limit) => {
            queued.delete(runnable);
            return runnable.activate(limit);
          },
        };
        queued.set(runnable, once);
        ready(once);
      };
      return inner;
    },
  };
  return { environment, twice: () => twice };
}

describe("the run queue", () => {
  it("holds a body once, also when its receive is aborted while a message waits [P9]", async () => {
    const { environment, twice } = countingEnvironment();
    await using system = new System({ environment, report: false });
    const seen: unknown[] = [];
    const abort = new AbortController();
    const pid = system.spawn<number>(async (ctx) => {
      // The message that was there before the abort still counts.
      seen.push(await ctx.receive({ signal: abort.signal }));
      seen.push(
        await ctx.receive((n) => n > 5, { signal: AbortSignal.abort("late") }).catch((reason) => reason),
      );
      seen.push(await ctx.receive());
    });
    await system.idle();
    system.send(pid, 1);
    abort.abort("gone");
    system.send(pid, 2);
    await system.exited(pid);
    expect(seen).toEqual([1, "late", 2]);
    expect(twice()).toBe(0);
  });

  it("holds a body once when its receive times out while a message that does not fit waits", async () => {
    const { environment, twice } = countingEnvironment();
    await using system = new System({ environment, report: false });
    const abort = new AbortController();
    const seen: unknown[] = [];
    const pid = system.spawn<number>(async (ctx) => {
      seen.push(await ctx.receive((n) => n > 5, { signal: abort.signal }).catch((reason) => reason));
      seen.push(await ctx.receive());
    });
    await system.idle();
    system.send(pid, 1);
    abort.abort("gone");
    await system.exited(pid);
    expect(seen).toEqual(["gone", 1]);
    expect(twice()).toBe(0);
  });

  it("wakes no process for an EXIT that a failed start removed from the mailbox", async () => {
    await using system = new System({ report: false });
    const Broken = defineServer({
      init: () => {
        throw new Error("no");
      },
    });
    const handled: unknown[] = [];
    const failures: unknown[] = [];
    const parent = system.spawn<string>(
      {
        handle: (ctx, message) => {
          handled.push(message);
          if (message === "start") ctx.start(Broken).catch((error) => failures.push(error.code));
        },
        signal: (_ctx, signal) => void handled.push(signal),
      },
      { trapExit: true },
    );
    system.send(parent, "start");
    await system.idle();
    expect(failures).toEqual(["ERR_START"]);
    expect(handled).toEqual(["start"]);
    expect(system.info(parent)).toMatchObject({ status: "waiting", handled: 1 });
    system.send(parent, "next");
    await system.idle();
    expect(handled).toEqual(["start", "next"]);
  });
});
