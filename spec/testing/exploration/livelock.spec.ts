// Schedules that do not end.

import type { BodyContext, Context, Pid, ReplyTo } from "signalbox";
import {
  explore,
  LivelockError,
  type PossibleStep,
  pct,
  type Scenario,
  type SearchStrategy,
  simulate,
} from "signalbox/testing";
import { describe, expect, test } from "vitest";
import { causeOf, errorOf, failureOf } from "../support/found.js";

/** Sends itself a message for ever, and the scenario waits for quiet. */
const spinning: Scenario = async (sim) => {
  const system = sim.system({ name: "shop" });
  const self: Pid<string> = system.spawn<string>(
    { handle: (ctx) => ctx.send(self, "again") },
    { label: "top" },
  );
  system.send(self, "go");
  await sim.quiet();
};

/** Spins until another process, which is ready, has run. */
const unfair: Scenario = async (sim) => {
  const system = sim.system({ name: "shop" });
  let open = false;
  const self: Pid<string> = system.spawn<string>(
    { handle: (ctx) => void (open || ctx.send(self, "again")) },
    { label: "spinner" },
  );
  system.send(self, "go");
  system.spawn(
    () => {
      open = true;
    },
    { label: "opener" },
  );
  await sim.quiet();
};

/** Two want two forks each, and lay down the first when the second is gone. */
const forks: Scenario = async (sim) => {
  const system = sim.system({ name: "table" });
  type Ask = { readonly take: boolean; readonly replyTo: ReplyTo<boolean> };
  const fork = (label: string): Pid<Ask> => {
    let free = true;
    return system.spawn<Ask>(
      {
        handle: (ctx, { take, replyTo }) => {
          ctx.reply(replyTo, !take || free);
          free = !take;
        },
      },
      { label },
    );
  };
  const [left, right] = [fork("left"), fork("right")];
  const ask = (ctx: BodyContext, of: Pid<Ask>, take: boolean): Promise<boolean> =>
    ctx.call(of, (replyTo: ReplyTo<boolean>) => ({ take, replyTo }));
  const eats = async (ctx: BodyContext, first: Pid<Ask>, second: Pid<Ask>): Promise<void> => {
    for (;;) {
      if (!(await ask(ctx, first, true))) continue;
      if (await ask(ctx, second, true)) break;
      await ask(ctx, first, false);
    }
    await ask(ctx, second, false);
    await ask(ctx, first, false);
  };
  system.spawn((ctx) => eats(ctx, left, right), { label: "ann" });
  system.spawn((ctx) => eats(ctx, right, left), { label: "bob" });
  await sim.quiet();
};

describe("a schedule that does not end", () => {
  test("fails, with the steps that repeat, and its report stops after the first round [T13]", async () => {
    const error = await failureOf(spinning);
    expect(error.cause).toBeInstanceOf(LivelockError);
    expect(error.cause).toMatchObject({
      code: "ERR_SIM_LIVELOCK",
      steps: 10_000,
      cycle: ['shop/top: took "again" from shop/top'],
    });
    expect((error.cause as Error).message).toBe(
      'the schedule did not end in 10000 steps: step 3 repeats, 9998 times, 0 ms each time\n  shop/top: took "again" from shop/top',
    );
    expect(error.trace.steps).toHaveLength(3);
    expect(error.trace.steps.at(-1)?.effects.at(-1)).toEqual({
      type: "note",
      text: "from step 3 on this repeats, 9998 times",
    });
  });

  test("is shown by the shortest way into its cycle, whichever strategy found it", async () => {
    // Leaves out the ordinary schedule, which has a livelock too.
    for (const seed of [1, 2]) {
      const error = await failureOf(forks, { seed, strategy: pct(), schedules: 50, maxSteps: 1_000 });
      expect(error.cause).toBeInstanceOf(LivelockError);
      expect((error.cause as LivelockError).cycle.length).toBeGreaterThan(3);
      expect(error.trace.steps.length).toBeLessThanOrEqual(40);
    }
  });

  test("is replayed from a short token", async () => {
    const { token, trace, message } = await failureOf(forks, { maxSteps: 1_000 });
    expect(token.length).toBeLessThan(60);
    const again = await failureOf(forks, { maxSteps: 1_000, replay: token });
    expect(again.trace).toEqual(trace);
    expect(again.message.split("\n")[0]).toBe(message.split("\n")[0]);
  });

  test("fails after `maxSteps` steps, and passes when it may be endless", async () => {
    expect(await causeOf(spinning, { maxSteps: 50 })).toMatchObject({ steps: 50 });
    const passes = await explore(spinning, { schedules: 5, maxSteps: 50, endless: "pass" });
    expect(passes).toMatchObject({ bounded: 5, steps: 250 });
    expect(await simulate(spinning, { endless: "pass" })).toMatchObject({ bounded: 1 });
    expect(await errorOf(explore(spinning, { endless: true as never }))).toMatchObject({
      code: "ERR_OPTION",
      path: "endless",
    });
  });

  test("may let time pass in its cycle, and does not have to repeat exactly", async () => {
    const cause = await causeOf(
      async (sim) => {
        const system = sim.system({ name: "shop" });
        let tries = 0;
        const shop: Pid<{ no: number }> = system.spawn<{ no: number }>(
          { handle: (ctx) => void ctx.sendAfter(shop, { no: ++tries }, 100) },
          { label: "retry" },
        );
        system.send(shop, { no: 0 });
        await sim.sleep(10 ** 9);
      },
      { maxSteps: 1_000 },
    );
    expect((cause as Error).message).toContain("100 ms each time, the same except for numbers");
  });

  test("may start a new process in each round", async () => {
    const error = await failureOf(
      async (sim) => {
        const system = sim.system({ name: "shop" });
        const hire = (ctx: Context<string>): void =>
          void ctx.spawnLink(() => Promise.reject(new Error("ill")), { label: "clerk" });
        const keeper = system.spawn<string>(
          {
            init: hire,
            handle: hire,
            signal: (ctx) => void ctx.sendAfter(ctx.self, "hire", 100),
          },
          { label: "keeper", trapExit: true },
        );
        await system.exited(keeper);
      },
      { maxSteps: 500 },
    );
    expect(error.cause).toMatchObject({
      code: "ERR_SIM_LIVELOCK",
      message: expect.stringContaining("100 ms each time"),
    });
    expect(error.trace.steps.length).toBeLessThanOrEqual(12);
  });

  test("says that time stands still, if a timer waits for the processes to rest", async () => {
    const cause = await causeOf(
      async (sim) => {
        await Promise.all([spinning(sim), sim.sleep(1_000)]);
      },
      { maxSteps: 1_000 },
    );
    expect((cause as Error).message).toContain(
      "The next timer is due at 1000 ms, but time passes only when nothing can run",
    );
  });

  test("names the processes that ran, if nothing repeats", async () => {
    const cause = await causeOf(
      async (sim) => {
        const system = sim.system({ name: "shop" });
        let left = 1;
        let round = 1;
        // Round n takes n messages.
        const self: Pid<string> = system.spawn<string>(
          {
            handle: (ctx, message) => {
              if (--left === 0) {
                left = ++round;
                ctx.send(other, message);
              } else ctx.send(self, message);
            },
          },
          { label: "counter" },
        );
        const other: Pid<string> = system.spawn<string>(
          { handle: (ctx, message) => ctx.send(self, message) },
          { label: "bell" },
        );
        system.send(self, "x");
        await sim.quiet();
      },
      { maxSteps: 500 },
    );
    expect((cause as Error).message).toBe(
      "the schedule did not end in 500 steps. No part of it repeats; at the end these ran: shop/bell, shop/counter",
    );
    expect(cause).toMatchObject({ cycle: [] });
  });
});

describe("an unfair schedule", () => {
  test("is no livelock: strategies with priorities become fair before the end [T13]", async () => {
    const { bounded } = await explore(unfair, { schedules: 300, strategy: pct(), maxSteps: 2_000 });
    expect(bounded).toBe(0);
  });

  test("of an enumeration that keeps a process from running is cut off, and passes", async () => {
    const eldest: SearchStrategy = {
      name: "the first process",
      enumerates: true,
      begin: (index) => {
        if (index > 0) return undefined;
        const pick = (tasks: readonly PossibleStep[]): number => {
          const actors = tasks.map(({ actor }) => actor);
          return actors.indexOf(Math.min(...actors));
        };
        return { pick, draw: () => 0 };
      },
    };
    expect(await explore(unfair, { strategy: eldest, maxSteps: 50 })).toMatchObject({
      schedules: 1,
      bounded: 1,
    });
  });
});
