// Timers of the host know nothing of virtual time: code under simulation that uses one is caught in the act.

import { setTimeout as nodeTimeout } from "node:timers";
import { setInterval as beats, scheduler, setTimeout as wait } from "node:timers/promises";
import { promisify } from "node:util";
import { type Context, type Pid, System } from "signalbox";
import { explore, HostTimerError, type Scenario, simulate } from "signalbox/testing";
import { describe, expect, test, vi } from "vitest";
import { macrotask } from "../../support/host.js";
import { causeOf, errorOf } from "../support/found.js";

const uses: readonly [name: string, use: () => unknown][] = [
  ["setTimeout", () => setTimeout(() => undefined, 10)],
  ["setInterval", () => setInterval(() => undefined, 10)],
  ["setImmediate", () => setImmediate(() => undefined)],
  ["AbortSignal.timeout", () => AbortSignal.timeout(10)],
  ["setTimeout of node:timers", () => nodeTimeout(() => undefined, 10)],
  ["setTimeout of node:timers/promises", () => wait(10)],
  ["setInterval of node:timers/promises", () => beats(10).next()],
  ["setTimeout of node:timers/promises", () => promisify(setTimeout)(10)],
  ["scheduler.wait of node:timers/promises", () => scheduler.wait(10)],
];

const inHandler = (use: () => unknown): Scenario => {
  return async (sim) => {
    const system = sim.system({ name: "shop" });
    const clerk = system.spawn<string>({ handle: () => void use() }, { label: "clerk" });
    system.send(clerk, "go");
    await sim.quiet();
  };
};

describe("a timer of the host", () => {
  test.each(uses)(
    "%s in a handler fails the schedule, and the error names process and place",
    async (name, use) => {
      const cause = await causeOf(inHandler(use), { schedules: 3 });
      expect(cause).toBeInstanceOf(HostTimerError);
      expect((cause as Error).message).toContain(`shop/clerk used the host's ${name} at `);
      expect((cause as Error).message).toMatch(
        /host-timers\.spec\.ts:\d+:\d+: virtual time does not move it/,
      );
    },
  );

  test.each(uses)("%s in the scenario's own code does too", async (name, use) => {
    const cause = await causeOf(() => void use(), { schedules: 3 });
    expect((cause as Error).message).toContain(`scenario used the host's ${name} at `);
  });

  test("is found behind an await, within `init`, in a body, in a function of `ctx.after`", async () => {
    const timer = (): unknown => setTimeout(() => undefined, 10);
    const bodies: readonly ((ctx: Context<string>) => unknown)[] = [
      async () => {
        await null;
        timer();
      },
      (ctx) => {
        ctx.runAfter(5, timer);
        return new Promise((resolve) => ctx.runAfter(10, () => resolve(undefined)));
      },
    ];
    for (const body of bodies) {
      const cause = await causeOf(
        async (sim) => {
          sim.system({ name: "shop" }).spawn(body, { label: "clerk" });
          await sim.sleep(20);
        },
        { schedules: 1 },
      );
      expect((cause as Error).message).toContain("shop/clerk used the host's setTimeout");
    }
    const init = await causeOf(
      async (sim) => {
        sim.system({ name: "shop" }).spawn({ init: timer, handle: () => undefined }, { label: "clerk" });
        await sim.quiet();
      },
      { schedules: 1 },
    );
    expect((init as Error).message).toContain("shop/clerk used the host's setTimeout");
  });

  test("does not begin: the code is stopped where it would use it", async () => {
    let begun = false;
    await errorOf(
      simulate(
        inHandler(() => {
          setTimeout(() => undefined, 10);
          begun = true;
        }),
      ),
    );
    expect(begun).toBe(false);
  });

  test("is found even if the process catches the error", async () => {
    const cause = await causeOf(
      inHandler(() => {
        try {
          setTimeout(() => undefined, 10);
        } catch {
          // as a library might
        }
      }),
    );
    expect(cause).toBeInstanceOf(HostTimerError);
  });

  test("is allowed to the processes in `allow`, and then it works", async () => {
    let fired = 0;
    await explore(
      async (sim) => {
        const system = sim.system({ name: "shop" });
        const clerk = system.spawn<string>(
          {
            handle: () =>
              new Promise<void>((resolve) => {
                setTimeout(() => {
                  fired++;
                  resolve();
                }, 1);
              }),
          },
          { label: "clerk" },
        );
        system.send(clerk, "go");
        await sim.quiet();
      },
      { schedules: 3, recheck: 0, allow: "shop/clerk" },
    );
    expect(fired).toBe(3);
  });

  test("is allowed to a process that follows one in `allow`", async () => {
    const fired: string[] = [];
    await explore(
      async (sim) => {
        const system = sim.system({ name: "shop" });
        for (const what of ["first", "second"]) {
          const clerk = system.spawn<string>(
            {
              handle: (ctx) =>
                new Promise<void>((resolve) => {
                  setTimeout(() => {
                    fired.push(`${what} ${sim.path(ctx.self)}`);
                    resolve();
                  }, 1);
                }),
            },
            { label: "clerk" },
          );
          system.send(clerk, "go");
          await sim.quiet();
          sim.crash(clerk);
        }
      },
      { schedules: 1, recheck: 0, allow: "shop/clerk" },
    );
    expect(fired).toEqual(["first shop/clerk", "second shop/clerk#2"]);
  });
});

describe("outside of scenarios", () => {
  const globals = (): unknown[] => [
    setTimeout,
    setInterval,
    setImmediate,
    AbortSignal.timeout,
    nodeTimeout,
    wait,
    beats,
    scheduler.wait,
  ];

  test("timers are as they were, before, after, and after a failure", async () => {
    const before = globals();
    await explore(() => undefined, { schedules: 2 });
    expect(globals()).toEqual(before);
    await errorOf(explore(() => Promise.reject(new Error("no")), { schedules: 2 }));
    expect(globals()).toEqual(before);
  });

  test("timers of other code work meanwhile", async () => {
    const other = new Promise<string>((resolve) => setTimeout(() => resolve("fired"), 1));
    const within: Promise<unknown>[] = [];
    const run = explore(async (sim) => sim.sleep(1), { schedules: 300 });
    for (let i = 0; i < 3; i++) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      within.push(new Promise((resolve) => setTimeout(resolve, 1)));
    }
    expect(await other).toBe("fired");
    await Promise.all([run, ...within]);
  });

  test("a production system beside the exploration continues, with its timers", async () => {
    await using system = new System({ report: false });
    let beats = 0;
    const self: Pid<string> = system.spawn<string>({
      handle: (ctx) => {
        if (++beats < 20) ctx.sendAfter(self, "beat", 0);
      },
    });
    system.send(self, "beat");
    await explore((sim) => sim.sleep(1), { schedules: 500 });
    while (beats < 20) {
      expect(system.isAlive(self)).toBe(true);
      await macrotask();
    }
  });

  test("timers that a test framework has faked before are left faked", async () => {
    vi.useFakeTimers();
    try {
      const fake = setTimeout;
      await explore((sim) => sim.sleep(1_000), { schedules: 3 });
      expect(setTimeout).toBe(fake);
    } finally {
      vi.useRealTimers();
    }
  });
});
