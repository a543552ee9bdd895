// Each step has to declare what it reads and changes. An instrument watches the raw fields of the kernel while scenarios use many
// features, and finds each use that the footprint of its step does not cover.

import {
  ConsumerGroup,
  consumer,
  defineServer,
  dynamicSupervisor,
  type Pid,
  type ReplyTo,
  type System,
  supervisor,
  type TimerRef,
} from "signalbox";
import { exhaustive, explore, type Scenario, type Simulation } from "signalbox/testing";
import { describe, expect, test } from "vitest";
import { SharedState } from "../../../lib/process/shared-state.js";
import { Undeclared } from "../support/undeclared.js";

const Till = defineServer({
  init: (_ctx, left: number) => ({ left }),
  calls: { take: (state, n: number) => (state.left -= n) },
  casts: {
    put: (state, n: number) => {
      state.left += n;
    },
  },
});

/** Looks at everything that a system shows. */
function look(system: System, pid: Pid): void {
  system.info(pid);
  system.isAlive(pid);
  system.whereis("clerk");
  system.members("clerks");
  void system.population;
  void system.deadLetters;
  void system.stopped;
  system.processes();
}

/** Processes that use each other in most ways there are. */
const busy: Scenario = async (sim) => {
  const system = sim.system({ limits: { highWater: 2 } });
  const controller = new AbortController();
  const timers: TimerRef[] = [];
  const asked: ReplyTo<number>[] = [];
  const clerk = system.spawn<ReplyTo<number> | string>(
    {
      init: (ctx) => {
        ctx.join("clerks");
        ctx.trapExit(true);
        timers.push(
          ctx.runAfter(5, () => undefined),
          ctx.sendInterval(ctx.self, "tick", 4),
        );
      },
      handle: (ctx, message) => {
        if (typeof message === "string") for (const replyTo of asked) ctx.reply(replyTo, 1);
        else if (message.open) asked.push(message);
      },
      signal: () => undefined,
    },
    { name: "clerk", mailbox: { capacity: 2, overflow: "drop-oldest" } },
  );
  const other = system.spawn(async (ctx) => {
    ctx.link(clerk);
    const ref = ctx.monitor("clerk");
    ctx.monitorGroup("clerks");
    await ctx
      .call(clerk, (replyTo: ReplyTo<number>) => replyTo, { timeoutMs: 5, signal: controller.signal })
      .catch(() => undefined);
    ctx.demonitor(ref, { flush: true });
    ctx.unlink(clerk, { flush: true });
    ctx.spawnLink((child) => void child.trapExit(true), { label: "child" });
    await ctx.receiveAny({ timeoutMs: 5, signal: controller.signal }).catch(() => undefined);
    await ctx.call(clerk, (replyTo: ReplyTo<number>) => replyTo, { timeoutMs: Number.POSITIVE_INFINITY });
  });
  system.spawn(async (ctx) => {
    /** What follows is a step of its own. */
    const next = (): Promise<unknown> => ctx.receive({ timeoutMs: 0 }).catch(() => undefined);
    look(system, clerk);
    await next();
    ctx.send("nobody", "?");
    ctx.spawn(() => undefined);
    await next();
    system.events.once("exit", () => undefined);
    system.unregister("clerk");
    await next();
    for (const timer of timers) ctx.cancel(timer);
    controller.abort();
    await next();
    ctx.exit(other, "kill");
    await system.exited(other);
    system.register("again", clerk);
    ctx.exit(clerk, "kill");
  });
  await sim.sleep(20);
  await system.stop();
};

/** Servers and supervisors, which restart. */
const services: Scenario = async (sim) => {
  const system = sim.system();
  const top = supervisor({
    intensity: 5,
    children: [
      { id: "till", name: "till", start: Till, args: [10] },
      { id: "workers", start: dynamicSupervisor({ child: { id: "worker", start: Till } }) },
    ],
  });
  await system.start(top);
  const till = Till.at(system, "till");
  void till.call.take(1).catch(() => undefined);
  till.cast.put(2);
  system.exit("till", "kill");
  await sim.sleep(1_000);
  await system.stop();
};

/** Consumers, and a dispatch that is tried again. */
const orders: Scenario = async (sim: Simulation) => {
  const system = sim.system();
  const group = new ConsumerGroup<number>({ patienceMs: 100, maxAttempts: 2 });
  for (let i = 0; i < 2; i++) system.spawn(consumer((n: number) => void n, { group }));
  const sent = system.dispatch(group, 1).catch(() => undefined);
  system.exit(system.processes()[0] as Pid, "kill");
  await sent;
  await system.stop();
};

/**
 * No field shows the order of processes, nor the signals of the host; a record that only names an object is none. Without
 * `listed` or `created`, outcomes.spec.ts fails, and without `waits` proofs/call-cycles.spec.ts. For `listedRoots` and `signals` no
 * scenario is known that other records do not cover. The last two are for the floors above.
 */
const UNSEEN = ["constructor", "listed", "listedRoots", "signals", "created", "waits", "part", "of"];

/** What steps of the first schedules use without declaring it. */
async function undeclaredIn(scenario: Scenario, schedules: number): Promise<string[]> {
  const undeclared = new Undeclared();
  await undeclared.during(() =>
    explore(
      (sim) => {
        undeclared.watch(sim);
        return scenario(sim);
      },
      { strategy: exhaustive(), schedules, recheck: 0, checks: false },
    ),
  );
  return [...undeclared.found.values()];
}

describe("each step declares what it uses of the kernel's state:", () => {
  test("processes that use each other in most ways [V35]", async () => {
    expect(await undeclaredIn(busy, 300)).toEqual([]);
  });

  test("servers and supervisors [V35]", async () => {
    expect(await undeclaredIn(services, 100)).toEqual([]);
  });

  test("consumers and dispatches [V35]", async () => {
    expect(await undeclaredIn(orders, 100)).toEqual([]);
  });

  test.each(Object.getOwnPropertyNames(SharedState.prototype).filter((name) => !UNSEEN.includes(name)))(
    "without the records of `%s` a use is found",
    async (name) => {
      const real = Reflect.get(SharedState.prototype, name) as unknown;
      Reflect.set(SharedState.prototype, name, () => undefined);
      try {
        const found = await undeclaredIn(busy, 5);
        expect(found.length > 0 ? found : await undeclaredIn(busy, 50)).not.toEqual([]);
      } finally {
        Reflect.set(SharedState.prototype, name, real);
      }
    },
  );
});
