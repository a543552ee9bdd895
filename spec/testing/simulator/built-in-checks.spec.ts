// What no schedule may end in, whatever the scenario is about: each found in a small wrong program, and not in a right one.

import {
  type Callbacks,
  type Context,
  defineServer,
  type Monitor,
  type Pid,
  type ReplyTo,
  supervisor,
} from "signalbox";
import {
  type BuiltInChecks,
  explore,
  LeftBehindError,
  type Scenario,
  type Simulation,
  StuckError,
  UncontrolledAwaitError,
  WaitCycleError,
} from "signalbox/testing";
import { describe, expect, test } from "vitest";
import { causeOf } from "../support/found.js";

interface Question {
  readonly to: ReplyTo<string>;
}
const question = (to: ReplyTo<string>): Question => ({ to });

/** What an exploration of a few schedules finds in a program. */
async function findingOf(scenario: Scenario): Promise<Error> {
  return (await causeOf(scenario, { schedules: 50, shrink: 20 })) as Error;
}

/** A right program passes, and a wrong one does when that check is off. */
async function passes(scenario: Scenario, checks: BuiltInChecks | false = {}): Promise<void> {
  await explore(scenario, { schedules: 50, checks });
}

describe("orphans", () => {
  /** A child that traps exits, and does not end when its supervisor does. */
  const family = (stubborn: boolean) => async (sim: Simulation) => {
    const system = sim.system({ name: "shop" });
    const child: Callbacks<string> = {
      handle: () => undefined,
      ...(stubborn ? { parentExit: () => undefined } : {}),
    };
    const parent: Callbacks<string> = {
      init: (ctx) => {
        ctx.spawnLink(child, { label: "child", trapExit: true });
      },
      handle: () => undefined,
      parentExit: (ctx: Context<string>) => ctx.exit("shutdown"),
    };
    const pid = system.spawn(parent, { label: "parent", trapExit: true });
    await sim.quiet();
    system.exit(pid, "shutdown");
    await sim.quiet();
  };

  test("a child that is alive though its supervisor is not is found", async () => {
    const error = await findingOf(family(true));
    expect(error).toBeInstanceOf(LeftBehindError);
    expect((error as LeftBehindError).findings).toEqual([
      "shop/parent/child is alive, though its supervisor shop/parent is not",
    ]);
  });

  test("one that ends with its supervisor is not", () => passes(family(false)));

  test("nor is one of a process that is no supervisor: it may spawn whom it likes", async () => {
    await passes(async (sim) => {
      const system = sim.system();
      system.spawn((ctx) => {
        ctx.spawn((child) => child.receive());
      });
      await sim.quiet();
    });
  });

  test("nor is the child of a supervisor that is alive", async () => {
    const Worker = defineServer({ init: () => ({}) });
    await passes(async (sim) => {
      await sim.system().start(supervisor({ children: [{ id: "worker", start: Worker }] }));
    });
  });

  test("a supervisor that is killed takes its children along", async () => {
    const Worker = defineServer({ init: () => ({}) });
    await passes(async (sim) => {
      const system = sim.system();
      const ref = await system.start(supervisor({ children: [{ id: "worker", start: Worker }] }));
      system.exit(ref.pid, "kill");
      await sim.quiet();
      expect(system.population).toBe(0);
    });
  });

  test("passes when that check is off", () => passes(family(true), { orphans: false }));
});

describe("monitors", () => {
  /** Asks under a monitor of its own each time, and takes that away again or not. */
  const asking = (tidy: boolean) => async (sim: Simulation) => {
    const system = sim.system({ name: "shop" });
    const shelf = system.spawn<Question>(
      { handle: (ctx, { to }) => ctx.reply(to, "tea") },
      { label: "shelf" },
    );
    const clerk = system.spawn<string>(
      {
        handle: async (ctx) => {
          const watch: Monitor = ctx.monitor(shelf);
          await ctx.call(shelf, question);
          if (tidy) ctx.demonitor(watch);
        },
      },
      { label: "clerk" },
    );
    for (const message of ["a", "b", "c"]) system.send(clerk, message);
    await sim.quiet();
  };

  test("several of one process on the same other are found", async () => {
    const error = await findingOf(asking(false));
    expect(error).toBeInstanceOf(LeftBehindError);
    expect((error as LeftBehindError).findings).toEqual([
      "shop/clerk has 3 monitors on shop/shelf: demonitor those that are no longer needed",
    ]);
  });

  test("those that were taken away are not", () => passes(asking(true)));

  test("nor is one on each of several others", async () => {
    await passes(async (sim) => {
      const system = sim.system();
      const others = [1, 2, 3].map(() => system.spawn({ handle: () => undefined }));
      const init = (ctx: Context<string>): void => {
        for (const pid of others) ctx.monitor(pid);
      };
      system.spawn<string>({ init, handle: () => undefined });
      await sim.quiet();
    });
  });

  test("passes when that check is off", () => passes(asking(false), { monitors: false }));
});

describe("mailboxes", () => {
  /** A worker that is sent a job every 10 ms, and waits for a foreman who has forgotten him. */
  const busy = (forgotten: boolean) => async (sim: Simulation) => {
    const system = sim.system({ name: "shop" });
    const foreman = system.spawn<Question>(
      { handle: (ctx, { to }) => (forgotten ? undefined : ctx.reply(to, "go on")) },
      { label: "foreman" },
    );
    const worker = system.spawn<string>(
      { handle: (ctx) => ctx.call(foreman, question, { timeoutMs: Number.POSITIVE_INFINITY }) },
      { label: "worker" },
    );
    system.spawn(
      (ctx) => {
        ctx.sendInterval(worker, "a job", 10);
        return ctx.receive();
      },
      { label: "clock" },
    );
    await sim.sleep(200);
  };

  test("one that only grows is found", async () => {
    const error = await findingOf(busy(true));
    expect(error).toBeInstanceOf(LeftBehindError);
    expect((error as LeftBehindError).findings).toHaveLength(1);
    expect((error as LeftBehindError).findings[0]).toMatch(
      /^the mailbox of shop\/worker only grows: \d+ messages are queued, and the process does not take them$/,
    );
  });

  test("also one in which only those are left that a body does not want", async () => {
    const error = await findingOf(async (sim) => {
      const system = sim.system({ name: "shop" });
      const picky = system.spawn<string>(
        async (ctx) => {
          for (;;) await ctx.receive((message) => message.startsWith("tea"));
        },
        { label: "picky" },
      );
      for (let i = 0; i < 10; i++) {
        for (const message of ["tea", "milk", "tea, please"]) system.send(picky, message);
        await sim.sleep(3);
        await sim.sleep(3);
      }
    });
    expect((error as LeftBehindError).findings).toEqual([
      "the mailbox of shop/picky only grows: 10 messages are queued, and the process does not take them",
    ]);
  });

  test("one that is emptied now and then is not", () => passes(busy(false)));

  test("nor is one that is deep for a while", async () => {
    await passes(async (sim) => {
      const system = sim.system();
      const worker = system.spawn<string>(async (ctx) => {
        for (;;) {
          await ctx.receive((message) => message === "go");
          for (let i = 0; i < 20; i++) await ctx.receive();
        }
      });
      for (let i = 0; i < 20; i++) {
        system.send(worker, `job ${i}`);
        await sim.sleep(1);
      }
      system.send(worker, "go");
      await sim.quiet();
    });
  });

  test("passes when that check is off", () => passes(busy(true), { mailboxes: false }));
});

describe("cycles", () => {
  /** Each of a circle of clerks asks the next one before it answers. */
  function circle(sim: Simulation, size: number): Pid<Question>[] {
    const system = sim.system({ name: "shop" });
    const clerks: Pid<Question>[] = [];
    for (let i = 0; i < size; i++)
      clerks.push(
        system.spawn<Question>(
          {
            handle: async (ctx, { to }) => {
              const next = clerks[(i + 1) % size] as Pid<Question>;
              ctx.reply(to, await ctx.call(next, question));
            },
          },
          { label: `clerk${i}` },
        ),
      );
    system.call(clerks[0] as Pid<Question>, question).catch(() => undefined);
    return clerks;
  }

  test("processes that wait for each other's replies are found, before any of them gives up", async () => {
    const error = await findingOf(async (sim) => {
      circle(sim, 3);
      await sim.quiet();
      await sim.sleep(60_000);
    });
    expect(error).toBeInstanceOf(WaitCycleError);
    expect(error.message).toMatch(
      /^processes wait for each other: shop\/clerk0 calls shop\/clerk1 calls shop\/clerk2 calls shop\/clerk0;/,
    );
  });

  test("also when the circle is a part of the chain only, and then it alone is named", async () => {
    const error = await findingOf(async (sim) => {
      const system = sim.system({ name: "shop" });
      const customer = system.spawn<Pid<Question>>(
        async (ctx) => {
          await ctx.call(await ctx.receive(), question);
        },
        { label: "customer" },
      );
      const clerks: Pid<Question>[] = [];
      for (const other of [1, 0])
        clerks.push(
          system.spawn<Question>(
            {
              handle: async (ctx, { to }) =>
                ctx.reply(to, await ctx.call(clerks[other] as Pid<Question>, question)),
            },
            { label: `clerk${1 - other}` },
          ),
        );
      system.send(customer, clerks[0] as Pid<Question>);
      await sim.quiet();
    });
    expect(error.message).toContain("wait for each other: shop/clerk0 calls shop/clerk1 calls shop/clerk0;");
  });

  test("also when they are at their start, or at their end", async () => {
    const starting = await findingOf(async (sim) => {
      const system = sim.system({ name: "shop" });
      const pids: Pid<Question>[] = [];
      const init = (other: number) => (ctx: Context<Question>) =>
        ctx.call(pids[other] as Pid<Question>, question);
      for (const other of [1, 0])
        pids.push(
          system.spawn<Question>(
            { init: init(other), handle: () => undefined },
            { label: `clerk${1 - other}` },
          ),
        );
      await sim.quiet();
    });
    expect(starting).toBeInstanceOf(WaitCycleError);
    expect(starting.message).toContain("shop/clerk0 calls shop/clerk1 calls shop/clerk0");
  });

  test("a chain of calls is no circle", async () => {
    await passes(async (sim) => {
      const system = sim.system();
      let last = system.spawn<Question>({ handle: (ctx, { to }) => ctx.reply(to, "tea") });
      for (let i = 0; i < 4; i++) {
        const next = last;
        last = system.spawn<Question>({
          handle: async (ctx, { to }) => ctx.reply(to, await ctx.call(next, question)),
        });
      }
      expect(await system.call(last, question)).toBe("tea");
    });
  });

  test("nor is asking each other between messages, with `ask`", async () => {
    await passes(async (sim) => {
      const system = sim.system();
      const pids: Pid<Question | "go">[] = [];
      let heard = 0;
      for (const other of [1, 0])
        pids.push(
          system.spawn<Question | "go">({
            handle: (ctx, message) => {
              if (message !== "go") ctx.reply(message.to, "tea");
              else ctx.ask(pids[other] as Pid<Question>, question, () => heard++);
            },
          }),
        );
      for (const pid of pids) system.send(pid, "go");
      await sim.quiet();
      expect(heard).toBe(2);
    });
  });

  test("nor is a call to a process that calls back while it awaits another process", async () => {
    await passes(async (sim) => {
      const system = sim.system();
      const late = system.spawn<Question>({
        handle: async (ctx, { to }) => {
          await sim.sleep(10);
          ctx.reply(to, "at last");
        },
      });
      const pids: Pid<Question>[] = [];
      let heard = "";
      pids.push(
        system.spawn<Question>({
          init: (ctx) => {
            ctx.ask(pids[1] as Pid<Question>, question, (reply) => {
              heard = reply.ok ? String(reply.value) : "nothing";
            });
          },
          handle: async (ctx, { to }) => ctx.reply(to, await ctx.call(late, question)),
        }),
        system.spawn<Question>({
          handle: async (ctx, { to }) => ctx.reply(to, await ctx.call(pids[0] as Pid<Question>, question)),
        }),
      );
      await sim.sleep(20);
      expect(heard).toBe("at last");
    });
  });

  test("passes when that check is off", async () => {
    await passes(
      async (sim) => {
        circle(sim, 3);
        await sim.sleep(60_000);
      },
      { cycles: false },
    );
  });
});

describe("awaits", () => {
  /** A clerk whose code awaits what nobody settles. */
  const lost = async (sim: Simulation): Promise<void> => {
    const system = sim.system({ name: "shop" });
    const clerk = system.spawn<string>({ handle: () => new Promise(() => undefined) }, { label: "clerk" });
    system.send(clerk, "go");
    await sim.quiet();
  };

  test("code that awaits an unsettled promise at the end is found", async () => {
    const error = await findingOf(lost);
    expect(error).toBeInstanceOf(UncontrolledAwaitError);
    expect(error.message).toMatch(/^shop\/clerk awaits something that the simulator does not control/);
  });

  test("a process that waits at the end for a message or a reply is not", async () => {
    await passes(async (sim) => {
      const system = sim.system();
      const silent = system.spawn<Question>({ handle: () => undefined });
      system.spawn((ctx) => ctx.receive());
      system.spawn((ctx) => ctx.call(silent, question));
      system.spawn(() => sim.sleep(1_000));
      await sim.quiet();
    });
  });

  test("passes when that check is off", () => passes(lost, { awaits: false }));
});

describe("a schedule that is stuck", () => {
  test("shows which code waits for which promise, and where", async () => {
    const error = await findingOf(async (sim) => {
      const system = sim.system({ name: "shop" });
      const silent = system.spawn<Question>({ handle: () => undefined }, { label: "silent" });
      system.spawn((ctx) => ctx.receive(), { label: "listener" });
      await system.call(silent, question, { timeoutMs: Number.POSITIVE_INFINITY });
    });
    expect(error).toBeInstanceOf(StuckError);
    expect(error.message).toMatch(
      /^ {2}scenario awaits a call to shop\/silent: .* at .*checks\.spec\.ts:\d+:\d+$/m,
    );
    expect(error.message).toMatch(/^ {2}shop\/listener awaits a receive, .* at .*checks\.spec\.ts:\d+:\d+$/m);
    expect(error.message).not.toContain("shop/silent awaits");
  });

  test("also when the scenario waits for itself", async () => {
    const error = await findingOf(() => new Promise(() => undefined));
    expect(error).toBeInstanceOf(StuckError);
    expect(error.message).toMatch(
      /^ {2}scenario awaits something of its own at .*checks\.spec\.ts:\d+:\d+$/m,
    );
  });

  test("is none while a timer is set", async () => {
    await passes(async (sim) => {
      const system = sim.system();
      const waiting = system.spawn<string>((ctx) => ctx.receive());
      system.sendAfter(waiting, "wake up", 3_600_000);
      expect(await system.exited(waiting)).toEqual({ type: "normal" });
    });
  });

  test("all of it is off with `checks: false`, but for being stuck", async () => {
    const all: Scenario = async (sim) => {
      const system = sim.system({ name: "shop" });
      const clerk = system.spawn<string>({ handle: () => new Promise(() => undefined) });
      const watcher = system.spawn<string>({
        init: (ctx) => void [ctx.monitor(clerk), ctx.monitor(clerk)],
        handle: () => undefined,
      });
      system.send(clerk, "go");
      system.send(watcher, "go");
      await sim.quiet();
    };
    await passes(all, false);
    const error = await causeOf((sim) => Promise.all([all(sim), new Promise(() => undefined)]), {
      checks: false,
    });
    expect(error).toBeInstanceOf(UncontrolledAwaitError);
  });
});
