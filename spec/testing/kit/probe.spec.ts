// A probe: what it records, what may be expected of it, and what it says when something else happens.

import { fc, test as property } from "@fast-check/vitest";
import { custom, type Pid, type ReplyTo, System, shutdown } from "signalbox";
import { afterEach, beforeEach, describe, expect, expectTypeOf, test } from "vitest";
import { type TestClock, testClock } from "../../../lib/testing/kit/clock.js";
import { ExpectationError, type Probe, probe } from "../../../lib/testing/kit/probe.js";

interface Order {
  readonly item: string;
  readonly n: number;
}
interface Ask {
  readonly replyTo: ReplyTo<number>;
}

let clock: TestClock;
let system: System;
let inbox: Probe<unknown>;
let printed: string[];

beforeEach(() => {
  clock = testClock();
  printed = [];
  system = new System({ name: "shop", environment: clock.environment, report: (text) => printed.push(text) });
  inbox = probe(system);
});
afterEach(async () => {
  for (const pid of system.processes()) system.exit(pid, "kill");
  await system.stop();
});

/** Sends the messages at once, in this order. */
function send(...messages: readonly unknown[]): void {
  for (const message of messages) system.send(inbox.pid, message);
}

/** A process that waits for ever. */
function sleeper(name?: string): Pid<unknown> {
  return system.spawn<unknown>({ handle: () => undefined }, name === undefined ? {} : { name });
}

async function failure(work: Promise<unknown>): Promise<ExpectationError> {
  return work.then(
    () => expect.fail("it did not fail"),
    (error) => error,
  );
}

describe("a probe", () => {
  test("records its messages, and lists the unread ones", async () => {
    send("a", "b", "c");
    expect(inbox.messages).toEqual([]);
    await clock.settle();
    expect(inbox.messages).toEqual(["a", "b", "c"]);
    await inbox.expect("a");
    expect(inbox.messages).toEqual(["a", "b", "c"]);
    expect(inbox.unread).toEqual(["b", "c"]);
  });

  test("has a label, and a name if it is given one", async () => {
    const named = probe<string>(system, { label: "the till", name: "till" });
    system.send("till", "hello");
    await named.expect("hello");
    expect(String(named.pid)).toBe("<shop.2 the till>");
    expect(String(inbox.pid)).toBe("<shop.1 probe>");
  });

  test("is a process: it stops with its system, or before", async () => {
    const { events } = system;
    await inbox.stop();
    await inbox.stop();
    expect(system.isAlive(inbox.pid)).toBe(false);
    expect(events.listenerCount("exit")).toBe(0);
    expect(await failure(inbox.expect())).toMatchObject({ code: "ERR_CALLEE_EXITED" });
    {
      await using short = probe(system);
      expect(system.isAlive(short.pid)).toBe(true);
    }
    expect(system.population).toBe(0);
    const last = probe(system);
    await system.stop();
    expect(events.listenerCount("exit")).toBe(0);
    expect(await failure(last.expect())).toMatchObject({ code: "ERR_SYSTEM_STOPPED" });
    expect(clock.now).toBe(0);
  });

  test.each([
    [{ timeoutMs: -1 }, "timeoutMs"],
    [{ timeoutMs: Number.POSITIVE_INFINITY }, "timeoutMs"],
    [{ label: "" }, "label"],
    [{ name: "" }, "name"],
    [{ advance: 1 as unknown as boolean }, "advance"],
  ])("checks its options: %j", (options, path) => {
    expect(() => probe(system, options)).toThrow(expect.objectContaining({ code: "ERR_OPTION", path }));
  });

  test("checks the options of its expectations", async () => {
    const timeoutMs = Number.NaN;
    for (const wait of [inbox.expect("a", { timeoutMs }), inbox.fish("a", { timeoutMs })])
      expect(await failure(wait)).toMatchObject({ code: "ERR_OPTION", path: "timeoutMs" });
    for (const wait of [inbox.expectExit("a", "normal", { timeoutMs }), inbox.do(() => 1, { timeoutMs })])
      expect(await failure(wait)).toMatchObject({ code: "ERR_OPTION", path: "timeoutMs" });
    expect(await failure(inbox.expectNone({ forMs: -1 }))).toMatchObject({
      code: "ERR_OPTION",
      path: "forMs",
    });
    await inbox.expectNone();
  });
});

describe("expect", () => {
  test("takes messages one by one: an equal one, one that a predicate accepts, or any", async () => {
    send({ item: "tea", n: [1, 2] }, new Map([["a", new Set([1])]]), 17, undefined, inbox.pid);
    expect(await inbox.expect({ item: "tea", n: [1, 2] })).toEqual({ item: "tea", n: [1, 2] });
    await inbox.expect(new Map([["a", new Set([1])]]));
    expect(await inbox.expect((n) => typeof n === "number" && n > 10)).toBe(17);
    expect(await inbox.expect()).toBe(undefined);
    await inbox.expect(inbox.pid);
    await inbox.expectNone();
    expect(clock.now).toBe(0);
  });

  test("knows the type of the message that it takes", async () => {
    const orders = probe<Order | "closed">(system);
    system.send(orders.pid, { item: "tea", n: 3 });
    system.send(orders.pid, "closed");
    const order = await orders.expect((m): m is Order => m !== "closed");
    expectTypeOf(order).toEqualTypeOf<Order>();
    const closed = await orders.expect("closed");
    expectTypeOf(closed).toEqualTypeOf<Order | "closed">();
    expectTypeOf(orders.messages).toEqualTypeOf<readonly (Order | "closed")[]>();
    const wrong = (): unknown[] => [
      // @ts-expect-error no such message
      orders.expect("open"),
      // @ts-expect-error no such message
      orders.fish({ item: 3 }),
    ];
    expect(wrong).toBeTypeOf("function");
  });

  test("waits for a message, and moves the time as far as to it", async () => {
    system.sendAfter(inbox.pid, "late", 1_000);
    system.sendAfter(inbox.pid, "later", 2_000);
    await inbox.expect("late");
    expect(clock.now).toBe(1_000);
  });

  test("fails at once when another message comes first, and takes none", async () => {
    send({ item: "milk", n: 1 }, { item: "tea", n: 3 });
    const error = await failure(inbox.expect({ item: "tea", n: 3 }));
    expect(error).toBeInstanceOf(ExpectationError);
    expect(error.code).toBe("ERR_EXPECTATION");
    expect(error.message).toBe(
      "<shop.1 probe> expected the next message { item: 'tea', n: 3 }; " +
        "got [ { item: 'milk', n: 1 }, { item: 'tea', n: 3 } ]",
    );
    expect(error.expected).toEqual({ item: "tea", n: 3 });
    expect(error.actual).toEqual({ item: "milk", n: 1 });
    expect(error.unread).toEqual([
      { item: "milk", n: 1 },
      { item: "tea", n: 3 },
    ]);
    expect(clock.now).toBe(0);
    await inbox.expect({ item: "milk", n: 1 });
  });

  test("fails when nothing comes in time, which is 3,000 ms unless the probe or the expectation says otherwise", async () => {
    const error = await failure(inbox.expect("a"));
    expect(error.message).toBe("<shop.1 probe> expected the next message 'a'; nothing came within 3000 ms");
    expect(error).toMatchObject({ expected: "a", actual: undefined, unread: [] });
    expect(clock.now).toBe(3_000);
    const impatient = probe(system, { timeoutMs: 100 });
    await failure(impatient.expect());
    expect(clock.now).toBe(3_100);
    await failure(impatient.expect("a", { timeoutMs: 7 }));
    expect(clock.now).toBe(3_107);
  });

  test("accepts a message sent at the very end of the timeout, but none sent later", async () => {
    system.sendAfter(inbox.pid, "just in time", 100);
    await inbox.expect("just in time", { timeoutMs: 100 });
    system.sendAfter(inbox.pid, "too late", 100.5);
    await failure(inbox.expect("too late", { timeoutMs: 100 }));
    await inbox.expect("too late");
  });

  test("shows the predicate and its place in the test in its error", async () => {
    const isOrder = (message: unknown): boolean => typeof message === "object";
    send("hello");
    const named = await failure(inbox.expect(isOrder));
    expect(named.message).toBe("<shop.1 probe> expected a next message that fits isOrder; got [ 'hello' ]");
    expect(named).toMatchObject({ expected: undefined, actual: "hello" });
    expect(named.stack).toMatch(/probe\.spec\.ts/);
    expect((await failure(inbox.expect((m) => m === 5))).message).toContain("that fits (m) => m === 5; got");
    const silent = probe(system);
    expect((await failure(silent.expect())).message).toContain("expected a next message; nothing came");
  });

  test("passes an error of a predicate to the test, and continues", async () => {
    const oops = new Error("oops");
    const broken = (): boolean => {
      throw oops;
    };
    send("a");
    expect(await failure(inbox.expect(broken))).toBe(oops);
    expect(await failure(inbox.fish(broken))).toBe(oops);
    await inbox.expect("a");
  });

  test("is one at a time: a second is rejected, for instance after one that was not awaited", async () => {
    const first = inbox.expect("a");
    for (const second of [inbox.expect("a"), inbox.fish("a"), inbox.expectNone()])
      expect(await failure(second)).toMatchObject({ code: "ERR_RECEIVE_BUSY" });
    send("a");
    await first;
    await inbox.expectNone();
  });

  test("two probes may expect at the same time", async () => {
    const other = probe<string>(system);
    system.sendAfter(inbox.pid, "first", 10);
    system.sendAfter(other.pid, "second", 20);
    const both = Promise.all([other.expect("second"), inbox.expect("first")]);
    expect(await both).toEqual(["second", "first"]);
    expect(clock.now).toBe(20);
  });
});

describe("fish", () => {
  test("skips messages that do not match", async () => {
    send("a", "b", "c", "d");
    expect(await inbox.fish("b")).toBe("b");
    expect(await inbox.fish((m) => m !== "c")).toBe("d");
    await inbox.expectNone();
    expect(inbox.messages).toEqual(["a", "b", "c", "d"]);
  });

  test("waits for a match, whatever comes before it", async () => {
    for (const ms of [1, 2, 3, 4]) system.sendAfter(inbox.pid, ms, ms);
    await inbox.fish(3);
    expect(clock.now).toBe(3);
  });

  test("fails at the timeout, lists the messages that came instead, and skips none of them", async () => {
    for (const ms of [1, 2, 300]) system.sendAfter(inbox.pid, ms, ms);
    const error = await failure(inbox.fish(3, { timeoutMs: 100 }));
    expect(error.message).toBe("<shop.1 probe> expected the message 3; got [ 1, 2 ] within 100 ms");
    expect(error).toMatchObject({ expected: 3, actual: undefined, unread: [1, 2] });
    expect(clock.now).toBe(100);
    await inbox.expect(1);
  });

  test("looks at each message once", async () => {
    const seen: unknown[] = [];
    for (const ms of [1, 2, 3, 4]) system.sendAfter(inbox.pid, ms, ms);
    await inbox.fish((message) => {
      seen.push(message);
      return message === 4;
    });
    expect(seen).toEqual([1, 2, 3, 4]);
    seen.length = 0;
    await failure(inbox.fish((message) => seen.push(message) === 0, { timeoutMs: 5 }));
    send("a");
    await failure(inbox.fish((message) => seen.push(message) === 0, { timeoutMs: 5 }));
    expect(seen).toEqual(["a"]);
  });

  test("shortens long texts and lists of messages", async () => {
    send(...Array.from({ length: 200 }, (_, i) => i), "x".repeat(10_000));
    const { message } = await failure(inbox.fish("y".repeat(10_000), { timeoutMs: 1 }));
    expect(message.length).toBeLessThan(1_000);
    expect(message).toContain("181 more items");
  });
});

describe("expectNone", () => {
  test("holds while nothing comes, for so long", async () => {
    system.sendAfter(inbox.pid, "late", 1_000);
    await inbox.expectNone();
    expect(clock.now).toBe(0);
    await inbox.expectNone({ forMs: 999 });
    expect(clock.now).toBe(999);
    const error = await failure(inbox.expectNone({ forMs: 500 }));
    expect(clock.now).toBe(1_000);
    expect(error.message).toBe("<shop.1 probe> expected no message; got [ 'late' ]");
    expect(error.actual).toBe("late");
  });

  test("fails at once for a message that is unread, and takes none", async () => {
    send("a", "b");
    await inbox.expect("a");
    expect((await failure(inbox.expectNone({ forMs: 500 }))).unread).toEqual(["b"]);
    expect(clock.now).toBe(0);
    await inbox.expect("b");
    await inbox.expectNone({ forMs: 500 });
  });

  test("without a time waits until all is at rest, asynchronous handlers too", async () => {
    const relay = system.spawn<string>({
      handle: async (ctx, message) => {
        for (let i = 0; i < 50; i++) await undefined;
        ctx.send(inbox.pid, message);
      },
    });
    system.send(relay, "hello");
    expect((await failure(inbox.expectNone())).unread).toEqual(["hello"]);
    system.sendAfter(inbox.pid, "at the very end", 10);
    await inbox.expect("hello");
    expect((await failure(inbox.expectNone({ forMs: 10 }))).unread).toEqual(["at the very end"]);
  });
});

describe("expectExit", () => {
  test("waits for the end of a process, and gives its reason", async () => {
    const worker = system.spawn<unknown>({
      init: (ctx) => void ctx.runAfter(70, () => ctx.exit()),
      handle: () => 1,
    });
    expect(await inbox.expectExit(worker)).toEqual({ type: "normal" });
    expect(clock.now).toBe(70);
  });

  test("checks the reason, given as its type, an Error, a reason or a predicate", async () => {
    const ends = (reason: Parameters<System["exit"]>[1]): Pid<unknown> => {
      const pid = sleeper();
      system.exit(pid, reason);
      return pid;
    };
    await inbox.expectExit(ends(shutdown("closing time")), "shutdown");
    await inbox.expectExit(ends(shutdown("closing time")), shutdown("closing time"));
    await inbox.expectExit(ends("kill"), "killed");
    await inbox.expectExit(ends(new Error("oops")), "crash");
    await inbox.expectExit(ends(new RangeError("oops")), new RangeError("oops"));
    await inbox.expectExit(ends(custom({ n: 7 })), custom({ n: 7 }));
    await inbox.expectExit(ends(custom(7)), (reason) => reason.type === "custom" && reason.value === 7);
    const text = async (pid: Pid, expected: Parameters<Probe["expectExit"]>[1]): Promise<string> =>
      (await failure(inbox.expectExit(pid, expected))).message;
    expect(await text(ends("kill"), "crash")).toBe(
      "<shop.1 probe> expected <shop.9> to end with crash; it ended: killed",
    );
    expect(await text(ends(custom(8)), custom(7))).toContain("with custom 7; it ended: custom 8");
    const crashed = ends(new RangeError("oops"));
    expect(await text(crashed, new Error("oops"))).toMatch(
      /with Error: oops; it ended: crash, RangeError: oops$/,
    );
    expect(await text(crashed, shutdown("closing time"))).toContain(
      'with shutdown, "closing time"; it ended',
    );
    expect(await text(crashed, (reason) => reason.type === "killed")).toContain(
      'with a reason that fits (reason) => reason.type === "killed"; it ended',
    );
  });

  test("knows how those ended that have ended since the probe was made; of others it does not", async () => {
    const before = sleeper();
    system.exit(before, "kill");
    const young = probe(system);
    const since = sleeper();
    system.exit(since, "kill");
    expect(await young.expectExit(since)).toEqual({ type: "killed" });
    expect(await young.expectExit(before)).toEqual({ type: "noproc" });
    expect(await inbox.expectExit(before, "killed")).toEqual({ type: "killed" });
  });

  test("takes a name as well", async () => {
    const till = sleeper("till");
    const end = inbox.expectExit("till", "killed");
    await inbox.do(() => system.exit(till, "kill"));
    await end;
    expect(await inbox.expectExit("till")).toEqual({ type: "noproc" });
  });

  test("fails at the timeout when the process lives on", async () => {
    const error = await failure(inbox.expectExit(sleeper(), "normal", { timeoutMs: 40 }));
    expect(error.message).toBe(
      "<shop.1 probe> expected <shop.2> to end with normal; it did not within 40 ms",
    );
    expect(error).toMatchObject({ expected: "normal", actual: undefined });
    expect(clock.now).toBe(40);
    expect((await failure(inbox.expectExit(sleeper()))).message).toBe(
      "<shop.1 probe> expected <shop.3> to end; it did not within 3000 ms",
    );
  });

  test("takes no message, leaves no signal, and counts as having handled the crash, so that it is not reported", async () => {
    send("a");
    const fail = (): void => {
      throw new Error("oops");
    };
    const worker = system.spawn({ init: (ctx) => void ctx.runAfter(5, fail), handle: () => undefined });
    await inbox.expectExit(worker, new Error("oops"));
    expect(clock.now).toBe(5);
    expect(inbox.signals).toEqual([]);
    expect(printed).toEqual([]);
    await inbox.expect("a");
  });
});

describe("signals", () => {
  test("come of those that it watches, to which it is linked, and of groups", async () => {
    const worker = sleeper();
    const ref = await inbox.watch(worker);
    await inbox.link(worker);
    await inbox.do((ctx) => ctx.monitorGroup("clerks"));
    system.exit(worker, "kill");
    const clerk = system.spawn({ init: (ctx) => ctx.join("clerks"), handle: () => undefined });
    await clock.settle();
    const reason = { type: "killed" };
    expect(inbox.signals).toEqual([
      { type: "down", ref, pid: worker, reason },
      { type: "exit", from: worker, reason },
      { type: "group", change: "join", group: "clerks", pid: clerk },
    ]);
    expect(inbox.messages).toEqual([]);
  });

  test("work in the other direction, too: the end of a probe ends a linked process", async () => {
    const worker = sleeper();
    await inbox.link(worker);
    await inbox.stop();
    expect(system.isAlive(worker)).toBe(false);
  });
});

describe("do", () => {
  test("acts as the probe: replies, names, groups", async () => {
    const backend = probe<Ask>(system, { name: "backend" });
    const answer = system.call("backend", (replyTo: ReplyTo<number>) => ({ replyTo }));
    const { replyTo } = await backend.expect();
    await backend.do((ctx) => ctx.reply(replyTo, 42));
    expect(await answer).toBe(42);
    expect(await backend.do((ctx) => ctx.self)).toBe(backend.pid);
    await backend.do((ctx) => ctx.join("backends"));
    expect(system.members("backends")).toEqual([backend.pid]);
  });

  test("awaits asynchronous work while the probe receives messages", async () => {
    const slow = system.spawn<Ask>({
      handle: (ctx, { replyTo }) => void ctx.runAfter(50, () => ctx.reply(replyTo, 7)),
    });
    send("meanwhile");
    const work = inbox.do((ctx) => ctx.call(slow, (replyTo: ReplyTo<number>) => ({ replyTo })));
    await inbox.expect("meanwhile");
    expectTypeOf(work).toEqualTypeOf<Promise<number>>();
    expect(await work).toBe(7);
    expect(clock.now).toBe(50);
  });

  test("passes a thrown error to the test, and continues", async () => {
    const oops = new Error("oops");
    const broken = inbox.do(() => {
      throw oops;
    });
    expect(await failure(broken)).toBe(oops);
    expect(await failure(inbox.do(() => Promise.reject(oops)))).toBe(oops);
    const timeout = inbox.do((ctx) => ctx.call(sleeper(), (replyTo) => ({ replyTo }), { timeoutMs: 10 }));
    expect(await failure(timeout)).toMatchObject({ code: "ERR_CALL_TIMEOUT" });
    expect(await inbox.do(() => 1)).toBe(1);
  });

  test("fails when it takes longer than the timeout, or ends the probe", async () => {
    const error = await failure(inbox.do(() => new Promise(() => undefined), { timeoutMs: 60 }));
    expect(error.message).toBe("<shop.1 probe> expected its work to be done; it was not within 60 ms");
    expect(clock.now).toBe(60);
    expect(await failure(inbox.do((ctx) => ctx.exit()))).toMatchObject({ code: "ERR_CALLEE_EXITED" });
    expect(printed).toEqual([]);
  });
});

describe("time", () => {
  test("is advanced by the test alone with `advance: false`", async () => {
    const still = probe<string>(system, { advance: false });
    system.sendAfter(still.pid, "late", 1_000);
    const late = still.expect("late");
    await clock.advance(999);
    expect(still.messages).toEqual([]);
    await clock.advance(1);
    await late;
    const none = failure(still.expect("never"));
    await clock.advance(3_000);
    expect((await none).message).toContain("within 3000 ms");
  });

  test("passes by itself in a system of production", async () => {
    await using real = new System({ report: false });
    await using box = probe<string>(real);
    const relay = real.spawn<string>({
      handle: async (ctx, message) => {
        await undefined;
        ctx.send(box.pid, message);
      },
    });
    real.send(relay, "a");
    real.send(relay, "b");
    await box.expect("a");
    expect((await failure(box.expectNone())).unread).toEqual(["b"]);
    await box.fish("b");
    await box.expectNone();
    await box.expectNone({ forMs: 1 });
    expect((await failure(box.expect("c", { timeoutMs: 0 }))).message).toContain("nothing came within 0 ms");
    real.exit(relay, "kill");
    await box.expectExit(relay, "killed");
  });

  test("is waited for until the system is idle, in production, before nothing is said to have come", async () => {
    await using real = new System({ report: false });
    const box = probe<number>(real);
    const relay: Pid<number> = real.spawn<number>({
      handle: (ctx, left) => ctx.send(left === 0 ? box.pid : relay, left - 1),
    });
    real.send(relay, 300_000);
    expect((await failure(box.expectNone())).unread).toEqual([-1]);
  });
});

// ── against a model ─────────────────────────────────────────────────────────────────────────────────────────────────

describe("whatever a test does", () => {
  const letter = fc.constantFrom("a", "b", "c");
  const command = fc.oneof(
    { weight: 3, arbitrary: fc.record({ do: fc.constant("send"), letter }) },
    fc.record({ do: fc.constant("expect"), letter }),
    fc.record({ do: fc.constant("fish"), letter }),
    fc.record({ do: fc.constant("none"), letter }),
  );

  property.prop([fc.array(command, { maxLength: 25 })], { numRuns: 100 })(
    "an expectation is met exactly when the text of what is unread says so",
    async (commands) => {
      await using own = new System({ environment: testClock().environment, report: false });
      const box = probe<string>(own, { timeoutMs: 10 });
      let unread = "";
      for (const { do: what, letter: wanted } of commands) {
        let holds = true;
        let work: Promise<unknown> = Promise.resolve();
        if (what === "send") {
          own.send(box.pid, wanted);
          unread += wanted;
        } else if (what === "expect") {
          work = box.expect(wanted);
          holds = unread.startsWith(wanted);
          if (holds) unread = unread.slice(1);
        } else if (what === "fish") {
          work = box.fish((message) => message === wanted);
          holds = unread.includes(wanted);
          if (holds) unread = unread.replace(new RegExp(`^.*?${wanted}`), "");
        } else {
          work = box.expectNone();
          holds = unread === "";
        }
        const met = await work.then(
          () => true,
          (error) => !(error instanceof ExpectationError),
        );
        expect(met).toBe(holds);
        await own.idle();
        expect(box.unread.join("")).toBe(unread);
      }
    },
  );

  property.prop([
    fc.array(fc.nat(30), { maxLength: 8 }),
    fc.array(fc.nat(12), { minLength: 1, maxLength: 5 }),
  ])("the time goes as far as to the message, or to the timeout", async (times, timeouts) => {
    const own = testClock();
    await using house = new System({ environment: own.environment, report: false });
    const box = probe<number>(house);
    for (const ms of times) house.sendAfter(box.pid, ms, ms);
    const coming = [...times].sort((a, b) => a - b);
    let now = 0;
    for (const timeoutMs of timeouts) {
      const next = coming[0];
      const met = await box.expect(undefined, { timeoutMs }).catch(() => undefined);
      if (next !== undefined && next <= now + timeoutMs) {
        expect(met).toBe(coming.shift());
        now = Math.max(now, next);
      } else {
        expect(met).toBe(undefined);
        now += timeoutMs;
      }
      expect(own.now).toBe(now);
    }
  });
});
