// A machine that boots, loses power, and boots again.

import { defineServer, type ReplyTo, type Signal } from "signalbox";
import {
  type ExploreOptions,
  explore,
  type SimulatedNode,
  type Simulation,
  type TraceStep,
} from "signalbox/testing";
import { describe, expect, test } from "vitest";
import { exhaustive } from "../../../lib/testing/strategies/exhaustive.js";
import { randomWalk } from "../../../lib/testing/strategies/random-walk.js";
import { proving } from "../../support/proof.js";
import { causeOf, failureOf } from "../support/found.js";

/** What the scenario gives in each schedule. */
async function outcomes<T>(
  scenario: (sim: Simulation) => Promise<T>,
  options: ExploreOptions = {},
): Promise<Set<T>> {
  const seen = new Set<T>();
  await explore(async (sim) => void seen.add(await scenario(sim)), {
    schedules: proving ? 300 : 100,
    ...options,
  });
  return seen;
}

async function once<T>(scenario: (sim: Simulation) => Promise<T>): Promise<T> {
  const [result] = await outcomes(scenario, { schedules: 1 });
  return result as T;
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (content: Uint8Array): string => new TextDecoder().decode(content);

/** Adds up what it is given, and keeps the sum on its disk. */
const Sum = defineServer({
  init: async (_ctx, node: SimulatedNode) => {
    const saved = await node.disk.read("sum").then(textOf, () => "0");
    return { node, sum: Number(saved) };
  },
  calls: {
    add: async (state, n: number) => {
      state.sum += n;
      await state.node.disk.write("next", 0, bytes(String(state.sum)));
      await state.node.disk.sync("next");
      await state.node.disk.rename("next", "sum");
      await state.node.disk.syncDirectory();
      return state.sum;
    },
    sum: (state) => state.sum,
  },
});

function reasonOf(signal: Signal): string {
  return signal.type === "down" ? signal.reason.type : signal.type;
}

function bank(sim: Simulation) {
  return sim.node("bank", (node) => node.system().start(Sum, node));
}

describe("a node", () => {
  test("boots in a step of its own, and gives what its boot gives", async () => {
    await once(async (sim) => {
      const node = sim.node("bank", async (one) => one.system());
      expect([node.powered, node.up, node.boots, node.systems]).toEqual([true, false, 1, []]);
      const system = await node.ready();
      expect([node.powered, node.up, node.systems]).toEqual([true, true, [system]]);
      expect(system.name).toBe("bank");
      expect(await node.ready()).toBe(system);
    });
  });

  test("boots again after a power loss, with new systems and what its disk holds [T24]", async () => {
    const sums = await once(async (sim) => {
      const node = bank(sim);
      const first = await node.ready();
      const before = await first.call.add(5);
      node.crash();
      expect([node.powered, node.up, node.systems]).toEqual([false, false, []]);
      node.restart();
      const second = await node.ready();
      expect(second.pid).not.toBe(first.pid);
      expect(node.boots).toBe(2);
      return [before, await second.call.sum()];
    });
    expect(sums).toEqual([5, 5]);
  });

  test("is named in the report, and so is each boot after the first", async () => {
    const error = await failureOf(
      async (sim) => {
        const node = bank(sim);
        await node.ready();
        node.crash();
        node.restart();
        await node.ready();
        throw new Error("shown");
      },
      { schedules: 1 },
    );
    const lines = error.trace.steps.map((step) => step.process);
    expect(lines).toContain("bank");
    expect(lines).toContain("bank/server");
    expect(lines).toContain("bank#2");
    expect(lines).toContain("bank#2/server");
  });
});

describe("a power loss", () => {
  test("ends all code of the node where it is, without `terminate`, `finally` or notice [T24]", async () => {
    const seen = await outcomes(
      async (sim) => {
        const trail: string[] = [];
        const node = sim.node("shop", async (one) => {
          const system = one.system();
          const note = (what: string): void => void trail.push(`${what} ${one.boots}`);
          system.events.on("exit", () => note("event"));
          const shelf = system.spawn<{ to: ReplyTo<void> }>({ handle: () => undefined });
          system.spawn(
            async (ctx) => {
              ctx.signal.addEventListener("abort", () => note("aborted"));
              try {
                await ctx.call(shelf, (to: ReplyTo<void>) => ({ to }), { timeoutMs: 50 });
              } catch {
                note("caught");
              } finally {
                note("finally");
              }
            },
            { trapExit: true },
          );
          system.spawn({
            init: (ctx) => {
              ctx.monitor(shelf);
              ctx.link(shelf);
              ctx.runAfter(5, () => note("timer"));
            },
            handle: () => undefined,
            signal: (_ctx, signal: Signal) => note(signal.type),
            terminate: () => note("terminate"),
          });
          try {
            await sim.sleep(20);
          } finally {
            note("boot");
          }
        });
        await sim.quiet();
        node.crash();
        await sim.sleep(100);
        return trail.join();
      },
      { schedules: 50 },
    );
    expect([...seen]).toEqual([""]);
  });

  test("does not reach other systems, nor the next boot", async () => {
    const seen = await outcomes(async (sim) => {
      const other = bank(sim);
      const node = sim.node("shop", (one) => one.system());
      await Promise.all([other.ready(), node.ready()]);
      node.crash();
      node.restart();
      const [sum, system] = await Promise.all([other.ready(), node.ready()]);
      const answer = system.spawn<{ to: ReplyTo<string> }>({
        handle: (ctx, { to }) => ctx.reply(to, "here"),
      });
      return `${await sum.call.add(1)} ${await system.call(answer, (to: ReplyTo<string>) => ({ to }))}`;
    });
    expect([...seen]).toEqual(["1 here"]);
  });

  test("ends what others wait for with `noconnection`, and later calls at once", async () => {
    await once(async (sim) => {
      const node = sim.node("shop", (one) => one.system());
      const system = await node.ready();
      const silent = system.spawn<{ to: ReplyTo<void> }>({ handle: () => undefined });
      const call = system.call(silent, (to: ReplyTo<void>) => ({ to }));
      const exit = system.exited(silent);
      const start = system.start(
        defineServer({ init: () => new Promise<object>(() => undefined), calls: {} }),
      );
      await sim.quiet();
      node.crash();
      await expect(call).rejects.toMatchObject({
        code: "ERR_CALLEE_EXITED",
        reason: { type: "noconnection" },
      });
      expect(await exit).toMatchObject({ type: "noconnection" });
      await expect(start).rejects.toMatchObject({ code: "ERR_START" });
      await expect(system.call(silent, (to: ReplyTo<void>) => ({ to }))).rejects.toMatchObject({
        code: "ERR_SYSTEM_STOPPED",
      });
      expect(() => node.system()).toThrow("shop");
      expect([system.population, system.processes(), system.stopped]).toEqual([0, [], true]);
      await system.stop();
    });
  });

  test("may come while the node boots: that boot never ends [T24]", async () => {
    const seen = await outcomes(
      async (sim) => {
        let begun = 0;
        let ended = 0;
        const node = sim.node("shop", async (one) => {
          begun++;
          await one.disk.append("log", bytes("x"));
          await one.disk.sync("log");
          ended++;
        });
        await node.ready();
        return `${begun} begun, ${ended} ended`;
      },
      {
        faults: { nodeCrash: { of: "shop", atMost: 2, downMs: [0, 10] } },
        strategy: randomWalk({ rates: { node: 0.3 } }),
      },
    );
    expect([...seen]).toEqual(
      expect.arrayContaining(["1 begun, 1 ended", "2 begun, 1 ended", "3 begun, 1 ended"]),
    );
  });
});

describe("the rule `nodeCrash`", () => {
  const often = randomWalk({ rates: { node: 0.3 } });

  test("takes the power from the nodes that it names, as often as it says [T24]", async () => {
    const boots = await outcomes(
      async (sim) => {
        const nodes = ["a-1", "a-2", "b"].map((name) => sim.node(name, () => undefined));
        for (let i = 0; i < 30; i++) await sim.sleep(10);
        return nodes.map((node) => node.boots).join();
      },
      { faults: { nodeCrash: { of: "a-*", atMost: 2, downMs: [5] } }, strategy: often },
    );
    expect([...boots].sort()).toEqual(["1,1,1", "1,3,1", "2,2,1", "3,1,1"]);
  });

  test("keeps a node down for one of the times given", async () => {
    const times = await outcomes(
      async (sim) => {
        const node = sim.node("shop", () => undefined);
        await node.ready();
        const from = sim.now;
        await sim.until("it is down", () => !node.powered, { withinMs: 0 }).catch(() => undefined);
        await node.ready();
        return sim.now - from;
      },
      { faults: { nodeCrash: { of: "shop", downMs: [0, 7, 70] } }, strategy: often },
    );
    expect([...times].sort()).toEqual([0, 7, 70]);
  });

  test("ends when it is calm: a node that it took down boots at once [T24]", async () => {
    const seen = await outcomes(
      async (sim) => {
        const node = sim.node("shop", () => undefined);
        await node.ready();
        await sim.quiet();
        const fell = !node.powered;
        const from = sim.now;
        sim.calm();
        await node.ready();
        return `${fell} ${node.boots} ${sim.now - from}`;
      },
      { faults: { nodeCrash: { of: "shop", downMs: [1_000] } }, strategy: often },
    );
    expect(seen).toContain("true 2 0");
    expect([...seen].every((one) => one.endsWith(" 0"))).toBe(true);
  });

  test("leaves a node down that the scenario took down, also when it is calm", async () => {
    expect(
      await once(async (sim) => {
        const node = sim.node("shop", () => undefined);
        await node.ready();
        node.crash();
        sim.calm();
        await sim.sleep(10);
        return node.powered;
      }),
    ).toBe(false);
  });

  test("is shown in the report", async () => {
    const error = await failureOf(
      async (sim) => {
        const node = bank(sim);
        const sum = await node.ready();
        await sum.call.add(1).catch(() => undefined);
        if (node.boots > 1) throw new Error("it fell");
      },
      { faults: { nodeCrash: { of: "bank", downMs: [0] } }, strategy: often },
    );
    const faults = error.trace.steps.filter((step: TraceStep) => step.type === "fault");
    expect(faults).toMatchObject([{ process: "bank", fault: "loses power for 0 ms" }]);
  });

  test("strikes between any two steps of an exhaustive search, which ends", async () => {
    const seen = new Set<string>();
    const all = await explore(
      async (sim) => {
        const steps: string[] = [];
        const node = sim.node("shop", async (one) => {
          steps.push("boot");
          await one.disk.append("log", bytes("x"));
          steps.push("written");
          await one.disk.sync("log");
          steps.push("synced");
        });
        await node.ready();
        await sim.quiet();
        seen.add(steps.join());
      },
      {
        faults: { nodeCrash: { of: "shop", downMs: [0] } },
        strategy: exhaustive(),
        schedules: 5_000,
      },
    );
    expect(all.complete).toBe(true);
    expect([...seen].sort()).toEqual([
      "boot,boot,written,synced",
      "boot,written,boot,written,synced",
      "boot,written,synced",
      "boot,written,synced,boot,written,synced",
    ]);
  });
});

describe("other systems", () => {
  /** Two nodes on a network; each process of `here` hears of the end of the one there. */
  async function watched(sim: Simulation, watchers: number): Promise<string[]> {
    const network = sim.network();
    const node = sim.node("there", (one) => {
      const system = network.join(one.system());
      const office = system.spawn<ReplyTo<string>>(
        { handle: (ctx, to) => ctx.reply(to, "yes") },
        { label: "office" },
      );
      return { system, office };
    });
    const there = await node.ready();
    const heard: string[] = [];
    for (let i = 0; i < watchers; i++) {
      const here = network.join(sim.system({ name: `here-${i}` }));
      const office = here.pidAt(there.system.address(there.office));
      here.spawn({
        init: (ctx) => {
          ctx.monitor(office);
        },
        handle: () => undefined,
        signal: (_ctx, signal: Signal) => void heard.push(`${i}: ${reasonOf(signal)}`),
      });
    }
    await sim.quiet();
    node.crash();
    await sim.quiet();
    return heard;
  }

  test("notice a power loss in steps of their own, in any order [T25]", async () => {
    const seen = await outcomes(async (sim) => (await watched(sim, 2)).join());
    expect([...seen].sort()).toEqual(["0: noconnection,1: noconnection", "1: noconnection,0: noconnection"]);
  });

  test("get what the node sent before, and then notice; what they send meanwhile is lost", async () => {
    const seen = await outcomes(async (sim) => {
      const network = sim.network();
      const here = network.join(sim.system({ name: "here" }));
      const heard: string[] = [];
      let dead = 0;
      here.events.on("deadLetter", () => void dead++);
      const node = sim.node("there", (one) => {
        const system = network.join(one.system());
        return { system, office: system.spawn<string>({ handle: () => undefined }) };
      });
      const { system: there, office } = await node.ready();
      const far = here.pidAt(there.address(office));
      const clerk = here.spawn<string>({
        init: (ctx) => void ctx.monitor(far),
        handle: (_ctx, text) => void heard.push(text),
        signal: (_ctx, signal: Signal) => void heard.push(reasonOf(signal)),
      });
      await sim.quiet();
      there.send(there.pidAt(here.address(clerk)), "before");
      node.crash();
      here.send(far, "lost");
      await sim.quiet();
      const between = dead;
      here.send(far, "refused");
      return `${heard.join()} ${between} ${dead}`;
    });
    expect([...seen]).toEqual(["before,noconnection 1 2"]);
  });
});

describe("the options of a node are checked", () => {
  const asked = (fn: (sim: Simulation) => unknown): Promise<unknown> =>
    causeOf(async (sim) => void fn(sim), { schedules: 1 });

  test.each<[string, (sim: Simulation) => unknown]>([
    ["name", (sim) => sim.node("", () => undefined)],
    ["boot", (sim) => sim.node("a", undefined as never)],
    ["node.size", (sim) => sim.node("a", () => undefined, { size: 1 } as never)],
    ["sector", (sim) => sim.node("a", () => undefined, { disk: { sector: 0 } })],
    [
      "name",
      (sim) => {
        sim.node("a", () => undefined);
        sim.node("a", () => undefined);
      },
    ],
  ])("%s", async (path, fn) => {
    expect(await asked(fn)).toMatchObject({ code: "ERR_OPTION", path });
  });

  test.each([
    ["faults.nodeCrash[0].of", { of: "" }],
    ["faults.nodeCrash[0].downMs", { of: "a", downMs: [] }],
    ["faults.nodeCrash[0].downMs[0]", { of: "a", downMs: [-1] }],
    ["faults.nodeCrash[0].atMost", { of: "a", atMost: 0 }],
    ["faults.nodeCrash[0].ms", { of: "a", ms: [1] }],
  ])("%s", async (path, rule) => {
    await expect(explore(() => undefined, { faults: { nodeCrash: rule as never } })).rejects.toMatchObject({
      path,
    });
  });

  test("a boot that fails, fails the schedule", async () => {
    const cause = await causeOf(
      async (sim) => {
        sim.node("a", async () => {
          await sim.sleep(1);
          throw new Error("no log");
        });
        await sim.sleep(10);
      },
      { schedules: 1 },
    );
    expect(cause).toMatchObject({ message: "no log" });
  });
});
