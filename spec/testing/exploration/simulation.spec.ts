// What a scenario is given.

import { defineServer, type Pid, type ReplyTo, stop } from "signalbox";
import {
  exhaustive,
  explore,
  InjectedCrash,
  ModelError,
  type Scenario,
  type Simulation,
  SimulationInvariantError,
  simulate,
} from "signalbox/testing";
import { describe, expect, test } from "vitest";
import { causeOf, errorOf, failureOf, hostErrors } from "../support/found.js";

const Stock = defineServer({
  init: (_ctx, left: number) => ({ left }),
  calls: { take: (state, n: number) => (state.left -= n), left: (state) => state.left },
  label: "stock",
});

describe("a system under simulation", () => {
  test("runs the production code: servers, calls, crashes and all", async () => {
    await explore(
      async (sim) => {
        await using system = sim.system({ name: "shop" });
        const stock = await system.start(Stock, 10);
        const taken = await Promise.all([stock.call.take(1), stock.call.take(2)]);
        expect(taken.sort()).toEqual(expect.arrayContaining([7]));
        expect(await stock.call.left()).toBe(7);
      },
      { schedules: 50 },
    );
  });

  test("answers two callers in either order", async () => {
    const seen = new Set<string>();
    await explore(
      async (sim) => {
        const system = sim.system();
        const stock = await system.start(Stock, 10);
        for (const n of [1, 2])
          system.spawn((ctx) => stock.with({ from: ctx }).call.take(n), { label: `clerk${n}` });
        const left: number[] = [];
        system.spawn(async (ctx) => left.push(await stock.with({ from: ctx }).call.left()));
        await sim.quiet();
        seen.add(String(left));
      },
      { schedules: 200 },
    );
    expect([...seen].sort()).toEqual(["10", "7", "8", "9"]);
  });

  test("has random numbers and ids of its own, the same whenever the choices are the same", async () => {
    const draws = async (choices: readonly number[]): Promise<unknown[]> => {
      const seen: unknown[] = [];
      await simulate(
        async (sim) => {
          const system = sim.system();
          for (const label of ["a", "b"])
            system.spawn((ctx) => void seen.push(ctx.random(), ctx.random(), system.kernel.env.id()), {
              label,
            });
          await sim.quiet();
        },
        { choices },
      );
      return seen;
    };
    const ordinary = await draws([]);
    expect(await draws([])).toEqual(ordinary);
    expect(new Set(ordinary).size).toBe(6);
    for (const number of ordinary.filter((one) => typeof one === "number")) {
      expect(number).toBeGreaterThanOrEqual(0);
      expect(number).toBeLessThan(1);
    }
    // The first choice is which of the two runs; the second is another random number.
    expect(await draws([0, 17])).not.toEqual(ordinary);
  });

  test("prints no crash reports by default", async () => {
    const reports: string[] = [];
    await simulate(async (sim) => {
      for (const report of [undefined, (text: string) => void reports.push(text)]) {
        const system = sim.system(report === undefined ? {} : { report });
        system.spawn(() => {
          throw new Error("ill");
        });
      }
      await sim.quiet();
    });
    expect(reports).toHaveLength(1);
    expect(reports[0]).toContain("ill");
  });

  test("takes the options of any system", async () => {
    await simulate((sim) => {
      expect(sim.system({ name: "shop" }).name).toBe("shop");
      expect(sim.system().name).toBe("system");
      expect(() => sim.system({ limits: { turnMessages: 0 } })).toThrow("limits.turnMessages");
    });
  });

  test("is left behind when its schedule ends: no process of it runs again", async () => {
    let late = 0;
    await explore(
      (sim) => {
        const system = sim.system();
        const worker: Pid<string> = system.spawn<string>({ handle: () => void late++ });
        system.sendAfter(worker, "late", 1);
      },
      { schedules: 10 },
    );
    expect(late).toBe(0);
  });

  test("aborts the signals of its processes at the end, so that they free host resources", async () => {
    const reasons: unknown[] = [];
    await simulate(async (sim) => {
      const system = sim.system({ name: "shop" });
      system.spawn((ctx) => {
        ctx.signal.addEventListener("abort", () => reasons.push(ctx.signal.reason));
        return ctx.receive();
      });
      await sim.quiet();
    });
    expect(reasons).toHaveLength(1);
    expect(reasons[0]).toMatchObject({ code: "ERR_SYSTEM_STOPPED" });
  });
});

describe("after a schedule", () => {
  test("is not heard of any more: neither rejections that its end has caused, nor late errors of its processes", async () => {
    let rejected = 0;
    const heard = await hostErrors(() =>
      explore(
        async (sim) => {
          const system = sim.system({ name: "shop" });
          system.spawn((ctx) => {
            void new Promise((_resolve, reject) => {
              ctx.signal.addEventListener("abort", () => {
                rejected++;
                reject(ctx.signal.reason);
              });
            });
            return ctx.receive();
          });
          system.spawn(async (ctx) => {
            await new Promise<void>((resolve) => ctx.signal.addEventListener("abort", () => resolve()));
            throw new Error("too late");
          });
          await sim.quiet();
        },
        { schedules: 3, recheck: 0, checks: false },
      ),
    );
    expect(rejected).toBe(3);
    expect(heard).toEqual([]);
  });
});

describe("a rejection of a process whose system has stopped", () => {
  const leaving = (rejects: boolean): Scenario => {
    return async (sim) => {
      const system = sim.system({ name: "shop" });
      system.spawn((ctx) => {
        const gone = new Promise<void>((resolve) => ctx.signal.addEventListener("abort", () => resolve()));
        // Nobody awaits this one, and it takes longer than the system's end.
        void gone
          .then(() => sim.sleep(10))
          .then(() => {
            if (rejects) throw new Error("nobody knows");
            ctx.exit();
          });
        return ctx.receive();
      });
      await sim.quiet();
      await system.stop();
      await sim.sleep(20);
    };
  };

  test("fails the schedule, since no process can crash of it", async () => {
    expect(await causeOf(leaving(true), { schedules: 3 })).toMatchObject({ message: "nobody knows" });
  });

  test("unless it is only that its effects are refused", async () => {
    expect(await hostErrors(() => explore(leaving(false), { schedules: 3 }))).toEqual([]);
  });
});

describe("an invariant", () => {
  test("is checked in every order, also of steps that have nothing to do with each other", async () => {
    const cause = await causeOf(
      async (sim) => {
        const system = sim.system();
        let order = "";
        for (const name of ["a", "b"])
          system.spawn(() => {
            order += name;
          });
        sim.monitor.always("a is first", () => order === "" || order.startsWith("a"));
        await sim.quiet();
      },
      { strategy: exhaustive() },
    );
    expect(cause).toBeInstanceOf(SimulationInvariantError);
  });

  const counting = (check: (count: number) => unknown) => async (sim: Simulation) => {
    const system = sim.system();
    let count = 0;
    const counter = system.spawn<string>({ handle: () => void count++ }, { label: "counter" });
    sim.monitor.always("at most two", () => check(count));
    for (const message of ["a", "b", "c"]) system.send(counter, message);
    await sim.quiet();
  };

  test("holds with `true`, with nothing, and with the object that some assertions return", async () => {
    for (const said of [true, undefined, {}])
      await explore(
        counting(() => said),
        { schedules: 5 },
      );
    await explore(
      counting((count) => expect(count).toBeLessThan(4)),
      { schedules: 5 },
    );
  });

  test("fails with `false`", async () => {
    const cause = await causeOf(counting((count) => count <= 2));
    expect(cause).toBeInstanceOf(SimulationInvariantError);
    expect((cause as Error).message).toBe('the invariant "at most two" does not hold');
  });

  test("fails with a text that explains the failure", async () => {
    const cause = await causeOf(counting((count) => (count > 2 ? `there are ${count}` : undefined)));
    expect((cause as Error).message).toBe('the invariant "at most two" does not hold: there are 3');
  });

  test("fails with a throw, and has the thrown error as its cause", async () => {
    const cause = await causeOf(counting((count) => expect(count).toBeLessThan(3)));
    expect(cause).toBeInstanceOf(SimulationInvariantError);
    expect((cause as Error).cause).toMatchObject({ name: "AssertionError" });
  });

  test("is checked after every step: the schedule ends with the step that broke it", async () => {
    const error = await failureOf(counting((count) => count !== 2));
    expect(error.trace.steps.at(-1)).toMatchObject({ type: "run", process: "system/counter", took: '"b"' });
  });

  test("is checked from when it is stated", async () => {
    await explore(
      async (sim) => {
        let broken = true;
        await sim.sleep(1);
        broken = false;
        sim.monitor.always("not broken", () => !broken);
        await sim.sleep(1);
      },
      { schedules: 5 },
    );
  });

  test("may not be a promise: a check looks at the state of the moment", async () => {
    const error = await errorOf(explore(counting(async () => true)));
    expect(error).toBeInstanceOf(ModelError);
    expect((error as Error).message).toContain('the check "at most two" returned a promise');
  });

  test("may not be a promise that is rejected either, and nothing else is heard of that", async () => {
    let error: unknown;
    const heard = await hostErrors(async () => {
      error = await errorOf(explore(counting(() => Promise.reject(new Error("unheard of")))));
    });
    expect(error).toBeInstanceOf(ModelError);
    expect(heard).toEqual([]);
  });

  test("may not be anything else: a check that returns a number was meant in another way", async () => {
    for (const said of [0, 3, null, Symbol("a")])
      expect((await errorOf(explore(counting(() => said)))) as Error).toMatchObject({
        code: "ERR_SIM_MODEL",
      });
  });

  test("has a name", async () => {
    expect(await causeOf((sim) => sim.monitor.always("", () => true))).toMatchObject({
      code: "ERR_OPTION",
      path: "name",
    });
    expect(await causeOf((sim) => sim.finally("", () => true))).toMatchObject({
      code: "ERR_OPTION",
      path: "name",
    });
  });
});

describe("a check at the end", () => {
  test("comes when the scenario is over and nothing can run any more", async () => {
    let checked = 0;
    await explore(
      (sim) => {
        const system = sim.system();
        let count = 0;
        const counter = system.spawn<string>({ handle: () => void count++ });
        for (const message of ["a", "b", "c"]) system.send(counter, message);
        sim.finally("all three were counted", () => {
          checked++;
          return count === 3;
        });
      },
      { schedules: 10, recheck: 0 },
    );
    expect(checked).toBe(10);
  });

  test("fails the schedule as an invariant does", async () => {
    const cause = await causeOf((sim) => sim.finally("all is well", () => "nothing is"));
    expect((cause as Error).message).toBe('the invariant "all is well" does not hold: nothing is');
  });

  test("does not come when something failed before", async () => {
    let checked = false;
    const wrong = new Error("wrong");
    const cause = await causeOf((sim) => {
      sim.finally("all is well", () => {
        checked = true;
      });
      throw wrong;
    });
    expect(cause).toBe(wrong);
    expect(checked).toBe(false);
  });
});

describe("choices of the scenario", () => {
  test("`choose` takes every number below, `oneOf` every value", async () => {
    const numbers = new Set<number>();
    const values = new Set<string>();
    await explore(
      (sim) => {
        numbers.add(sim.choose(4));
        values.add(sim.oneOf(["tea", "milk", "salt"]));
      },
      { schedules: 200 },
    );
    expect([...numbers].sort()).toEqual([0, 1, 2, 3]);
    expect([...values].sort()).toEqual(["milk", "salt", "tea"]);
  });

  test("an exhaustive search goes through all of them", async () => {
    const seen: string[] = [];
    const result = await explore((sim) => seen.push(`${sim.choose(3)}${sim.oneOf(["a", "b"])}`), {
      strategy: exhaustive(),
      recheck: 0,
    });
    // The first choice makes the search begin anew.
    expect(seen.shift()).toBe("0a");
    expect(seen.sort()).toEqual(["0a", "0b", "1a", "1b", "2a", "2b"]);
    expect(result).toMatchObject({ complete: true, schedules: 7, redundant: 1 });
  });

  test("a failing one is shrunk to a small one", async () => {
    const error = await failureOf((sim) => {
      const n = sim.choose(1_000);
      if (n >= 17) throw new Error(`${n} is too much`);
    });
    expect((error.cause as Error).message).toBe("17 is too much");
    expect(error.choices).toEqual([17]);
  });

  test("there has to be something to choose from", async () => {
    expect(await causeOf((sim) => sim.choose(0))).toMatchObject({ code: "ERR_OPTION", path: "n" });
    expect(await causeOf((sim) => sim.oneOf([] as never))).toMatchObject({
      code: "ERR_OPTION",
      path: "items",
    });
  });
});

describe("a hand in the faults", () => {
  test("`crash` throws in the process's own code: `terminate` runs, and links and monitors get signals", async () => {
    await explore(
      async (sim) => {
        const system = sim.system();
        const ends: unknown[] = [];
        const clerk = system.spawn({
          handle: () => undefined,
          terminate: (_ctx, reason) => ends.push(reason),
        });
        const exited = system.exited(clerk);
        await sim.quiet();
        sim.crash(clerk);
        expect(await exited).toMatchObject({ type: "crash", error: expect.any(InjectedCrash) });
        expect(ends).toHaveLength(1);
      },
      { schedules: 20 },
    );
  });

  test("with another reason it ends at once", async () => {
    await simulate(async (sim) => {
      const system = sim.system();
      let terminated = false;
      const clerk = (): Pid<never> =>
        system.spawn<never>({
          handle: () => undefined,
          terminate: () => {
            terminated = true;
          },
        });
      for (const [reason, as] of [
        ["kill", { type: "killed" }],
        ["shutdown", { type: "shutdown" }],
        [new Error("ill"), { type: "crash" }],
      ] as const) {
        const pid = clerk();
        const exited = system.exited(pid);
        sim.crash(pid, reason);
        expect(await exited).toMatchObject(as);
      }
      expect(terminated).toBe(false);
    });
  });

  test("a process that has ended cannot crash again, and one of nowhere is a mistake", async () => {
    await simulate(async (sim) => {
      const system = sim.system();
      const clerk = system.spawn({ handle: () => stop() });
      system.send(clerk, "go home" as never);
      expect(await system.exited(clerk)).toEqual({ type: "normal" });
      sim.crash(clerk);
      expect(() => sim.crash({} as Pid)).toThrow("pid must be the pid of a process of this simulation");
    });
  });

  test("actions and notes of the scenario are in the report", async () => {
    const error = await failureOf(async (sim) => {
      const system = sim.system({ name: "shop" });
      const clerk = system.spawn({ handle: () => undefined }, { label: "clerk" });
      sim.note("closing time");
      sim.crash(clerk);
      await sim.quiet();
      throw new Error("the end");
    });
    expect(error.trace.steps[0]?.effects).toMatchObject([
      { type: "spawn", process: "shop/clerk" },
      { type: "note", text: "closing time" },
      { type: "note", text: "the scenario crashes shop/clerk" },
      { type: "exit", process: "shop/clerk" },
    ]);
    expect(error.message).toContain("closing time");
  });
});

describe("states", () => {
  const endingIn = (of: (n: number) => unknown) => (sim: Simulation) => {
    const n = sim.choose(4);
    sim.state(() => of(n));
  };

  test("differ by the contents of Maps and Sets, whatever their order", async () => {
    const states = async (of: (n: number) => unknown): Promise<number> =>
      (await explore(endingIn(of), { schedules: 100 })).distinctStates;
    expect(await states((n) => new Map([[n, "x"]]))).toBe(4);
    expect(await states((n) => new Set(n % 2 === 0 ? [1, 2] : [2, 1]))).toBe(1);
    expect(await states((n) => ({ big: BigInt(n) }))).toBe(4);
  });

  test("are plain data: of anything else the statistics would not be true", async () => {
    class Secret {
      #n = 0;
      next(): number {
        return ++this.#n;
      }
    }
    const error = await errorOf(explore(endingIn(() => new Secret())));
    expect(error).toMatchObject({ code: "ERR_SIM_MODEL" });
  });

  test("of a schedule that failed are not asked for", async () => {
    const wrong = new Error("wrong");
    const cause = await causeOf((sim) => {
      sim.state(() => {
        throw new Error("there is no state yet");
      });
      throw wrong;
    });
    expect(cause).toBe(wrong);
  });
});

describe("memory shared outside of messages", () => {
  /** Two processes raise a counter that they share: each reads it in one step, and writes it in the next. */
  const sharing = (touching: boolean) => async (sim: Simulation) => {
    const system = sim.system();
    const nobody = system.spawn<{ to: ReplyTo<void> }>({ handle: (ctx, { to }) => ctx.reply(to, undefined) });
    let shared = 0;
    for (const label of ["a", "b"])
      system.spawn(
        async (ctx) => {
          if (touching) sim.touch("shared", "read");
          const seen = shared;
          await ctx.call(nobody, (to: ReplyTo<void>) => ({ to }));
          if (touching) sim.touch("shared");
          shared = seen + 1;
        },
        { label },
      );
    sim.finally("both count", () => shared === 2);
    await sim.quiet();
  };

  test("is seen by an exhaustive search where the scenario says so", async () => {
    const cause = await causeOf(sharing(true), { strategy: exhaustive(), schedules: 10_000 });
    expect(cause).toBeInstanceOf(SimulationInvariantError);
  });
});
