// The history of a system that runs: crashes of supervised processes with their causes and consequences, by the kernel and nothing else.

import { type Callbacks, custom, defineServer, type Pid, stop, supervisor } from "signalbox";
import { describe, expect, test } from "vitest";
import { gate } from "../../support/gate.js";
import { shop } from "./bench.js";

class Order {
  readonly card = "4711-secret";
}

const Till = defineServer({
  init: () => ({ cash: 0 }),
  calls: {
    pay: (state, n: number) => {
      if (n < 0) throw new RangeError(`cannot pay ${n}`);
      state.cash += n;
    },
  },
  casts: {
    burn: (_state, _order: Order) => {
      throw new TypeError("burnt");
    },
  },
});

describe("a crash of a supervised process", () => {
  test("is kept with its reason, its path, the user's frames and the kind of its last message, and is the cause of its restart [N1522]", async () => {
    const { clock, system, one } = await shop();
    const Floor = supervisor({
      label: "floor",
      strategy: "rest_for_one",
      intensity: 3,
      periodMs: 4_000,
      children: [
        { id: "clerk", start: Till },
        { id: "till", name: "till", start: Till },
        { id: "scale", start: Till },
        { id: "bell", start: Till },
      ],
    });
    await system.start(Floor);
    const till = Till.at(system, "till");
    const pid = system.whereis("till");
    await expect(till.call.pay(-1)).rejects.toThrow();
    await clock.settle();
    const crash = await one("crash");
    expect(crash).toMatchObject({
      kind: "crash",
      count: 1,
      pid: `shop.${pid?.id}`,
      label: "till",
      path: "shop/floor/till",
      reason: "crash, RangeError: cannot pay -1",
      last: "call pay",
      error: { name: "RangeError", message: "cannot pay -1" },
    });
    expect(crash.error?.frames[0]).toMatch(/history\.spec\.ts:\d+/);
    expect(crash.error?.frames.join("\n")).not.toMatch(/lib\/process|node:internal/);
    expect(crash.error?.hidden).toBeGreaterThan(0);
    const restart = await one("restart");
    expect(restart).toMatchObject({
      cause: crash.number,
      label: "till",
      path: "shop/floor/till",
      reason: "crash, RangeError: cannot pay -1",
      restart: {
        supervisorLabel: "floor",
        id: "till",
        strategy: "rest_for_one",
        siblings: ["scale", "bell"],
        intensity: 3,
        intensityLeft: 2,
        periodMs: 4_000,
        delayMs: 0,
      },
    });
    expect(restart.pid).toBe(restart.restart?.supervisor);
  });

  test("says the kind of a cast, of a message, of a signal, and what a function body took last [N1522]", async () => {
    const { clock, system, all } = await shop();
    const fail = (): never => {
      throw new Error("no");
    };
    const plain = system.spawn<Order>({ handle: fail }, { label: "plain" });
    const later = system.spawn<object>({ handle: async () => fail() }, { label: "later" });
    const text = system.spawn<string>({ handle: fail }, { label: "text" });
    const trapping = system.spawn<never>(
      { init: (ctx) => void ctx.trapExit(true), handle: () => undefined, signal: fail },
      { label: "trapping" },
    );
    const timed = system.spawn<never>(
      { init: (ctx) => void ctx.runAfter(1, fail), handle: () => undefined },
      { label: "timed" },
    );
    const body = system.spawn<number[]>(
      async (ctx) => {
        await ctx.receive();
        fail();
      },
      { label: "body" },
    );
    const busy = system.spawn<Order>({ handle: () => new Promise(() => undefined) }, { label: "busy" });
    const server = await system.start(Till);
    await clock.settle();
    system.send(plain, new Order());
    system.send(later, { type: "order" });
    system.send(text, "4711");
    system.spawn((ctx) => ctx.exit(trapping, custom("x")));
    system.send(body, [1, 2]);
    system.send(busy, new Order());
    server.cast.burn(new Order());
    await clock.advance(1);
    system.exit(busy, "kill");
    expect(system.isAlive(timed)).toBe(false);
    const lasts = (await all("crash")).map(({ label, last }) => [label, last]);
    expect(Object.fromEntries(lasts)).toEqual({
      plain: "message Order",
      later: "message object",
      text: "message string",
      trapping: "signal exit",
      body: "message array of 2",
      busy: "message Order",
      timed: "timer or task",
      server: "cast burn",
    });
    expect(JSON.stringify(await all())).not.toMatch(/4711/);
  });

  test("names a supervisor that gives up, and the restart above it by its cause [N1522]", async () => {
    const { clock, system, all, one } = await shop();
    const worker = { handle: () => stop(new Error("boom")) };
    const Floor = supervisor({
      intensity: 1,
      periodMs: 1_000,
      children: [{ id: "clerk", name: "clerk", start: worker }],
    });
    await system.start(
      supervisor({
        label: "house",
        intensity: 5,
        children: [{ id: "floor", start: Floor, type: "supervisor" }],
      }),
    );
    for (let i = 0; i < 2; i++) {
      system.send("clerk", "go");
      await clock.settle();
    }
    const crashes = await all("crash");
    const restarts = await all("restart");
    const gaveUp = await one("gaveUp");
    // The same crash twice within a second is one incident.
    expect(crashes).toMatchObject([{ label: "clerk", count: 2, path: "shop/house/floor/clerk" }]);
    expect(gaveUp).toMatchObject({
      cause: crashes[0]?.number,
      restart: { id: "clerk", intensity: 1, intensityLeft: -1 },
    });
    expect(restarts).toMatchObject([
      { cause: crashes[0]?.number, restart: { id: "clerk", intensityLeft: 0 } },
      {
        cause: gaveUp.number,
        label: "floor",
        restart: { supervisorLabel: "house", id: "floor" },
        reason: "shutdown",
      },
    ]);
    expect(gaveUp.text).toMatch(/gives up: more than 1 restarts within 1000 ms/);
  });

  test("counts the processes that end with it along links: their restarts come from the same crash [N1522]", async () => {
    const { clock, system, all, one } = await shop();
    const helper: Callbacks<string> = {
      handle: () => {
        throw new Error("helper");
      },
    };
    let helps: Pid<string> | undefined;
    const worker: Callbacks<never> = {
      init: (ctx) => {
        helps = ctx.spawnLink(helper, { label: "helper" });
        for (const label of ["mate", "mate"]) ctx.spawnLink({ handle: () => undefined }, { label });
      },
      handle: () => undefined,
    };
    await system.start(
      supervisor({ label: "floor", intensity: 9, children: [{ id: "worker", start: worker }] }),
    );
    system.send(helps as Pid<string>, "go");
    await clock.settle();
    const crash = await one("crash");
    expect(crash).toMatchObject({ label: "helper", count: 1, linked: 3, last: "message string" });
    expect(await all("restart")).toMatchObject([{ cause: crash.number, restart: { id: "worker" } }]);
  });

  test("is the cause of the letters that do not reach it, and of what its code throws later [N1522]", async () => {
    const { clock, system, all, one } = await shop();
    const late = gate();
    const clerk = system.spawn<string>(
      {
        handle: async () => {
          await late.promise;
          throw new Error("too late");
        },
      },
      { label: "clerk" },
    );
    for (const text of ["first", "second"]) system.send(clerk, text);
    await clock.settle();
    system.exit(clerk, custom("fallen"));
    for (let i = 0; i < 3; i++) system.send(clerk, "third");
    late.open();
    await clock.settle();
    const { number: cause } = await one("crash");
    expect(await one("lateError")).toMatchObject({ cause, label: "clerk" });
    const letters = await all("deadLetter");
    expect(letters).toMatchObject([
      { cause, reason: "exited", count: 1 },
      { cause, reason: "noproc", count: 3 },
    ]);
  });

  test("is told from that of a sibling that ended with the same reason [N1522]", async () => {
    const { clock, system, all } = await shop();
    const reason = custom("full");
    const worker: Callbacks<string> = { handle: () => stop(reason) };
    const children = ["a", "b", "c"].map((id) => ({ id, name: id, start: worker }));
    await system.start(supervisor({ intensity: 9, children }));
    for (const { name } of children) system.send(name, "go");
    await clock.settle();
    const crashes = new Map((await all("crash")).map(({ number, label }) => [number, label]));
    expect([...crashes.values()]).toEqual(["a", "b", "c"]);
    const restarts = await all("restart");
    expect(restarts.map(({ cause }) => crashes.get(cause as number))).toEqual(
      restarts.map(({ label }) => label),
    );
  });

  test("while it starts says so, and one that was killed is the cause of its restart [N1522]", async () => {
    const { clock, system, all } = await shop();
    let starts = 0;
    const late = {
      init: () => {
        if (++starts === 2) throw new Error("not now");
      },
      handle: () => undefined,
    };
    await system.start(
      supervisor({ label: "floor", intensity: 9, children: [{ id: "late", name: "late", start: late }] }),
    );
    system.exit("late", "kill");
    await clock.settle();
    const [killed, started] = await all("crash");
    expect(killed).toMatchObject({ label: "late", reason: "killed" });
    expect(started).toMatchObject({ label: "late", text: expect.stringContaining("while it started") });
    const causes = (await all("restart")).map(({ cause }) => cause);
    expect(causes).toEqual([killed?.number, started?.number]);
  });
});
