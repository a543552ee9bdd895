// What may go wrong in a schedule, by rule.

import { fc, test as properties } from "@fast-check/vitest";
import {
  type Context,
  defineServer,
  type ExitInput,
  type ExitReason,
  type Pid,
  type ReplyTo,
  type SpawnOptions,
  type System,
  supervisor,
} from "signalbox";
import {
  type ExploreOptions,
  explore,
  type FaultOptions,
  InjectedCrash,
  type Scenario,
  type SearchStrategy,
  type Simulation,
  type TraceStep,
  UnmatchedRuleError,
} from "signalbox/testing";
import { describe, expect, test } from "vitest";
import { exhaustive } from "../../../lib/testing/strategies/exhaustive.js";
import { randomWalk } from "../../../lib/testing/strategies/random-walk.js";
import { proving } from "../../support/proof.js";
import { sleep } from "../../support/puppet.js";
import { failureOf } from "../support/found.js";

/** Explores, and gives what the scenario returned in each schedule. */
async function outcomes<T>(
  scenario: (sim: Simulation) => Promise<T>,
  options: ExploreOptions,
): Promise<Set<T>> {
  const seen = new Set<T>();
  await explore(async (sim) => void seen.add(await scenario(sim)), {
    schedules: proving ? 500 : 150,
    ...options,
  });
  return seen;
}

/** The faults of the simplest schedule in which the scenario's promise is rejected. */
async function faultsOf(scenario: Scenario, options: ExploreOptions): Promise<readonly TraceStep[]> {
  const error = await failureOf(scenario, options);
  return error.trace.steps.filter((step) => step.type === "fault");
}

/** One schedule, in which every fault strikes that can. */
const WORST: SearchStrategy = {
  name: "the worst",
  enumerates: true,
  begin: (index) => (index === 0 ? { pick: () => 0, draw: (n) => n - 1 } : undefined),
};

function idler(system: System, label: string): Pid<string> {
  return system.spawn<string>({ handle: () => undefined }, { label });
}

describe("crash", () => {
  test("ends a process between two steps, wherever its code is", async () => {
    const seen = await outcomes(
      async (sim) => {
        sim.calm();
        const system = sim.system({ name: "shop" });
        const shelf = system.spawn<{ to: ReplyTo<void> }>({
          handle: (ctx, { to }) => ctx.reply(to, undefined),
        });
        let at = "in its mailbox";
        const clerk = system.spawn<string>(
          {
            handle: async (ctx) => {
              at = "at the first await";
              await ctx.call(shelf, (to: ReplyTo<void>) => ({ to }));
              at = "at the second await";
              await ctx.call(shelf, (to: ReplyTo<void>) => ({ to }));
              at = "done";
            },
          },
          { label: "clerk" },
        );
        sim.storm();
        system.send(clerk, "go");
        await sim.quiet();
        return system.isAlive(clerk) ? "alive" : at;
      },
      { faults: { crash: { of: "shop/clerk" } }, strategy: randomWalk({ rates: { crash: 0.3 } }) },
    );
    expect([...seen].sort()).toEqual([
      "alive",
      "at the first await",
      "at the second await",
      "done",
      "in its mailbox",
    ]);
  });

  /** A server whose `init` and `terminate` take several steps, and how far they came. */
  function slow(system: System, trail: string[]): Pid<string> {
    const shelf = system.spawn<{ to: ReplyTo<void> }>({ handle: (ctx, { to }) => ctx.reply(to, undefined) });
    const ask = (ctx: Context<string>): Promise<void> => ctx.call(shelf, (to: ReplyTo<void>) => ({ to }));
    return system.spawn<string>(
      {
        init: async (ctx) => {
          trail.push("init");
          await ask(ctx);
          trail.push("started");
        },
        handle: (ctx) => ctx.exit("shutdown"),
        terminate: async (ctx, reason) => {
          trail.push(`terminate ${reason.type}`);
          await ask(ctx);
          trail.push("terminated");
        },
      },
      { label: "clerk" },
    );
  }

  test("may come within `init`, and then there is no `terminate`, as without the simulator", async () => {
    const seen = await outcomes(
      async (sim) => {
        const trail: string[] = [];
        slow(sim.system({ name: "shop" }), trail);
        await sim.quiet();
        sim.calm();
        await sim.quiet();
        return trail.join(", ");
      },
      { faults: { crash: { of: "shop/clerk" } }, strategy: exhaustive(), schedules: 10_000 },
    );
    expect([...seen].sort()).toEqual([
      "",
      "init",
      "init, started",
      "init, started, terminate crash, terminated",
    ]);
  });

  test("may come within `terminate`, which ends it there and then", async () => {
    const seen = await outcomes(
      async (sim) => {
        sim.calm();
        const system = sim.system({ name: "shop" });
        const trail: string[] = [];
        const clerk = slow(system, trail);
        await sim.quiet();
        const ended = system.exited(clerk);
        system.send(clerk, "go home");
        sim.storm();
        const reason = await ended;
        return `${trail.slice(2).join(", ")}: ${reason.type}`;
      },
      { faults: { crash: { of: "shop/clerk" } }, strategy: exhaustive(), schedules: 10_000 },
    );
    expect([...seen].sort()).toEqual([
      "terminate crash, terminated: crash",
      // Its last await was over already: the code goes on, in nobody's name.
      "terminate shutdown, terminated: crash",
      "terminate shutdown, terminated: shutdown",
      "terminate shutdown: crash",
    ]);
  });

  test.each<[ExitInput | "error", ExitReason["type"], boolean]>([
    ["error", "crash", true],
    ["kill", "killed", false],
    ["shutdown", "shutdown", false],
    ["normal", "normal", false],
    [new RangeError("ill"), "crash", false],
  ])(
    "with reason %s ends it as %s; only an error of its own runs `terminate`",
    async (reason, type, terminates) => {
      const seen = await outcomes(
        async (sim) => {
          const system = sim.system({ name: "shop" });
          let terminated = false;
          const clerk = system.spawn<string>(
            {
              handle: () => undefined,
              terminate: () => {
                terminated = true;
              },
            },
            { label: "clerk" },
          );
          const ended = system.exited(clerk);
          await sim.sleep(1);
          sim.crash(clerk, "normal");
          return `${(await ended).type} ${terminated}`;
        },
        { faults: { crash: { of: "shop/clerk", reason } } },
      );
      expect([...seen].sort()).toEqual([...new Set(["normal false", `${type} ${terminates}`])].sort());
    },
  );

  test("looks like any crash to links and monitors, with an error that names the simulator", async () => {
    const seen = await outcomes(
      async (sim) => {
        const system = sim.system({ name: "shop" });
        const reason = await system.exited(idler(system, "clerk"));
        return reason.type === "crash" && reason.error instanceof InjectedCrash
          ? reason.error.message
          : reason.type;
      },
      {
        faults: { crash: { of: "shop/clerk" } },
        strategy: randomWalk({ rates: { crash: 1 } }),
        schedules: 5,
        recheck: 0,
      },
    ).catch((error) => error.cause);
    // The first schedule is the ordinary one, in which nothing ever ends the clerk.
    expect(seen).toMatchObject({ code: "ERR_SIM_STUCK" });
  });

  const Worker = defineServer({ init: () => ({}) });

  test("comes at most as often as the rule says in one schedule, and once unless it says", async () => {
    const crashes = async (faults: FaultOptions): Promise<number> => {
      let most = 0;
      await explore(
        async (sim) => {
          sim.calm();
          const system = sim.system({ name: "shop" });
          let ended = 0;
          system.events.on("exit", ({ reason }) => {
            if (reason.type === "crash") ended++;
          });
          await system.start(
            supervisor({ intensity: 100, children: [1, 2, 3].map((n) => ({ id: `w${n}`, start: Worker })) }),
          );
          sim.storm();
          await sim.sleep(1);
          most = Math.max(most, ended);
        },
        { schedules: 50, faults, strategy: randomWalk({ rates: { crash: 0.5 } }) },
      );
      return most;
    };
    expect(await crashes({ crash: { of: "**/w*" } })).toBe(1);
    expect(await crashes({ crash: { of: "**/w*", atMost: 4 } })).toBe(4);
    expect(await crashes({ crash: [{ of: "**/w1*", atMost: 2 }, { of: "**/w*" }] })).toBe(3);
  });

  test("strikes a restarted child, too, whose path ends with `#2` [T8]", async () => {
    const faults = await faultsOf(
      async (sim) => {
        sim.calm();
        const system = sim.system({ name: "shop" });
        await system.start(supervisor({ intensity: 9, children: [{ id: "worker", start: Worker }] }));
        sim.storm();
        for (let i = 0; i < 4; i++) await sim.sleep(1);
        if (system.events.deadLetters > 0 || system.processes().some((pid) => sim.path(pid).endsWith("#3")))
          throw new Error("a third worker");
      },
      {
        faults: { crash: { of: "**/worker", atMost: 2 } },
        strategy: randomWalk({ rates: { crash: 0.3 } }),
      },
    );
    expect(faults.map((step) => step.process)).toEqual([
      "shop/supervisor/worker",
      "shop/supervisor/worker#2",
    ]);
  });

  test("is shown in the report by its kind", async () => {
    const faults = await faultsOf(
      async (sim) => {
        const system = sim.system({ name: "shop" });
        const clerk = idler(system, "clerk");
        await sim.quiet();
        if (!system.isAlive(clerk)) throw new Error("no clerk");
      },
      { faults: { crash: { of: "shop/clerk" } } },
    );
    expect(faults).toMatchObject([
      {
        type: "fault",
        process: "shop/clerk",
        fault: "crashes",
        effects: [{ type: "exit", process: "shop/clerk" }],
      },
    ]);
  });
});

describe("start", () => {
  test("fails a process before any of its code has run", async () => {
    const seen = await outcomes(
      async (sim) => {
        const system = sim.system({ name: "shop" });
        const trail: string[] = [];
        const Shop = defineServer({
          init: () => ({ trail: trail.push("init") }),
          terminate: () => trail.push("end"),
        });
        await system.start(Shop).catch((error) => trail.push(error.code));
        return trail.join(", ");
      },
      { faults: { start: { of: "shop/server" } } },
    );
    expect([...seen].sort()).toEqual(["ERR_START", "init"]);
  });

  test("does not strike a running process, only restarts and late starts", async () => {
    const seen = await outcomes(
      async (sim) => {
        sim.calm();
        const system = sim.system({ name: "shop" });
        const early = system.spawn(sleep, { label: "early" });
        await sim.quiet();
        sim.storm();
        const late = system.spawn(sleep, { label: "late" });
        await sim.quiet();
        return `${system.isAlive(early)} ${system.isAlive(late)}`;
      },
      { faults: { start: { of: "shop/*", atMost: 2 } } },
    );
    expect([...seen].sort()).toEqual(["true false", "true true"]);
  });
});

describe("pause", () => {
  /** A clerk who is asked once, and when he answered. */
  async function answered(sim: Simulation): Promise<number> {
    const system = sim.system({ name: "shop" });
    const clerk = system.spawn<{ to: ReplyTo<number> }>(
      { handle: (ctx, { to }) => ctx.reply(to, ctx.now()) },
      { label: "clerk" },
    );
    return system.call(clerk, (to: ReplyTo<number>) => ({ to }), { timeoutMs: 100_000 });
  }

  test("pauses a process for one of a few durations", async () => {
    const seen = await outcomes(answered, { faults: { pause: { of: "shop/clerk" } } });
    expect([...seen].sort((a, b) => a - b)).toEqual([0, 1, 100, 10_000]);
  });

  test("or for one of those that are given", async () => {
    const seen = await outcomes(answered, { faults: { pause: { of: "shop/clerk", forMs: [3, 7] } } });
    expect([...seen].sort()).toEqual([0, 3, 7]);
  });

  test("the longest is about as likely as the shortest, however rare pauses are", async () => {
    const times = new Map<number, number>();
    await explore(
      async (sim) => {
        const at = await answered(sim);
        times.set(at, (times.get(at) ?? 0) + 1);
      },
      {
        schedules: proving ? 2_000 : 800,
        faults: { pause: { of: "shop/clerk" } },
        strategy: randomWalk({ rates: { pause: 0.05 } }),
      },
    );
    const [short, long] = [times.get(1) ?? 0, times.get(10_000) ?? 0];
    expect(Math.min(short, long)).toBeGreaterThan(0.5 * Math.max(short, long));
  });

  test("ends when it is calm, and does not come back with its own end", async () => {
    const seen = await outcomes(
      async (sim) => {
        const system = sim.system({ name: "shop" });
        const heard: number[] = [];
        const clerk = system.spawn<string>(
          { handle: (ctx) => void heard.push(ctx.now()) },
          { label: "clerk" },
        );
        await sim.quiet();
        sim.calm();
        const calmAt = sim.now;
        system.send(clerk, "go");
        await sim.quiet();
        return heard[0] === calmAt && sim.now === calmAt;
      },
      {
        faults: { pause: { of: "shop/clerk", forMs: [500] } },
        strategy: randomWalk({ rates: { pause: 0.5 } }),
      },
    );
    expect([...seen]).toEqual([true]);
  });

  test("of a second storm is not cut short by the end of one that calm has ended", async () => {
    const heard = await outcomes(
      async (sim) => {
        const system = sim.system({ name: "shop" });
        let at = 0;
        const clerk = system.spawn<string>(
          {
            handle: (ctx) => {
              at = ctx.now();
            },
          },
          { label: "clerk" },
        );
        await sim.quiet();
        sim.calm();
        await sim.sleep(60);
        sim.storm();
        await sim.quiet();
        system.send(clerk, "go");
        await sim.sleep(1_000);
        return at;
      },
      {
        faults: { pause: { of: "shop/clerk", forMs: [100], atMost: 2 } },
        strategy: randomWalk({ rates: { pause: 0.6 } }),
      },
    );
    // Not 100, when the first would have ended by itself. With both pauses in the second storm it is 260.
    expect([...heard].sort((a, b) => a - b)).toEqual([60, 160, 260]);
  });
});

describe("delay", () => {
  test("holds a message on its way, so that another sender's overtakes it; each pair's order holds [T8]", async () => {
    const seen = await outcomes(
      async (sim) => {
        const system = sim.system({ name: "shop" });
        let heard = "";
        const office = system.spawn<string>(
          {
            handle: (_ctx, letter) => {
              heard += letter;
            },
          },
          { label: "office" },
        );
        system.spawn(
          (ctx) => {
            for (const letter of ["a", "b"]) ctx.send(office, letter);
            ctx.spawn((next) => next.send(office, "x"), { label: "second" });
          },
          { label: "first" },
        );
        await sim.quiet();
        return heard;
      },
      { faults: { delay: { of: "shop/office" } }, schedules: proving ? 1_000 : 300 },
    );
    // Without a delay the second comes after both, since the first has started it.
    expect([...seen].sort()).toEqual(["abx", "axb", "xab"]);
  });

  test("keeps the signals of a process behind its messages", async () => {
    const seen = await outcomes(
      async (sim) => {
        const system = sim.system({ name: "shop" });
        const heard: string[] = [];
        const boss = system.spawn<string>(
          {
            init: (ctx) => {
              for (const label of ["ann", "bob"])
                ctx.spawnMonitor(
                  (worker) => {
                    worker.send(boss, `${label} done`);
                    worker.send(boss, `${label} gone`);
                  },
                  { label },
                );
            },
            handle: (_ctx, message) => void heard.push(message),
            signal: (_ctx, signal) => {
              if (signal.type === "down") heard.push(`${signal.pid.label} down`);
            },
          },
          { label: "boss" },
        );
        await sim.quiet();
        return heard.join();
      },
      { faults: { delay: { of: "shop/boss", atMost: 3 } }, schedules: 1_000 },
    );
    expect(seen.size).toBeGreaterThan(10);
    for (const heard of seen)
      for (const label of ["ann", "bob"])
        expect(heard.split(",").filter((line) => line.startsWith(label))).toEqual([
          `${label} done`,
          `${label} gone`,
          `${label} down`,
        ]);
  });

  test("loses no message: a message in transit to a process that ends is a dead letter, like one in its mailbox", async () => {
    const seen = await outcomes(
      async (sim) => {
        const system = sim.system({ name: "shop" });
        const taken: string[] = [];
        const office = system.spawn<string>(
          { handle: (_ctx, letter) => void taken.push(letter) },
          { label: "office" },
        );
        system.spawn(
          (ctx) => {
            for (const letter of ["a", "b", "c"]) ctx.send(office, letter);
            ctx.exit(office, "kill");
          },
          { label: "first" },
        );
        await sim.quiet();
        return taken.length + system.deadLetters;
      },
      { faults: { delay: { of: "shop/office", atMost: 3 } } },
    );
    expect([...seen]).toEqual([3]);
  });

  test("holds no more messages in one schedule than the rule says", async () => {
    const held = async (delay: FaultOptions["delay"] & object): Promise<number> => {
      const scenario: Scenario = async (sim) => {
        const system = sim.system({ name: "shop" });
        const office = idler(system, "office");
        for (const label of ["a", "b", "c"]) system.spawn((ctx) => ctx.send(office, label), { label });
        await sim.quiet();
        throw new Error("the end");
      };
      const error = await failureOf(scenario, { faults: { delay }, strategy: WORST, shrink: 0 });
      return error.trace.steps.filter((step) => step.type === "deliver").length;
    };
    expect(await held({ of: "shop/office" })).toBe(1);
    expect(await held({ of: "shop/office", atMost: 2 })).toBe(2);
    expect(await held({ of: "shop/office", atMost: 9 })).toBe(3);
    expect(await held({ of: "shop/other", atMost: 9 })).toBe(0);
  });

  test("holds nothing while it is calm, and nothing that the scenario itself sends", async () => {
    const scenario: Scenario = async (sim) => {
      const system = sim.system({ name: "shop" });
      const office = idler(system, "office");
      system.send(office, "by the scenario");
      await sim.quiet();
      sim.calm();
      system.spawn((ctx) => ctx.send(office, "in the calm"));
      await sim.quiet();
      throw new Error("the end");
    };
    const faults = { delay: { of: "shop/office", atMost: 9 } };
    const error = await failureOf(scenario, { faults, strategy: WORST, shrink: 0 });
    expect(error.trace.steps.filter((step) => step.type === "deliver")).toEqual([]);
  });

  test("a message that was held arrives in a step of its own", async () => {
    const error = await failureOf(
      async (sim) => {
        const system = sim.system({ name: "shop" });
        let heard = "";
        const office = system.spawn<string>(
          {
            handle: (_ctx, text) => {
              heard += text;
            },
          },
          { label: "office" },
        );
        system.spawn(
          (ctx) => {
            ctx.send(office, "a");
            ctx.spawn((next) => next.send(office, "x"), { label: "second" });
          },
          { label: "first" },
        );
        await sim.quiet();
        expect(heard).toBe("ax");
      },
      { faults: { delay: { of: "shop/office" } }, schedules: proving ? 1_000 : 300 },
    );
    const arrivals = error.trace.steps.filter((step) => step.type === "deliver");
    expect(arrivals).toMatchObject([{ process: "shop/office", from: "shop/first", message: '"a"' }]);
    const sent = error.trace.steps.flatMap((step) => step.effects).filter((effect) => effect.type === "send");
    expect(sent).toMatchObject([
      { to: "shop/office", message: '"a"', held: true },
      { to: "shop/office", message: '"x"', held: false },
    ]);
  });
});

describe("calm and storm", () => {
  const fragile =
    (phases: (sim: Simulation) => Promise<void>) =>
    async (sim: Simulation): Promise<number> => {
      const system = sim.system({ name: "shop" });
      let at = -1;
      const clerk = idler(system, "clerk");
      system.events.on("exit", ({ pid }) => {
        if (pid === clerk) at = sim.now;
      });
      await phases(sim);
      return at;
    };
  const schedules = proving ? 300 : 120;
  const often: ExploreOptions = {
    faults: { crash: { of: "shop/clerk" } },
    strategy: randomWalk({ rates: { crash: 0.3 } }),
    schedules,
  };

  test("by default faults may strike from the first step to the end of the scenario", async () => {
    const seen = await outcomes(
      fragile(async (sim) => {
        for (let i = 0; i < 5; i++) await sim.sleep(1);
      }),
      often,
    );
    expect([...seen].sort()).toEqual([-1, 0, 1, 2, 3, 4, 5].sort());
  });

  test("none strikes while it is calm", async () => {
    const seen = await outcomes(
      fragile(async (sim) => {
        sim.calm();
        await sim.sleep(1);
        sim.storm();
        await sim.sleep(1);
        sim.calm();
        await sim.sleep(1);
      }),
      often,
    );
    // At 2 it may be before the scenario has said that it is calm.
    expect([...seen].sort()).toEqual([-1, 1, 2]);
  });

  test("none strikes after the scenario has ended", async () => {
    let after = 0;
    await explore(
      (sim) => {
        const system = sim.system({ name: "shop" });
        const clerk = system.spawn<string>({ handle: () => undefined }, { label: "clerk" });
        for (let i = 0; i < 20; i++) system.send(clerk, "go");
        sim.finally("the clerk is there", () => {
          after++;
          return system.isAlive(clerk);
        });
      },
      { ...often, strategy: randomWalk({ rates: { crash: 1 } }) },
    );
    expect(after).toBeGreaterThanOrEqual(schedules);
  });

  test("`eventually` stops faults, then waits for the condition", async () => {
    await explore(
      async (sim) => {
        const system = sim.system({ name: "shop" });
        const Worker = defineServer({ init: () => ({}) });
        sim.calm();
        await system.start(
          supervisor({ intensity: 9, children: [{ id: "worker", name: "worker", start: Worker }] }),
        );
        sim.storm();
        await sim.sleep(5);
        await sim.eventually("there is a worker", () => system.whereis("worker") !== undefined);
      },
      { faults: { crash: { of: "**/worker*", atMost: 5 } }, schedules: proving ? 200 : 70 },
    );
  });
});

describe("rules", () => {
  interface Tree {
    readonly name: string;
    readonly below: readonly Tree[];
  }

  const name = fc.constantFrom("a", "b", "ab", "picker1", "picker2");
  const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
    tree: fc.record({
      name,
      below: fc.oneof(
        { depthSize: "small" },
        fc.constant<readonly Tree[]>([]),
        fc.array(tie("tree"), { maxLength: 3 }),
      ),
    }),
  }));
  const segment = fc.oneof(name, fc.constantFrom("*", "**", "picker*", "*b", "a*"));
  const pattern = fc.array(segment, { minLength: 1, maxLength: 3 }).map((parts) => `shop/${parts.join("/")}`);

  /** What the pattern says, by comparing names one by one. */
  function fits(parts: readonly string[], names: readonly string[]): boolean {
    const [part, ...rest] = parts;
    if (part === undefined) return names.length === 0;
    if (part === "**" && rest.length === 0) return true;
    if (part === "**") return names.some((_name, index) => fits(rest, names.slice(index)));
    const [first, ...others] = names;
    if (first === undefined) return false;
    const [before, after] = part.split("*");
    const alike =
      after === undefined
        ? first === part
        : first.length >= part.length - 1 && first.startsWith(before as string) && first.endsWith(after);
    return alike && fits(rest, others);
  }

  function grow(
    ctx: { spawn(body: (ctx: Context) => unknown, options: SpawnOptions): unknown },
    { name, below }: Tree,
  ): void {
    ctx.spawn(
      (self) => {
        for (const one of below) grow(self, one);
        return sleep(self as never);
      },
      { label: name },
    );
  }

  properties.prop([tree, pattern, fc.constantFrom<"crash" | "pause">("crash", "pause"), fc.nat(1_000)], {
    numRuns: proving ? 60 : 25,
  })("no fault ever strikes outside of its rule", async (given, of, kind, seed) => {
    const struck: string[] = [];
    const scenario: Scenario = async (sim) => {
      const system = sim.system({ name: "shop" });
      system.events.on("exit", ({ pid }) => struck.push(sim.path(pid)));
      grow(system, given);
      await sim.sleep(10);
      if (struck.length > 0) throw new Error("a fault");
    };
    const strategy = randomWalk({ rates: { crash: 0.3, pause: 0.3 } });
    const faults = { [kind]: { of } };
    await explore(scenario, { schedules: 10, seed, strategy, faults, shrink: 0 }).catch((error) => {
      if (error instanceof UnmatchedRuleError) return;
      for (const step of error.trace.steps) if (step.type === "fault") struck.push(step.process);
    });
    for (const path of struck) {
      const plain = path.replaceAll(/#\d+/g, "").split("/").slice(1);
      // A name stands for its successors, too.
      expect(fits(of.split("/").slice(1), plain)).toBe(true);
    }
  });

  test.each<[string, FaultOptions, string]>([
    [
      "a crash",
      { crash: [{ of: "shop/**" }, { of: "**/pickr-*" }] },
      "the rule faults.crash[1] of **/pickr-* matches nothing in 20 schedules: there were, for example, " +
        "shop/picker-1, shop/clerk",
    ],
    ["a pause", { pause: { of: ["shp/*", /x/] } }, "the rule faults.pause of shp/*, /x/ matches nothing"],
    ["a start", { start: { of: () => false } }, "the rule faults.start of a function matches nothing"],
    ["a delay", { delay: { of: "shop" } }, "the rule faults.delay of shop matches nothing"],
    [
      "a node crash",
      { nodeCrash: { of: "shop/*" } },
      "the rule faults.nodeCrash[0] of shop/* matches nothing in 20 schedules",
    ],
  ])("is an error if it matches nothing in any schedule: %s [T29]", async (_kind, faults, message) => {
    const scenario: Scenario = (sim) => {
      const system = sim.system({ name: "shop" });
      for (const label of ["picker-1", "clerk"]) idler(system, label);
    };
    const error = await explore(scenario, { faults, schedules: 20 }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UnmatchedRuleError);
    expect(error).toMatchObject({ code: "ERR_SIM_UNMATCHED", message: expect.stringContaining(message) });
  });

  test("may match in few schedules only", async () => {
    const all = await explore(
      (sim) => {
        idler(sim.system({ name: "shop" }), sim.choose(10) === 9 ? "rare" : "clerk");
      },
      { faults: { crash: { of: "**/rare" } }, schedules: 100 },
    );
    expect(all.schedules).toBe(100);
  });

  test("may be a function, a regular expression, or several of them", async () => {
    const struck = async (
      of: FaultOptions["delay"] extends infer R ? (R extends { of: infer O } ? O : never) : never,
    ) => {
      const seen = new Set<string>();
      await explore(
        async (sim) => {
          const system = sim.system({ name: "shop" });
          const pids = ["a", "b", "c"].map((label) => idler(system, label));
          await sim.quiet();
          for (const pid of pids) if (!system.isAlive(pid)) seen.add(sim.path(pid));
        },
        { faults: { crash: { of, atMost: 3 } }, schedules: proving ? 200 : 100 },
      );
      return [...seen].sort();
    };
    expect(await struck((path) => path.endsWith("b"))).toEqual(["shop/b"]);
    expect(await struck(/[bc]$/g)).toEqual(["shop/b", "shop/c"]);
    expect(await struck(["shop/a", /c/])).toEqual(["shop/a", "shop/c"]);
  });

  test("never strike the scenario itself, nor a process that has ended", async () => {
    const error = await failureOf(
      async (sim) => {
        sim.calm();
        const system = sim.system({ name: "shop" });
        for (const label of ["a", "b"]) idler(system, label);
        for (const label of ["c", "d"]) system.spawn(() => undefined, { label });
        await sim.quiet();
        sim.storm();
        await sim.sleep(1);
        throw new Error("the end");
      },
      { faults: { crash: { of: "**", atMost: 9 } }, strategy: WORST, shrink: 0 },
    );
    const faults = error.trace.steps.filter((step) => step.type === "fault");
    // The last of those that are left, each time, and then nobody is left.
    expect(faults.map((step) => step.process)).toEqual(["shop/b", "shop/a"]);
  });

  test("of several kinds go together", async () => {
    const seen = await outcomes(
      async (sim) => {
        const system = sim.system({ name: "shop" });
        let heardAt = -1;
        const clerk = system.spawn<string>(
          {
            handle: (ctx) => {
              heardAt = ctx.now();
            },
          },
          { label: "clerk" },
        );
        system.send(clerk, "go");
        await sim.sleep(30);
        return `${system.isAlive(clerk) ? "alive" : "dead"}, heard it at ${heardAt}`;
      },
      {
        faults: { crash: { of: "shop/clerk" }, pause: { of: "shop/clerk", forMs: [20] } },
        strategy: randomWalk({ rates: { crash: 0.3, pause: 0.3 } }),
      },
    );
    expect([...seen].sort()).toEqual([
      "alive, heard it at 0",
      "alive, heard it at 20",
      "dead, heard it at -1",
      "dead, heard it at 0",
      "dead, heard it at 20",
    ]);
  });
});
