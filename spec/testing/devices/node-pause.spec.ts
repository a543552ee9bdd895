// A machine that is paused as a whole: a stopped process, a long turn, a suspended virtual machine.

import type { Pid, System } from "signalbox";
import { type ExploreOptions, explore, type NodePauseRule, type Simulation } from "signalbox/testing";
import { describe, expect, test } from "vitest";
import { exhaustive } from "../../../lib/testing/strategies/exhaustive.js";
import { randomWalk } from "../../../lib/testing/strategies/random-walk.js";
import { proving } from "../../support/proof.js";
import { causeOf, failureOf } from "../support/found.js";

async function outcomes<T>(
  scenario: (sim: Simulation) => Promise<T>,
  options: ExploreOptions = {},
): Promise<Set<T>> {
  const seen = new Set<T>();
  await explore(async (sim) => void seen.add(await scenario(sim)), {
    schedules: proving ? 300 : 60,
    ...options,
  });
  return seen;
}

async function once<T>(scenario: (sim: Simulation) => Promise<T>): Promise<T> {
  const [result] = await outcomes(scenario, { schedules: 1 });
  return result as T;
}

/** Pauses often. */
const often = randomWalk({ rates: { node: 0.3 } });

describe("a paused node", () => {
  test("runs nothing: no process, no timer, no code that awaits; all of it is due when it goes on [N1390]", async () => {
    await once(async (sim) => {
      const ask = sim.io("bank", () => "answer");
      const told: string[] = [];
      const tell = (what: string): void => void told.push(`${what} at ${sim.now}`);
      const node = sim.node("a", async (machine) => {
        const system = machine.system();
        const worker = system.spawn<string>(
          {
            init: (ctx) => {
              ctx.runAfter(50, () => tell("timer"));
              ctx.runAfter(2_000, () => tell("later timer"));
            },
            handle: async (_ctx, message) => {
              tell(message);
              tell(await ask());
            },
          },
          { label: "worker" },
        );
        sim.sleep(70).then(() => tell("boot"));
        return { system, worker };
      });
      const { system, worker } = await node.ready();
      system.send(worker, "first");
      await sim.sleep(0);
      await sim.until("the request to be sent", () => told.length === 2);
      told.length = 0;
      system.send(worker, "second");
      node.pause();
      expect(node.paused).toBe(true);
      system.spawn(() => tell("born"));
      await sim.sleep(1_000);
      expect(told).toEqual([]);
      node.resume();
      expect(node.paused).toBe(false);
      await sim.sleep(1);
      expect([...told].sort()).toEqual(
        ["answer", "boot", "born", "second", "timer"].map((what) => `${what} at 1000`),
      );
      await sim.sleep(2_000);
      expect(told.at(-1)).toBe("later timer at 2000");
    });
  });

  test("has a monotonic clock that runs on, or stands as in a suspended machine; its wall clock is right afterwards [N1390]", async () => {
    for (const clock of ["runs", "stands"] as const)
      await once(async (sim) => {
        const node = sim.node("a", (machine) => machine.system(), { clock: { driftPpm: 1_000 } });
        const system = await node.ready();
        let fired = 0;
        const clocks: (readonly [number, number])[] = [];
        system.spawn<string>({
          init: (ctx) => {
            clocks.push([ctx.now(), ctx.wallTime()]);
            ctx.runAfter(10_010, () => {
              fired = sim.now;
              clocks.push([ctx.now(), ctx.wallTime()]);
            });
          },
          handle: () => undefined,
        });
        await sim.sleep(1_000);
        node.pause({ clock });
        await sim.sleep(20_000);
        node.resume();
        await sim.sleep(40_000);
        const stood = clock === "stands" ? 20_000 : 0;
        expect(fired).toBeCloseTo(clock === "stands" ? 30_000 : 21_000, 5);
        const [[now, wall], [later, wallLater]] = clocks as [[number, number], [number, number]];
        expect(later - now).toBeCloseTo((fired - stood) * 1.001, 5);
        expect(wallLater - wall).toBeCloseTo(fired * 1.001, 3);
      });
  });

  test("may lose power, and is not paused when it boots again", async () => {
    await once(async (sim) => {
      const told: string[] = [];
      const node = sim.node("a", (machine) => {
        const { boots } = machine;
        machine.system().spawn((ctx) => void ctx.runAfter(10, () => told.push(`timer of boot ${boots}`)));
      });
      await node.ready();
      node.pause({ clock: "stands" });
      node.crash();
      expect([node.powered, node.paused]).toEqual([false, false]);
      node.pause();
      expect(node.paused).toBe(false);
      node.restart();
      await node.ready();
      await sim.sleep(1_000);
      node.pause();
      node.pause();
      node.resume();
      node.resume();
      return told;
    });
  });
});

describe("the fault `nodePause`", () => {
  test("pauses the nodes that it names, for one of its times, as often as it says [N1390]", async () => {
    const seen = await outcomes(
      async (sim) => {
        const beats = await Promise.all(
          ["a", "b"].map(async (name) => {
            const node = sim.node(name, (machine) => {
              const times: number[] = [];
              machine.system().spawn<string>({
                init: (ctx) => {
                  const beat = (): void => {
                    times.push(sim.now);
                    if (times.length < 5) ctx.runAfter(10, beat);
                  };
                  beat();
                },
                handle: () => undefined,
              });
              return times;
            });
            return node.ready();
          }),
        );
        await sim.sleep(5_000);
        const late = (times: readonly number[]): number => (times.at(-1) as number) - 40;
        return beats.map(late).join();
      },
      {
        faults: { nodePause: { of: "a", forMs: [100, 300], atMost: 2 } },
        strategy: often,
        schedules: proving ? 300 : 120,
      },
    );
    const delays = [...seen].map((one) => one.split(",").map(Number));
    expect(delays.every(([, b]) => b === 0)).toBe(true);
    const kinds = new Set(delays.map(([a = 0]) => Math.round(a / 100)));
    for (const one of [0, 1, 3, 2, 4, 6]) expect(kinds).toContain(one);
    expect(Math.max(...kinds)).toBeLessThanOrEqual(6);
  });

  test("ends when it is calm; a pause by the scenario does not [N1390]", async () => {
    const seen = await outcomes(
      async (sim) => {
        const nodes = ["a", "b"].map((name) => sim.node(name, (machine) => machine.system()));
        await Promise.all(nodes.map((node) => node.ready()));
        nodes[1]?.pause();
        await sim.sleep(10);
        const before = nodes.map((node) => node.paused).join();
        sim.calm();
        return `${before} ${nodes.map((node) => node.paused).join()}`;
      },
      { faults: { nodePause: { of: "a", forMs: [100_000] } }, strategy: often },
    );
    expect([...seen].sort()).toEqual(["false,true false,true", "true,true false,true"]);
  });

  test("is in the report, and what the failure does not need is shrunk away [N1390]", async () => {
    const error = await failureOf(
      async (sim) => {
        const nodes = ["a", "b"].map((name) => sim.node(name, (machine) => machine.system()));
        await Promise.all(nodes.map((node) => node.ready()));
        await sim.sleep(10);
        if (nodes[0]?.paused) throw new Error("shown");
      },
      {
        faults: { nodePause: { of: "*", atMost: 4, forMs: [100, 3_000], clock: ["runs", "stands"] } },
        strategy: often,
      },
    );
    const faults = error.trace.steps.filter((step) => step.type === "fault");
    expect(faults).toMatchObject([{ process: "a", fault: "is paused for 100 ms" }]);
    expect(error.message).toContain("FAULT: is paused for 100 ms");
  });

  test("strikes between any two steps of an exhaustive search, which ends [N1390]", async () => {
    const seen = new Set<string>();
    const result = await explore(
      async (sim) => {
        const trail: string[] = [];
        const node = sim.node("a", (machine) => {
          machine.system().spawn<string>(
            async (ctx) => {
              trail.push(String(sim.now));
              await sim.sleep(0);
              trail.push(String(sim.now));
              await ctx.receive({ timeoutMs: 10 }).catch(() => undefined);
              trail.push(String(sim.now));
            },
            { label: "worker" },
          );
        });
        await node.ready();
        await sim.sleep(1_000);
        seen.add(trail.join());
      },
      { faults: { nodePause: { of: "a", forMs: [100] } }, strategy: exhaustive(), schedules: 5_000 },
    );
    expect(result.complete).toBe(true);
    for (const one of ["0,0,10", "0,0,100", "0,100,110", "100,100,110"]) expect(seen).toContain(one);
  });

  const asked = (rule: NodePauseRule | object): Promise<unknown> =>
    causeOf(async (sim) => void sim.node("a", () => undefined), {
      schedules: 1,
      faults: { nodePause: rule as NodePauseRule },
    });

  test.each([
    ["faults.nodePause[0].of", { of: "" }],
    ["faults.nodePause[0].forMs", { of: "a", forMs: [] }],
    ["faults.nodePause[0].atMost", { of: "a", atMost: 0 }],
    ["faults.nodePause[0].clock", { of: "a", clock: "jumps" }],
    ["faults.nodePause[0].clock", { of: "a", clock: [] }],
    ["faults.nodePause[0].clock[1]", { of: "a", clock: ["runs", "walks"] }],
    ["faults.nodePause[0].downMs", { of: "a", downMs: [1] }],
  ])("checks its options: %s", async (path, rule) => {
    await expect(asked(rule)).rejects.toMatchObject({ code: "ERR_OPTION", path });
  });

  test("checks the options of `pause`", async () => {
    const pausing = (options: object) => (sim: Simulation) =>
      void sim.node("a", () => undefined).pause(options);
    const wrong = (options: object): Promise<unknown> =>
      causeOf(async (sim) => pausing(options)(sim), { schedules: 1 });
    expect(await wrong({ clock: "jumps" })).toMatchObject({ code: "ERR_OPTION", path: "pause.clock" });
    expect(await wrong({ ms: 1 })).toMatchObject({ code: "ERR_OPTION", path: "pause.ms" });
  });
});

interface Side {
  readonly system: System;
  readonly pid: Pid<unknown>;
}

describe("the sessions of a paused node", () => {
  async function sides(sim: Simulation, told: string[], latencyMs: readonly number[] = [0]) {
    const network = sim.network({ latencyMs });
    const machines = ["a", "b"].map((name) =>
      sim.node(name, (machine): Side => {
        const system = network.join(machine.system());
        system.events.on(
          "nodeDown",
          ({ reason, by }) => void told.push(`${name} ${reason} by ${by} at ${sim.now}`),
        );
        const pid = system.spawn<unknown>(
          { handle: (_ctx, message) => void told.push(`${name} got ${message} at ${sim.now}`) },
          { label: "mailbox" },
        );
        return { system, pid };
      }),
    );
    const [a, b] = (await Promise.all(machines.map((one) => one.ready()))) as [Side, Side];
    const toA = b.system.pidAt(a.system.address(a.pid));
    const toB = a.system.pidAt(b.system.address(b.pid));
    a.system.send(toB, "hello");
    await sim.sleep(1_000);
    told.length = 0;
    return { node: machines[0], a, b, toA, toB } as const;
  }

  test("go on after a short pause: what was sent meanwhile waits, and arrives [N1391]", async () => {
    const told = await once(async (sim) => {
      const told: string[] = [];
      const { node, b, toA } = await sides(sim, told);
      node?.pause();
      b.system.send(toA, "meanwhile");
      await sim.sleep(400);
      node?.resume();
      b.system.send(toA, "after");
      await sim.sleep(10_000);
      return told;
    });
    expect(told).toEqual(["a got meanwhile at 1400", "a got after at 1400"]);
  });

  test("end after a long one, at both sides: the node ends its own before it sends [N1391]", async () => {
    const seen = await outcomes(async (sim) => {
      const told: string[] = [];
      const { node, a, b, toA, toB } = await sides(sim, told);
      a.system.spawn(async (ctx) => {
        await ctx.receive({ timeoutMs: 100 }).catch(() => undefined);
        ctx.send(toB, "late");
      });
      await sim.sleep(50);
      node?.pause();
      b.system.send(toA, "lost");
      const forMs = sim.oneOf([1_500, 30_000], "pause");
      await sim.sleep(forMs);
      node?.resume();
      await sim.sleep(5_000);
      expect(
        told.filter((one) => one.startsWith("b ") && !one.includes("got")),
        told.join("; "),
      ).toHaveLength(1);
      const ends = told.filter((one) => one.startsWith("a ") && !one.includes("got"));
      expect(ends).toEqual([expect.stringMatching(/^a (slept|moved|timeout|stalled) by /)]);
      // Whatever the node sends after its pause goes in a new epoch, or is refused.
      const got = told.findIndex((one) => one.startsWith("b got late"));
      const ended = told.indexOf(ends[0] as string);
      expect(got === -1 || ended < got, told.join("; ")).toBe(true);
      return `${forMs} ${ends[0]?.split(" ")[1]}`;
    });
    expect(seen).toContain("1500 slept");
    expect(seen).toContain("30000 slept");
  });

  test("each link is there at both sides or at neither, whatever is paused, cut and lost [N1391]", async () => {
    await explore(
      async (sim) => {
        const network = sim.network({
          drop: {},
          partition: { oneWay: true, silent: true, forMs: [10, 1_500, 4_000] },
          latencyMs: [0, 20],
        });
        const ends: string[] = [];
        const machines = ["here", "there"].map((name) =>
          sim.node(name, (machine): Side => {
            const system = network.join(machine.system());
            const pid = system.spawn<unknown>({
              init: (ctx) => ctx.trapExit(true),
              handle: (ctx, other) => ctx.link(other as Pid),
              signal: () => void ends.push(name),
            });
            return { system, pid };
          }),
        );
        const [one, other] = (await Promise.all(machines.map((node) => node.ready()))) as [Side, Side];
        one.system.send(one.pid, one.system.pidAt(other.system.address(other.pid)));
        await sim.sleep(60_000);
        sim.calm();
        await sim.sleep(60_000);
        const at = ({ system, pid }: Side): number => system.info(pid)?.links.length ?? 0;
        expect(at(one)).toBe(at(other));
        expect(ends.length).toBeLessThanOrEqual(2);
      },
      {
        faults: { nodePause: { of: "*", atMost: 2, forMs: [100, 1_500, 4_000], clock: ["runs", "stands"] } },
        strategy: randomWalk({ rates: { drop: 0.05, node: 0.05 } }),
        schedules: proving ? 1_000 : 60,
      },
    );
  });

  test("leave no timer behind: a wait in vain is found after a pause [N1391]", async () => {
    const never = explore(
      async (sim) => {
        const { node } = await sides(sim, []);
        node?.pause();
        await sim.sleep(5_000);
        node?.resume();
        await new Promise(() => undefined);
      },
      { schedules: 1 },
    );
    await expect(never).rejects.toMatchObject({ code: expect.stringMatching(/^ERR_SIM/) });
  });
});
