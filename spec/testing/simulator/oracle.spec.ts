// What ordinarily happens, what a step is, and how decisions are written down.

import { fc, test as properties } from "@fast-check/vitest";
import { OptionError, type Pid, type ReplyTo, System } from "signalbox";
import { explore, ReplayOutdatedError, simulate, type Trace } from "signalbox/testing";
import { describe, expect, test } from "vitest";
import type { ProcessSystem } from "../../../lib/process/system.js";
import { ORDINARY, Oracle, Script } from "../../../lib/testing/simulator/oracle.js";
import type { Chooser, PossibleStep } from "../../../lib/testing/strategies/strategy.js";
import { proving } from "../../support/proof.js";
import { stepsOf } from "../support/trace.js";

/** Steps as short texts. */
function lines(steps: Trace["steps"], of: string): string[] {
  return steps
    .filter((step) => step.process.startsWith(of))
    .map((step) => {
      const what =
        step.type === "run" ? step.took : step.type === "resume" ? `after ${step.from}` : step.type;
      return `${step.process.slice(of.length)} ${what}`;
    });
}

describe("a step", () => {
  test("is one message that a process takes [T4]", async () => {
    const steps = await stepsOf((sim) => {
      const system = sim.system({ name: "shop" });
      const clerk = system.spawn<number>({ handle: () => undefined }, { label: "clerk" });
      for (const n of [1, 2, 3]) system.send(clerk, n);
    });
    expect(lines(steps, "shop/")).toEqual(["clerk took 1", "clerk took 2", "clerk took 3"].map(untaken));
  });

  test("is the start of a process", async () => {
    const steps = await stepsOf((sim) => {
      const system = sim.system({ name: "shop" });
      system.spawn({ init: () => undefined, handle: () => undefined }, { label: "clerk" });
      system.spawn(() => undefined, { label: "errand" });
    });
    expect(lines(steps, "shop/")).toEqual(["clerk starts", "errand starts"]);
  });

  test("is one promise that is settled: the pieces of an async handler are steps of their own", async () => {
    const steps = await stepsOf((sim) => {
      const system = sim.system({ name: "shop" });
      const shelf = system.spawn<{ to: ReplyTo<string> }>(
        { handle: (ctx, { to }) => ctx.reply(to, "tea") },
        { label: "shelf" },
      );
      const clerk = system.spawn<string>(
        {
          handle: async (ctx) => {
            await ctx.call(shelf, (to: ReplyTo<string>) => ({ to }));
            await ctx.call(shelf, (to: ReplyTo<string>) => ({ to }));
          },
        },
        { label: "clerk" },
      );
      system.send(clerk, "go");
    });
    expect(lines(steps, "shop/clerk")).toEqual([' "go"', " after a call", " after a call"]);
    expect(lines(steps, "shop/shelf")).toHaveLength(2);
  });

  test("continues to the next await of a promise; awaits of values and microtasks are part of the step", async () => {
    const steps = await stepsOf((sim) => {
      const system = sim.system({ name: "shop" });
      const seen: string[] = [];
      const clerk = system.spawn<string>(
        {
          handle: async () => {
            for (let i = 0; i < 20; i++) await null;
            for (const n of [1, 2, 3]) queueMicrotask(() => seen.push(String(n)));
          },
        },
        { label: "clerk" },
      );
      system.send(clerk, "go");
    });
    expect(lines(steps, "shop/clerk")).toEqual([' "go"']);
  });

  test("is a body from one receive to the next", async () => {
    const steps = await stepsOf((sim) => {
      const system = sim.system({ name: "shop" });
      const clerk = system.spawn<string>(
        async (ctx) => {
          await ctx.receive();
          await ctx.receive((message) => message === "c");
        },
        { label: "clerk" },
      );
      for (const message of ["a", "b", "c"]) system.send(clerk, message);
    });
    expect(lines(steps, "shop/clerk")).toEqual([" starts", ' "a"', ' "c"']);
  });

  test("is a move of time to the next timer", async () => {
    const steps = await stepsOf(async (sim) => {
      const system = sim.system({ name: "shop" });
      const clerk = system.spawn<string>({ handle: () => undefined }, { label: "clerk" });
      system.sendAfter(clerk, "noon", 10);
      await sim.sleep(20);
    });
    expect(steps.filter((step) => step.type === "timer").map((step) => step.at)).toEqual([10, 20]);
  });

  test("has a number, from 1, and the virtual time", async () => {
    const steps = await stepsOf((sim) => sim.sleep(5));
    expect(steps.map((step) => step.number)).toEqual(steps.map((_step, index) => index + 1));
    expect(steps.map((step) => step.at)).toEqual([...steps.map((step) => step.at)].sort((a, b) => a - b));
    expect(steps.at(-1)?.at).toBe(5);
  });
});

function untaken(line: string): string {
  return line.replace("took ", "");
}

describe("the ordinary schedule", () => {
  type Deed = { readonly send: number } | { readonly spawn: number } | { readonly stop: true };
  /** What each process does on its n-th message. */
  type Program = readonly (readonly (readonly Deed[])[])[];

  /** Has the program run in a system, and gives who took what, in order. */
  function play(system: ProcessSystem, program: Program): string[] {
    const log: string[] = [];
    const pids: Pid<string>[] = [];
    let children = 0;
    const spawn = (index: number, name: string, parent: { spawn: ProcessSystem["spawn"] }): Pid<string> => {
      let taken = 0;
      return parent.spawn<string>({
        handle: (ctx, message) => {
          log.push(`${name}:${message}`);
          for (const deed of program[index]?.[taken] ?? []) {
            if ("send" in deed) ctx.send(pids[deed.send % pids.length] as Pid<string>, `${name}${taken}`);
            else if ("stop" in deed) ctx.exit();
            else if (children < 5)
              ctx.send(spawn(deed.spawn % program.length, `child${children++}`, ctx), "hello");
          }
          taken++;
        },
      });
    };
    for (const index of program.keys()) pids.push(spawn(index, `p${index}`, system));
    for (const pid of pids) for (const letter of ["x", "y"]) system.send(pid, letter);
    return log;
  }

  const deed: fc.Arbitrary<Deed> = fc.oneof(
    { weight: 6, arbitrary: fc.record({ send: fc.nat(4) }) },
    { weight: 2, arbitrary: fc.record({ spawn: fc.nat(4) }) },
    { weight: 1, arbitrary: fc.constant<Deed>({ stop: true }) },
  );
  const program: fc.Arbitrary<Program> = fc.array(
    fc.array(fc.array(deed, { maxLength: 3 }), { maxLength: 4 }),
    {
      minLength: 1,
      maxLength: 5,
    },
  );

  properties.prop([program], { numRuns: proving ? 150 : 50 })(
    "is the order of production, for processes that take one message at a time",
    async (given) => {
      const system = new System({ report: false, limits: { activationMessages: 1 } });
      const real = play(system, given);
      await system.idle();
      await system.stop();
      let simulated: string[] = [];
      await simulate(async (sim) => {
        simulated = play(sim.system(), given);
        await sim.quiet();
      });
      expect(simulated).toEqual(real);
      expect(real.length).toBeGreaterThan(0);
    },
  );

  test("is that whatever could run first runs first", async () => {
    const order: string[] = [];
    await simulate(async (sim) => {
      const system = sim.system();
      const note = (name: string): Pid<string> =>
        system.spawn<string>({ handle: () => void order.push(name) });
      const [a, b] = [note("a"), note("b")];
      for (const pid of [b, a, a, b, a]) system.send(pid, "turn");
      await sim.quiet();
    });
    // Each goes to the end of the queue when it has taken a message.
    expect(order.join("")).toBe("babaa");
  });

  test("is the first of several values, and 0 of several numbers", async () => {
    const seen: unknown[] = [];
    await simulate((sim) => seen.push(sim.oneOf(["tea", "milk"]), sim.choose(9)));
    expect(seen).toEqual(["tea", 0]);
  });
});

describe("the oracle", () => {
  const task = (actor: number): PossibleStep => ({ kind: "run", actor, rank: undefined });

  test("writes down every choice, and of how many it was", () => {
    const oracle = new Oracle({ pick: (tasks) => tasks.length - 1, draw: (n) => n - 2 });
    expect(oracle.pick([task(1), task(2), task(3)])).toBe(2);
    expect(oracle.draw(5, "crash:process")).toBe(3);
    expect([oracle.choices, oracle.sizes]).toEqual([
      [2, 3],
      [3, 5],
    ]);
  });

  test("does not ask where there is no choice, nor write it down", () => {
    const oracle = new Oracle({
      pick: () => {
        throw new Error("asked");
      },
      draw: () => {
        throw new Error("asked");
      },
    });
    expect(oracle.pick([task(1)])).toBe(0);
    expect(oracle.draw(1, "x")).toBe(0);
    expect(oracle.choices).toEqual([]);
  });

  test.each([-1, 3, 0.5, Number.NaN])("refuses the choice %d of 3", (choice) => {
    const oracle = new Oracle({ pick: () => choice, draw: () => choice });
    expect(() => oracle.draw(3, "crash:process")).toThrow(OptionError);
    expect(() => oracle.pick([task(1), task(2), task(3)])).toThrow(
      "choice of task must be a whole number from 0 to 2",
    );
  });

  test("a script plays a list, then makes ordinary choices", () => {
    const script = new Script([1, 0, 2]);
    expect([
      script.draw(2, "a"),
      script.pick([task(1), task(2)]),
      script.draw(3, "b"),
      script.draw(9, "c"),
    ]).toEqual([1, 0, 2, 0]);
  });

  test("without sizes, a choice that is too great becomes ordinary, so that lists can shrink", () => {
    expect(new Script([5]).draw(3, "a")).toBe(0);
  });

  test("with sizes, a choice that is not 0 has to be of as many as it was", () => {
    const script = new Script([0, 1, 1], [0, 2, 2]);
    expect(script.draw(7, "a")).toBe(0);
    expect(script.draw(2, "b")).toBe(1);
    expect(() => script.draw(3, "c")).toThrow(
      "the token is outdated: its choice 3 (c) had 2 alternatives, and now there are 3",
    );
  });

  test("the oracle knows that its script did not fit: code under test may have caught the error", () => {
    const oracle = new Oracle(new Script([0, 1], [0, 2]));
    oracle.draw(5, "a");
    expect(oracle.broken).toBe(undefined);
    expect(() => oracle.draw(3, "b")).toThrow(ReplayOutdatedError);
    expect(oracle.broken?.error).toBeInstanceOf(ReplayOutdatedError);
  });

  test("a strategy may be written by hand: here one that always takes the newest task", async () => {
    const last: Chooser = { pick: (tasks) => tasks.length - 1, draw: () => 0 };
    const order: string[] = [];
    await explore(
      async (sim) => {
        order.length = 0;
        const system = sim.system();
        for (const name of ["a", "b", "c"]) system.spawn(() => void order.push(name));
        await sim.quiet();
      },
      {
        strategy: { name: "last come", enumerates: true, begin: (index) => (index === 0 ? last : undefined) },
      },
    );
    expect(order.join("")).toBe("cba");
    expect(ORDINARY.pick([task(1), task(2)])).toBe(0);
  });
});
