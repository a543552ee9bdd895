// I/O that is not the library's: the effect of a request and its answer are steps, and either may be late, fail or come too late.

import type { Pid } from "signalbox";
import {
  exhaustive,
  explore,
  type IoOptions,
  type ScheduleFailedError,
  type SimulateOptions,
  type Simulation,
  simulate,
} from "signalbox/testing";
import { describe, expect, test } from "vitest";
import { causeOf, errorOf, failureOf } from "../support/found.js";

const no = new Error("no answer");
const closed = new Error("connection refused");
const often = { schedules: 300 };

/** All different results of a scenario. */
async function outcomes(
  scenario: (sim: Simulation) => Promise<unknown>,
  options: SimulateOptions & { schedules?: number } = often,
): Promise<Set<string>> {
  const seen = new Set<string>();
  await explore(async (sim) => void seen.add(JSON.stringify(await scenario(sim))), options);
  return seen;
}

/** What `outcomes` of an exhaustive search are, and how many schedules it took. */
async function all(scenario: (sim: Simulation) => Promise<unknown>): Promise<[Set<string>, number]> {
  const seen = new Set<string>();
  const { complete, schedules, redundant } = await explore(
    async (sim) => void seen.add(JSON.stringify(await scenario(sim))),
    { strategy: exhaustive(), schedules: 100_000 },
  );
  expect(complete).toBe(true);
  return [seen, schedules - redundant];
}

/** An account that one caller pays into: what the account holds at the end, and what the caller was told. */
const paying = (options: IoOptions<readonly [number], number>) => async (sim: Simulation) => {
  let held = 0;
  const pay = sim.io("bank", (cents: number) => (held += cents), options);
  const said = await pay(5).then(String, (error: Error) => error.message);
  await sim.quiet();
  return { said, held };
};

/** A process that writes and may be killed at any moment, and what was written in the end. */
const writing =
  (options: IoOptions<readonly [string], void> = {}) =>
  async (sim: Simulation) => {
    const system = sim.system({ name: "shop" });
    const seen: string[] = [];
    const write = sim.io("log", (line: string) => void seen.push(line), options);
    const clerk = system.spawn<string>(
      {
        handle: async () => {
          await write("a");
          await write("b");
        },
      },
      { label: "clerk" },
    );
    system.send(clerk, "go");
    system.spawn(() => system.exit(clerk, "kill"), { label: "killer" });
    await sim.quiet();
    return seen.join("");
  };

describe("a request", () => {
  test("is answered with what the function returns, throws, or promises", async () => {
    await simulate(async (sim) => {
      expect(await sim.io("a", (n: number) => n + 1)(1)).toBe(2);
      expect(await sim.io("b", async (n: number) => n + 1)(1)).toBe(2);
      const broken = sim.io("c", () => {
        throw no;
      });
      expect(await errorOf(broken())).toBe(no);
      expect(await errorOf(sim.io("d", () => Promise.reject(closed))())).toBe(closed);
      expect(await sim.io("e", () => no)()).toBe(no);
    });
  });

  test("takes effect in a step of its own, and its answer comes in another: others run between [T21]", async () => {
    const seen = await outcomes(async (sim) => {
      const system = sim.system();
      const order: string[] = [];
      const read = sim.io("store", () => void order.push("effect"));
      const self: Pid<string> = system.spawn<string>({
        handle: async (_ctx, message) => {
          if (message === "other") return void order.push("other");
          order.push("request");
          await read();
          order.push("answer");
        },
      });
      const other = system.spawn<string>({ handle: (_ctx, message) => void order.push(message) });
      system.send(self, "go");
      system.send(other, "x");
      await sim.quiet();
      return order.join(" ");
    });
    expect([...seen].sort()).toEqual(
      [
        "x request effect answer",
        "request x effect answer",
        "request effect x answer",
        "request effect answer x",
      ]
        .map((one) => JSON.stringify(one))
        .sort(),
    );
  });

  test("of two, either may take effect first, and either may be answered first", async () => {
    const seen = await outcomes(async (sim) => {
      const order: string[] = [];
      const write = sim.io("store", (row: string) => void order.push(row));
      const one = async (row: string): Promise<void> => {
        await write(row);
        order.push(`${row}!`);
      };
      await Promise.all([one("a"), one("b")]);
      return order.join("");
    });
    expect(seen.has('"aba!b!"')).toBe(true);
    expect(seen.has('"bab!a!"')).toBe(true);
    expect(seen.has('"aa!bb!"')).toBe(true);
  });

  test("may use others: a fake is made of fakes", async () => {
    await explore(async (sim) => {
      const rows = new Map([["a", 1]]);
      const get = sim.io("get", (key: string) => rows.get(key));
      const twice = sim.io("twice", async (key: string) => 2 * ((await get(key)) ?? 0));
      expect(await twice("a")).toBe(2);
    }, often);
  });

  test("of real I/O in the fake is found", async () => {
    const cause = await causeOf(async (sim) => {
      await sim.io("bank", () => new Promise((resolve) => setTimeout(resolve, 1)))();
    });
    expect((cause as Error).message).toContain("bank used the host's setTimeout");
  });

  test("that the fake never answers is named", async () => {
    const cause = await causeOf((sim) => sim.io("bank", () => new Promise(() => undefined))());
    expect((cause as Error).message).toContain("bank");
  });

  test("whose fake rejects elsewhere fails the schedule", async () => {
    const cause = await causeOf((sim) => sim.io("bank", () => void Promise.reject(no))());
    expect(cause).toBe(no);
  });
});

describe("latency", () => {
  test("is one of the given durations, each way", async () => {
    const took = await outcomes(async (sim) => {
      const ping = sim.io("ping", () => sim.now, { latencyMs: [0, 10] });
      const at = await ping();
      return `${at} ${sim.now}`;
    });
    expect([...took].sort()).toEqual(['"0 0"', '"0 10"', '"10 10"', '"10 20"']);
  });

  test("is no choice when there is one", async () => {
    const [took, schedules] = await all(async (sim) => {
      await sim.io("ping", () => undefined, { latencyMs: 10 })();
      return sim.now;
    });
    expect([...took]).toEqual(["20"]);
    expect(schedules).toBe(1);
  });
});

describe("a failure", () => {
  test("strikes before the effect, or after: then the answer is lost [T21]", async () => {
    expect([...(await all(paying({ failures: [no] })))[0]].sort()).toEqual([
      '{"said":"5","held":5}',
      '{"said":"no answer","held":0}',
      '{"said":"no answer","held":5}',
    ]);
  });

  test("that is a refusal strikes only before", async () => {
    expect([...(await all(paying({ refusals: [closed] })))[0]].sort()).toEqual([
      '{"said":"5","held":5}',
      '{"said":"connection refused","held":0}',
    ]);
  });

  test("may be a function of the arguments, and may be an answer", async () => {
    const options = { refusals: [(cents: number) => new Error(`no ${cents}`), () => 503] };
    expect([...(await all(paying(options)))[0]].sort()).toEqual([
      '{"said":"5","held":5}',
      '{"said":"503","held":0}',
      '{"said":"no 5","held":0}',
    ]);
  });

  const failuresOf = (atMost: number | undefined) => async (sim: Simulation) => {
    const options = { refusals: [no], ...(atMost === undefined ? {} : { atMost }) };
    const ping = sim.io("ping", () => 1, options);
    let failed = 0;
    for (let i = 0; i < 4; i++) await ping().catch(() => failed++);
    return failed;
  };

  test.each([
    [undefined, 1],
    [2, 2],
    [Number.POSITIVE_INFINITY, 4],
  ])("with `atMost` %s strikes at most %i times [T21]", async (atMost, most) => {
    const [seen] = await all(failuresOf(atMost));
    expect(Math.max(...[...seen].map(Number))).toBe(most);
  });

  test("does not strike in the ordinary schedule, nor while the simulation is calm [T21]", async () => {
    await simulate(async (sim) => expect(await failuresOf(undefined)(sim)).toBe(0));
    const calm = await outcomes((sim) => {
      sim.calm();
      return failuresOf(undefined)(sim);
    });
    expect([...calm]).toEqual(["0"]);
  });
});

describe("a caller that is gone", () => {
  test("leaves its request behind, which takes effect or not, and is answered [T21]", async () => {
    const [seen] = await all(async (sim) => {
      const system = sim.system();
      let held = 0;
      const pay = sim.io("bank", () => void held++);
      const clerk = system.spawn<string>({ handle: () => pay() });
      system.send(clerk, "go");
      await sim.quiet();
      return held;
    });
    expect([...seen]).toEqual(["1"]);
    const [lines] = await all(writing());
    // The clerk is killed before its first request, or during it; its code goes on all the same, as it does in production.
    expect([...lines].sort()).toEqual(['""', '"a"', '"ab"']);
  });

  test("when its system is gone too", async () => {
    const seen = await outcomes(async (sim) => {
      const system = sim.system();
      let held = 0;
      const pay = sim.io("bank", () => void held++, { latencyMs: 5 });
      const clerk = system.spawn<string>({ handle: () => pay() });
      system.send(clerk, "go");
      await sim.quiet();
      await system.stop();
      await sim.sleep(100);
      return held;
    });
    expect([...seen].sort()).toEqual(["0", "1"]);
  });
});

describe("a machine that loses power", () => {
  test.each(["boot", "process"] as const)(
    "leaves the requests of its %s behind, and hears no answer [T21]",
    async (where) => {
      const [seen] = await all(async (sim) => {
        let held = 0;
        let told = 0;
        const pay = sim.io("bank", () => void held++, { latencyMs: 5 });
        const work = async (): Promise<void> => {
          await pay();
          told++;
        };
        const node = sim.node("shop", async (one) => {
          const system = one.system();
          if (where === "boot") await work();
          else system.send(system.spawn<string>({ handle: work }), "go");
        });
        await sim.quiet();
        node.crash();
        await sim.sleep(100);
        return { held, told };
      });
      expect([...seen].sort()).toEqual(['{"held":0,"told":0}', '{"held":1,"told":0}']);
    },
  );
});

describe("an AbortSignal", () => {
  const aborting = (given: (signal: AbortSignal) => unknown[]) => async (sim: Simulation) => {
    let held = 0;
    const pay = sim.io("bank", (..._args: unknown[]) => void held++, { latencyMs: 10 });
    const controller = new AbortController();
    const paid = pay(...given(controller.signal)).then(
      () => "paid",
      (error) => error,
    );
    await sim.sleep(1);
    controller.abort("given up");
    const said = await paid;
    const at = sim.now;
    await sim.sleep(100);
    return { said, at, held };
  };

  test.each<[what: string, given: (signal: AbortSignal) => unknown[]]>([
    ["an argument", (signal) => ["a", signal]],
    ["in an argument", (signal) => ["/pay", { signal }]],
    ["of a Request", (signal) => [new Request("http://bank/pay", { signal })]],
  ])("as %s ends the wait, not the effect [T21]", async (_what, given) => {
    expect([...(await all(aborting(given)))[0]].sort()).toEqual([
      '{"said":"given up","at":1,"held":0}',
      '{"said":"given up","at":1,"held":1}',
    ]);
  });

  test("that is aborted before the call sends no request", async () => {
    const [seen] = await all(async (sim) => {
      let held = 0;
      const pay = sim.io("bank", (_signal: AbortSignal) => void held++);
      const said = await pay(AbortSignal.abort("too late")).catch((error: unknown) => error);
      await sim.quiet();
      return { said, held };
    });
    expect([...seen]).toEqual(['{"said":"too late","held":0}']);
  });

  test("after the answer changes nothing", async () => {
    await explore(async (sim) => {
      const controller = new AbortController();
      expect(await sim.io("bank", (_signal: AbortSignal) => 1)(controller.signal)).toBe(1);
      controller.abort();
      await sim.quiet();
    }, often);
  });
});

describe("an exhaustive search", () => {
  /** Two processes that each add one to a row, with a read and a write. */
  const adding =
    (rows: readonly [string, string], keyed: boolean, access: "read" | "write" = "write") =>
    async (sim: Simulation) => {
      const system = sim.system();
      const table = new Map<string, number>();
      const key = keyed ? { key: (row: string) => row } : {};
      const get = sim.io("get", (row: string) => table.get(row) ?? 0, { ...key, access });
      const set = sim.io("set", (row: string, n: number) => void table.set(row, n), key);
      for (const row of rows) {
        const pid = system.spawn<string>({ handle: async () => set(row, (await get(row)) + 1) });
        system.send(pid, "go");
      }
      await sim.quiet();
      return [...table].sort().join(" ");
    };

  test("finds the lost update of a row, whether keys are given or not [T21]", async () => {
    for (const keyed of [false, true]) {
      const [seen] = await all(adding(["a", "a"], keyed));
      expect([...seen].sort()).toEqual(['"a,1"', '"a,2"']);
    }
  });

  test("of effects that only read is shorter, and finds the same", async () => {
    const [seen, few] = await all(adding(["a", "a"], true, "read"));
    const [, many] = await all(adding(["a", "a"], true));
    expect([...seen].sort()).toEqual(['"a,1"', '"a,2"']);
    expect(few).toBeLessThan(many);
  });

  test("skips orders of effects on different rows, if keys are given", async () => {
    const [seen, few] = await all(adding(["a", "b"], true));
    expect([...seen]).toEqual(['"a,1 b,1"']);
    expect(few).toBe(1);
    const [, many] = await all(adding(["a", "b"], false));
    expect(many).toBeGreaterThan(few);
  });

  test("sees that failures of different rows share one budget", async () => {
    const [seen] = await all(async (sim) => {
      const set = sim.io("set", (_row: string) => "set", { refusals: [no], key: (row) => row });
      const said = (row: string): Promise<string> => set(row).catch(() => "failed");
      return (await Promise.all([said("a"), said("b")])).join(" ");
    });
    expect([...seen].sort()).toEqual(['"failed set"', '"set failed"', '"set set"']);
  });
});

describe("the report", () => {
  const lines = async (scenario: (sim: Simulation) => Promise<unknown>): Promise<string> => {
    const failed = await failureOf(scenario, { schedules: 2_000 });
    return failed.message;
  };

  test("shows requests, effects and answers", async () => {
    const text = await lines(async (sim) => {
      const get = sim.io("store.get", (key: string) => `${key}!`);
      await get("a");
      throw new Error("found");
    });
    expect(text).toContain('⇢ store.get (held): ("a")');
    expect(text).toMatch(/store\.get +does \("a"\) for scenario/);
    expect(text).toContain('· answers "a!"');
    expect(text).toContain("scenario   goes on after store.get");
  });

  test("shows failures before and after the effect as faults", async () => {
    const failing = (held: number) => async (sim: Simulation) => {
      const result = await paying({ failures: [no] })(sim);
      if (result.said === "no answer" && result.held === held) throw new Error("found");
    };
    expect(await lines(failing(0))).toMatch(
      /^! +\d+ +bank +FAULT: fails before it does \(5\) for scenario$/m,
    );
    expect(await lines(failing(5))).toMatch(
      /^! +\d+ +bank +FAULT: does \(5\) for scenario, but the answer is lost$/m,
    );
    expect(await lines(failing(5))).toContain("· fails with Error: no answer");
  });

  test("shows a request that was cut off with its caller", async () => {
    const text = await lines(async (sim) => {
      if ((await writing()(sim)) === "") throw new Error("found");
    });
    expect(text).toMatch(/log +never gets \("a"\): shop\/clerk has given up/);
  });

  test("has a token that replays it", async () => {
    const scenario = async (sim: Simulation): Promise<void> => {
      const { said, held } = await paying({ failures: [no], latencyMs: [0, 5, 10] })(sim);
      if (said === "no answer" && held === 5 && sim.now === 15) throw new Error("found");
    };
    const failed = await failureOf(scenario, { schedules: 5_000 });
    const again = await errorOf(explore(scenario, { replay: failed.token }));
    expect((again as ScheduleFailedError).trace).toEqual(failed.trace);
  });
});

describe("options", () => {
  test.each<[path: string, name: unknown, fn: unknown, options: object]>([
    ["name", "", () => 1, {}],
    ["fn", "a", 1, {}],
    ["io.retries", "a", () => 1, { retries: 1 }],
    ["io.latencyMs", "a", () => 1, { latencyMs: [] }],
    ["io.latencyMs[0]", "a", () => 1, { latencyMs: -1 }],
    ["io.failures", "a", () => 1, { failures: new Error("x") }],
    ["io.failures[1]", "a", () => 1, { failures: [new Error("x"), "y"] }],
    ["io.refusals[0]", "a", () => 1, { refusals: ["y"] }],
    ["io.atMost", "a", () => 1, { atMost: 0 }],
    ["io.key", "a", () => 1, { key: "row" }],
    ["io.access", "a", () => 1, { access: "both" }],
  ])("with a wrong %s are refused", async (path, name, fn, options) => {
    const cause = await causeOf((sim) => void sim.io(name as string, fn as () => number, options));
    expect(cause).toMatchObject({ code: "ERR_OPTION", path });
  });
});
