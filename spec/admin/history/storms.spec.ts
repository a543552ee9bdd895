// Storms and hostile values: what a history folds, how little it reads, and that nothing that a user throws or sends harms a system that is
// looked at, or stays in its memory.

import { type Callbacks, custom, type Pid, System, stop, supervisor } from "signalbox";
import { expect, onTestFinished, test, vi } from "vitest";
import { historyFor } from "../../../lib/admin/history/history.js";
import { KernelOperations } from "../../../lib/admin/system/kernel-operations.js";
import { left } from "../../support/collected.js";
import { HOSTILE, Unreadable } from "../../support/hostile-values.js";
import { shop } from "./bench.js";

test("100,000 dead letters to one address within a second are one incident, whose text is built once [N1524]", async () => {
  const { clock, system, one } = await shop();
  const clerk = system.spawn<object>({ handle: () => stop() }, { label: "clerk" });
  system.send(clerk, {});
  await clock.settle();
  expect(system.isAlive(clerk)).toBe(false);
  const built = vi.spyOn(JSON, "parse");
  const message = new Proxy({}, { get: () => expect.unreachable("nothing reads a message") });
  for (let i = 0; i < 100_000; i++) system.send(clerk, message);
  expect(built.mock.calls.length).toBeLessThan(10);
  built.mockRestore();
  expect(await one("deadLetter")).toMatchObject({
    count: 100_000,
    label: "clerk",
    pid: `shop.${clerk.id}`,
    reason: "noproc",
    text: `a message to clerk (shop.${clerk.id}) reached no process: noproc`,
  });
});

test("dead letters to very many addresses are 64 incidents a second and one more, and a crash among them stands by itself [N1524]", async () => {
  const { clock, system, all, one } = await shop();
  for (let i = 0; i < 10_000; i++) system.send(`nobody-${i}`, i);
  system.send(system.spawn<string>({ handle: () => stop(new Error("boom")) }, { label: "clerk" }), "go");
  await clock.settle();
  const letters = await all("deadLetter");
  expect(letters).toHaveLength(65);
  expect(letters[0]).toMatchObject({ label: "nobody-0", count: 1 });
  expect(letters.at(-1)).toMatchObject({
    count: 10_000 - 64,
    text: expect.stringMatching(/^more of this kind/),
  });
  expect(await one("crash")).toMatchObject({ label: "clerk" });
});

test("a child that is restarted without limit 1,000 times a second is one crash and one restart, with their counts [N1524]", async () => {
  const { clock, system, one } = await shop();
  let starts = 0;
  const child: Callbacks<string> = {
    init: (ctx) => {
      if (++starts <= 1_000) ctx.send(ctx.self, "go");
    },
    handle: () => stop(new Error("boom")),
  };
  await system.start(
    supervisor({
      label: "floor",
      intensity: Number.POSITIVE_INFINITY,
      children: [{ id: "clerk", start: child }],
    }),
  );
  await clock.settle();
  const crash = await one("crash");
  expect(crash).toMatchObject({ count: 1_000, label: "clerk", last: "message string" });
  expect(await one("restart")).toMatchObject({
    count: 1_000,
    cause: crash.number,
    restart: { intensity: null, intensityLeft: null },
  });
});

test("of discarded replies, which cost an error each, 16 a second are described, and all are counted [N1524]", async () => {
  const { clock, system, all } = await shop();
  const sleepy = system.spawn<{ replyTo: never }>(
    {
      handle: (ctx, { replyTo }) => {
        ctx.runAfter(50, () => ctx.reply(replyTo, "late"));
      },
    },
    { label: "sleepy" },
  );
  const calls = Array.from({ length: 500 }, () =>
    system
      .call(sleepy, (replyTo) => ({ replyTo: replyTo as never }), { timeoutMs: 10 })
      .catch(() => undefined),
  );
  const { kernel } = system;
  const discard = kernel.discardReply.bind(kernel);
  let described = 0;
  kernel.discardReply = (describe) =>
    discard(() => {
      described++;
      return describe();
    });
  await clock.advance(100);
  await Promise.all(calls);
  expect(described).toBe(16);
  const replies = await all("discardedReply");
  expect(replies.reduce((sum, { count }) => sum + count, 0)).toBe(500);
  expect(replies).toMatchObject([{ label: "sleepy", text: expect.stringContaining("LateReplyError") }]);
});

/** Errors and reasons that do harm when they are read. */
function hostileErrors(): readonly unknown[] {
  const thrown = (): never => {
    throw new Unreadable();
  };
  const getters = new Error("getters");
  for (const name of ["name", "message", "code", "cause"])
    Object.defineProperty(getters, name, { get: thrown });
  const long = new Error("x".repeat(1_000_000));
  long.name = "\u001b[31mred\u202e".repeat(10_000);
  const odd = Object.assign(new Error("odd"), { name: 7, message: {}, stack: ["a"], code: Symbol("x") });
  const { proxy, revoke } = Proxy.revocable(new Error("revoked"), {});
  revoke();
  const unreadable = new Proxy(new Error("proxy"), { get: thrown });
  const stacks = new Error("stacks");
  stacks.stack = `Error: stacks\n${"    at user (file:///shop/a.js:1:1)\n".repeat(100_000)}`;
  return [
    getters,
    long,
    odd,
    proxy,
    unreadable,
    stacks,
    ...Object.values(HOSTILE),
    "<img src=x onerror=alert(1)>",
  ];
}

test("whatever a process throws, or is at work on, it ends as without a history, and the incident is short plain text [N1525]", async () => {
  const { clock, system, all } = await shop();
  const ends: string[] = [];
  for (const [i, error] of hostileErrors().entries()) {
    const pid = system.spawn<unknown>(
      {
        handle: () => {
          throw error;
        },
      },
      { label: `victim-${i}` },
    );
    system.spawn<never>({
      init: (ctx) => void ctx.monitor(pid),
      handle: () => undefined,
      signal: (_ctx, signal) => void (signal.type === "down" && ends.push(signal.reason.type)),
    });
    await clock.settle();
    system.send(pid, HOSTILE.unreadable);
    await clock.settle();
    expect(system.isAlive(pid)).toBe(false);
  }
  expect(ends).toEqual(hostileErrors().map(() => "crash"));
  const crashes = await all("crash");
  expect(crashes).toHaveLength(ends.length);
  for (const crash of crashes) {
    expect(crash.last).toBe("message object");
    expect(JSON.stringify(crash).length).toBeLessThan(6_000);
    expect(JSON.stringify(crash)).not.toMatch(/\\u001b|\u202e/);
    expect(crash.error?.frames.length ?? 0).toBeLessThanOrEqual(12);
  }
  expect(crashes.find(({ error }) => error?.message === "stacks")?.error).toMatchObject({
    frames: Array.from({ length: 12 }, () => "at user (file:///shop/a.js:1:1)"),
  });
});

test("an error that crashes other processes while it is read leaves their incidents whole [N1525]", async () => {
  const { clock, system, all } = await shop();
  const others: Pid<unknown>[] = [];
  const error = new Error("first");
  Object.defineProperty(error, "message", {
    get: () => {
      const next = others.pop();
      if (next !== undefined) system.exit(next, custom("fallen"));
      return "first";
    },
  });
  for (let i = 0; i < 5; i++) others.push(system.spawn({ handle: () => undefined }, { label: `other-${i}` }));
  const first = system.spawn<string>({ handle: () => stop(error) }, { label: "first" });
  system.send(first, "go");
  await clock.settle();
  const crashes = await all("crash");
  expect(crashes.map(({ label }) => label).sort()).toEqual([
    "first",
    ...["other-0", "other-1", "other-2", "other-3", "other-4"],
  ]);
  for (const { text, label } of crashes) expect(text).toContain(label);
});

test("labels, names and ids of any length are cut, also in the keys that fold [N1525]", async () => {
  const { clock, system, all } = await shop();
  const long = "label".repeat(100_000);
  const clerk = system.spawn<string>({ handle: () => stop(new Error(long)) }, { label: long });
  system.send(clerk, "go");
  system.send(long, "lost");
  await clock.settle();
  expect(JSON.stringify(await all()).length).toBeLessThan(10_000);
  const kept = [...historyFor(system.kernel).state.rings.values()].flatMap(({ open }) => [...open.keys()]);
  for (const key of kept) expect(key.length).toBeLessThan(1_000);
});

/** Runs other processes: the run queue refers to those that ran last. */
async function others(system: System): Promise<void> {
  for (let i = 0; i < 5_000; i++) system.spawn(() => undefined);
  await system.idle();
}

test("an incident keeps neither the error nor the message that it is about in memory [N1525]", async () => {
  const system = new System({ name: "shop", report: false });
  onTestFinished(() => system.stop({ timeoutMs: 0 }));
  const on = new KernelOperations(system.kernel);
  await on.recent();
  const refs: WeakRef<object>[] = [];
  const crash = async (): Promise<void> => {
    const error = new Error("boom");
    const message = { order: 1 };
    refs.push(new WeakRef(error), new WeakRef(message));
    const clerk = system.spawn<object>(
      { handle: async () => stop(error) },
      { label: `clerk-${refs.length}` },
    );
    system.send(clerk, message);
    await system.idle();
    system.send(clerk, message);
  };
  for (let i = 0; i < 10; i++) await crash();
  await others(system);
  // The last ones may be in a register.
  expect(await left(refs)).toBeLessThanOrEqual(2);
  expect(await on.recent({ kind: "crash" })).toHaveLength(10);
});

test("a text that is cut does not keep the whole in memory [N1525]", async () => {
  const system = new System({ name: "shop", report: false });
  onTestFinished(() => system.stop({ timeoutMs: 0 }));
  const on = new KernelOperations(system.kernel);
  await on.recent();
  const used = async (): Promise<number> => {
    await left([]);
    return process.memoryUsage().heapUsed;
  };
  const before = await used();
  const crash = async (i: number): Promise<void> => {
    const text = `${i} ${"x".repeat(4_000_000)}`;
    const clerk = system.spawn<string>({ handle: () => stop(new Error(text)) }, { label: `clerk-${i}` });
    system.send(clerk, "go");
    await system.idle();
    system.send(text.slice(0, 200), "lost");
  };
  for (let i = 0; i < 20; i++) await crash(i);
  await others(system);
  for (const kind of ["crash", "deadLetter"]) expect(await on.recent({ kind })).toHaveLength(20);
  expect((await used()) - before).toBeLessThan(30_000_000);
});

test("no incident shows what a message holds, whatever the reports of the system show [N1526]", async () => {
  const redact = vi.fn((message: unknown) => message);
  const { clock, system, all } = await shop({ report: { to: () => undefined, messages: true, redact } });
  class Card {
    readonly number = "4711-0815";
  }
  const fail = (): never => {
    throw new Error("declined");
  };
  const kinds: Callbacks<unknown>[] = [{ handle: fail }, { handle: async () => fail() }];
  const messages = [
    new Card(),
    "4711-0815",
    ["4711-0815"],
    { "4711-0815": "4711-0815" },
    Symbol("4711-0815"),
    47110815n,
  ];
  for (const behaviour of kinds)
    for (const message of messages) {
      const clerk = system.spawn<unknown>(behaviour, { label: "clerk" });
      system.send(clerk, message);
      await clock.settle();
      system.send(clerk, message);
      await expect(system.call(clerk, () => message)).rejects.toThrow();
    }
  const body = system.spawn<unknown>(async (ctx) => {
    await ctx.receive();
    fail();
  });
  system.send(body, new Card());
  await clock.settle();
  const text = JSON.stringify(await all());
  expect(text).toContain("message Card");
  expect(text).not.toMatch(/4711|0815/);
});
