import { CallTimeoutError, type Pid, type ReplyTo, type System, type TimerRef } from "signalbox";
import {
  exhaustive,
  explore,
  NotConvergedError,
  type SearchStrategy,
  type Simulation,
  simulate,
} from "signalbox/testing";
import { describe, expect, test } from "vitest";
import { causeOf, errorOf, failureOf } from "../support/found.js";

const WEEK_MS = 7 * 24 * 3_600 * 1_000;

/** A process that notes what it hears, and when. */
function diary(sim: Simulation, system: System): { readonly pid: Pid<string>; readonly lines: string[] } {
  const lines: string[] = [];
  const pid = system.spawn<string>({ handle: (_ctx, what) => void lines.push(`${sim.now}: ${what}`) });
  return { pid, lines };
}

/** Runs a scenario in the ordinary way, and gives what it returned. */
async function once<T>(scenario: (sim: Simulation) => Promise<T>): Promise<T> {
  let result!: T;
  await simulate(async (sim) => {
    result = await scenario(sim);
  });
  return result;
}

describe("virtual time", () => {
  test("begins at 0 in every schedule, and stands still while anything can run [T3]", async () => {
    await explore(
      async (sim) => {
        const begun = sim.now;
        const system = sim.system();
        let left = 100;
        const worker: Pid<string> = system.spawn<string>({
          handle: (ctx) => {
            if (--left > 0) ctx.send(worker, "again");
          },
        });
        system.send(worker, "go");
        system.sendAfter(worker, "late", 1);
        await sim.quiet();
        expect([begun, sim.now, left]).toEqual([0, 0, 0]);
      },
      { schedules: 20 },
    );
  });

  test("a week passes in no time", async () => {
    const at = await once(async (sim) => {
      await sim.sleep(WEEK_MS);
      return sim.now;
    });
    expect(at).toBe(WEEK_MS);
  });

  test("advances to the next timer of a process, a system or the scenario", async () => {
    const { lines, now } = await once(async (sim) => {
      const system = sim.system();
      const { pid, lines } = diary(sim, system);
      system.spawn((ctx) => {
        ctx.runAfter(30, () => ctx.send(pid, "a function"));
        return ctx.receive();
      });
      system.spawn((ctx) => {
        ctx.sendAfter(pid, "a message", 20);
        return ctx.receive({ timeoutMs: 40 }).catch(() => ctx.send(pid, "a receive that waits no longer"));
      });
      system.sendAfter(pid, "a message of the system", 10);
      await sim.sleep(100);
      return { lines, now: sim.now };
    });
    expect(lines).toEqual([
      "10: a message of the system",
      "20: a message",
      "30: a function",
      "40: a receive that waits no longer",
    ]);
    expect(now).toBe(100);
  });

  test("in the ordinary schedule, timers that are due together fire in the order in which they were set [T3]", async () => {
    const lines = await once(async (sim) => {
      const system = sim.system();
      const { pid, lines } = diary(sim, system);
      for (const what of ["first", "second", "third"]) system.sendAfter(pid, what, 5);
      system.sendAfter(pid, "earlier", 4);
      await sim.sleep(6);
      return lines;
    });
    expect(lines).toEqual(["4: earlier", "5: first", "5: second", "5: third"]);
  });

  test("timers that are due together: those of one process in the order in which it set them, others in any [T3]", async () => {
    const seen = new Set<string>();
    const { complete } = await explore(
      async (sim) => {
        const system = sim.system();
        const { pid, lines } = diary(sim, system);
        for (const who of ["a", "b"])
          system.spawn((ctx) => {
            ctx.sendAfter(pid, `${who}1`, 5);
            ctx.sendAfter(pid, `${who}2`, 5);
            return ctx.receive();
          });
        await sim.sleep(6);
        seen.add(lines.map((line) => line.replace("5: ", "")).join(" "));
      },
      { strategy: exhaustive(), checks: false },
    );
    expect(complete).toBe(true);
    expect([...seen].sort()).toEqual([
      "a1 a2 b1 b2",
      "a1 b1 a2 b2",
      "a1 b1 b2 a2",
      "b1 a1 a2 b2",
      "b1 a1 b2 a2",
      "b1 b2 a1 a2",
    ]);
  });

  test("a process that runs between two timers may cancel the second, which still counts as pending", async () => {
    const seen = new Set<string>();
    await explore(
      async (sim) => {
        const system = sim.system();
        const { pid, lines } = diary(sim, system);
        const timers: TimerRef[] = [];
        let answer = "";
        const canceller = system.spawn({
          handle: (ctx) => {
            for (const timer of timers) answer = `${timer.pending} ${ctx.cancel(timer)} ${timer.pending}`;
          },
        });
        system.sendAfter(canceller as Pid<unknown>, "cancel", 5);
        system.spawn((ctx) => {
          timers.push(ctx.sendAfter(pid, "fired", 5));
          return ctx.receive();
        });
        await sim.sleep(6);
        seen.add([answer, ...lines].join(", "));
      },
      { strategy: exhaustive(), checks: false },
    );
    expect([...seen].sort()).toEqual(["false false false, 5: fired", "true true false"]);
  });

  test("a timer never fires late, however often time overtakes queued work [T3]", async () => {
    const { complete } = await explore(
      async (sim) => {
        const fired: [ms: number, at: number][] = [];
        const system = sim.system();
        system.spawn((ctx) => {
          for (const ms of [5, 50]) ctx.runAfter(ms, () => void fired.push([ms, sim.now]));
          return ctx.receive();
        });
        system.spawn((ctx) => ctx.receive());
        await sim.sleep(100);
        expect(fired).toEqual([
          [5, 5],
          [50, 50],
        ]);
      },
      { faults: { rush: { atMost: 2 } }, strategy: exhaustive(), schedules: 10_000 },
    );
    expect(complete).toBe(true);
  });

  test("a thousand timers that are due together fire, each in a step", async () => {
    const fired = await once(async (sim) => {
      const system = sim.system();
      let fired = 0;
      for (let i = 0; i < 1_000; i++)
        system.spawn((ctx) => {
          ctx.runAfter(5, () => void fired++);
          return ctx.receive();
        });
      await sim.sleep(6);
      return fired;
    });
    expect(fired).toBe(1_000);
  });

  test("an interval keeps its beat", async () => {
    const lines = await once(async (sim) => {
      const system = sim.system();
      const { pid, lines } = diary(sim, system);
      const beat = system.spawn((ctx) => {
        ctx.sendInterval(pid, "tick", 250);
        return ctx.receive();
      });
      await sim.sleep(1_100);
      system.exit(beat, "kill");
      await sim.sleep(1_000);
      return lines;
    });
    expect(lines).toEqual(["250: tick", "500: tick", "750: tick", "1000: tick"]);
  });

  test("a cancelled timer does not fire", async () => {
    const lines = await once(async (sim) => {
      const system = sim.system();
      const { pid, lines } = diary(sim, system);
      const timer = system.sendAfter(pid, "too late", 10);
      await sim.sleep(9);
      expect(system.cancel(timer)).toBe(true);
      await sim.sleep(100);
      return lines;
    });
    expect(lines).toEqual([]);
  });

  test("a call without an answer ends by its timeout", async () => {
    const at = await once(async (sim) => {
      const system = sim.system();
      const silent = system.spawn<{ to: ReplyTo<void> }>({ handle: () => undefined });
      const error = await errorOf(system.call(silent, (to: ReplyTo<void>) => ({ to }), { timeoutMs: 700 }));
      expect(error).toBeInstanceOf(CallTimeoutError);
      return sim.now;
    });
    expect(at).toBe(700);
  });

  test("systems share it", async () => {
    const times = await once(async (sim) => {
      const [here, there] = [sim.system({ name: "here" }), sim.system({ name: "there" })];
      const times: number[] = [];
      for (const [system, ms] of [
        [here, 20],
        [there, 10],
        [here, 5],
      ] as const)
        system.spawn((ctx) => {
          ctx.runAfter(ms, () => times.push(ctx.now()));
          return ctx.receive();
        });
      await sim.sleep(50);
      return times;
    });
    expect(times).toEqual([5, 10, 20]);
  });

  test("a plain date stands for the wall clock, the same in every schedule", async () => {
    const dates = new Set<number>();
    await explore(
      async (sim) => {
        const { env } = sim.system().kernel;
        dates.add(env.wallTime());
        await sim.sleep(1_000);
        dates.add(env.wallTime());
      },
      { schedules: 5 },
    );
    const [first, second] = [...dates] as [number, number];
    expect(dates.size).toBe(2);
    expect(second - first).toBe(1_000);
  });

  test("a duration that is none is refused", async () => {
    for (const ms of [-1, Number.NaN, Number.POSITIVE_INFINITY])
      expect(await causeOf((sim) => sim.sleep(ms))).toMatchObject({ code: "ERR_OPTION", path: "ms" });
    expect(await causeOf((sim) => sim.until("x", () => true, { withinMs: -1 }))).toMatchObject({
      path: "withinMs",
    });
  });
});

describe("waiting for a state", () => {
  /** Something that is true from a time on. */
  async function laterOn(sim: Simulation, at: number): Promise<() => boolean> {
    const system = sim.system();
    let open = false;
    system.spawn((ctx) => {
      ctx.runAfter(at, () => {
        open = true;
      });
      return ctx.receive();
    });
    return () => open;
  }

  test("checks whenever nothing can run, and continues as soon as the condition holds", async () => {
    const at = await once(async (sim) => {
      await sim.until("it is open", await laterOn(sim, 300));
      return sim.now;
    });
    expect(at).toBe(300);
  });

  test("does not wait for a condition that holds already", async () => {
    const at = await once(async (sim) => {
      await sim.until("it is so", () => true, { withinMs: 0 });
      return sim.now;
    });
    expect(at).toBe(0);
  });

  test("gives up when the next timer is after its time", async () => {
    const cause = await causeOf(async (sim) => {
      await sim.until("it is open", await laterOn(sim, 300), { withinMs: 299 });
    });
    expect(cause).toBeInstanceOf(NotConvergedError);
    const [first, ...waits] = (cause as Error).message.split("\n");
    expect(first).toBe(
      "the system did not reach this state within 299 ms: it is open (the next timer is at 300 ms)",
    );
    expect(waits).toEqual([
      expect.stringMatching(/^ {2}system\/process awaits a receive, since step 2 \(0 ms\) at /),
    ]);
  });

  test("gives up when no timer is set: nothing will ever happen", async () => {
    const cause = await causeOf((sim) => sim.until("pigs fly", () => false));
    expect((cause as Error).message).toContain("pigs fly (and no timer is set)");
  });

  test("a condition that throws, or is a promise, is a mistake of the test", async () => {
    const mistake = new Error("no such thing");
    const throwing = await causeOf((sim) =>
      sim.until("it is open", () => {
        throw mistake;
      }),
    );
    expect(throwing).toMatchObject({ code: "ERR_SIM_MODEL", cause: mistake });
    const promising = await causeOf((sim) => sim.until("it is open", (async () => true) as never));
    expect(promising).toMatchObject({ code: "ERR_SIM_MODEL" });
    expect((promising as Error).message).toContain('the condition "it is open" returned a promise');
  });

  test("`quiet` waits until everything that can run has run, and for no timer", async () => {
    const at = await once(async (sim) => {
      const system = sim.system();
      const { pid, lines } = diary(sim, system);
      system.send(pid, "now");
      system.sendAfter(pid, "later", 10);
      await sim.quiet();
      return [sim.now, ...lines];
    });
    expect(at).toEqual([0, "0: now"]);
  });

  test("several may wait at once, also processes", async () => {
    const order = await once(async (sim) => {
      const order: string[] = [];
      const system = sim.system();
      system.spawn(async (ctx) => {
        await sim.sleep(5);
        order.push(`process at ${ctx.now()}`);
      });
      await sim.sleep(4);
      order.push(`scenario at ${sim.now}`);
      await Promise.all([sim.sleep(1), sim.sleep(2), sim.quiet()]);
      order.push(`scenario at ${sim.now}`);
      return order;
    });
    expect(order).toEqual(["scenario at 4", "process at 5", "scenario at 6"]);
  });

  test("all timers of one moment fire before a quiet moment", async () => {
    const times = await once(async (sim) => {
      const [here, there] = [sim.system({ name: "here" }), sim.system({ name: "there" })];
      let fired = 0;
      for (const system of [here, there])
        system.spawn((ctx) => {
          ctx.runAfter(5, () => fired++);
          return ctx.receive();
        });
      await Promise.all([sim.sleep(5), sim.sleep(5)]);
      await sim.quiet();
      return fired;
    });
    expect(times).toBe(2);
  });

  test("timers of two systems that are due at one moment fire in either order", async () => {
    const seen = new Set<string>();
    await explore(
      async (sim) => {
        let order = "";
        for (const name of ["a", "b"]) {
          const system = sim.system({ name });
          const clock = system.spawn<string>({
            handle: () => {
              order += name;
            },
          });
          system.sendAfter(clock, "it is time", 5);
        }
        await sim.sleep(6);
        seen.add(order);
      },
      { schedules: 100 },
    );
    expect([...seen].sort()).toEqual(["ab", "ba"]);
  });
});

describe("rush", () => {
  /** A deadline of 10 ms against one message of work. */
  async function deadline(sim: Simulation): Promise<string> {
    const system = sim.system();
    let first = "";
    const worker = system.spawn<string>(
      {
        handle: (_ctx, what) => {
          first ||= what;
        },
      },
      { label: "worker" },
    );
    system.sendAfter(worker, "deadline", 10);
    system.spawn((ctx) => ctx.send(worker, "work"), { label: "boss" });
    await sim.sleep(20);
    return first;
  }

  test("in every order, all that can run runs before a later timer fires", async () => {
    const seen = new Set<string>();
    await explore(async (sim) => seen.add(await deadline(sim)), { schedules: 200 });
    expect([...seen]).toEqual(["work"]);
  });

  test("lets a timer overtake the work that waits", async () => {
    const seen = new Set<string>();
    await explore(async (sim) => seen.add(await deadline(sim)), { schedules: 500, faults: { rush: {} } });
    expect([...seen].sort()).toEqual(["deadline", "work"]);
  });

  test("does not overtake a sleep of the scenario [T29]", async () => {
    const seen = new Set<string>();
    await explore(
      async (sim) => {
        const work = deadline(sim);
        await sim.sleep(5);
        seen.add(`${await work} ${sim.now}`);
      },
      { schedules: 500, faults: { rush: { atMost: 3 } } },
    );
    expect([...seen]).toEqual(["work 20"]);
  });

  test("is shown in the report as a fault", async () => {
    const error = await failureOf(async (sim) => expect(await deadline(sim)).toBe("work"), {
      schedules: 500,
      faults: { rush: {} },
    });
    expect(error.message).toMatch(/FAULT: time overtakes queued work/);
    expect(error.trace.steps.filter((step) => step.type === "fault")).toHaveLength(1);
  });

  test("happens at most as often as the rule says in one schedule, and once unless it says", async () => {
    const worst: SearchStrategy = {
      name: "the worst",
      enumerates: true,
      begin: (index) => (index === 0 ? { pick: () => 0, draw: (n) => n - 1 } : undefined),
    };
    const rushes = async (rush: { readonly atMost?: number }): Promise<number> => {
      const scenario = async (sim: Simulation): Promise<void> => {
        const bells = sim.system({ name: "bells" });
        const bell = bells.spawn<string>({ handle: () => undefined });
        for (const ms of [1, 2, 3]) bells.sendAfter(bell, "rings", ms);
        await deadline(sim);
        throw new Error("the end");
      };
      const error = await failureOf(scenario, { faults: { rush }, strategy: worst, shrink: 0 });
      return error.trace.steps.filter((step) => step.type === "fault").length;
    };
    expect(await rushes({})).toBe(1);
    expect(await rushes({ atMost: 2 })).toBe(2);
  });

  test("never when it is calm", async () => {
    const seen = new Set<string>();
    await explore(
      async (sim) => {
        sim.calm();
        seen.add(await deadline(sim));
      },
      { schedules: 500, faults: { rush: { atMost: 5 } } },
    );
    expect([...seen]).toEqual(["work"]);
  });
});
