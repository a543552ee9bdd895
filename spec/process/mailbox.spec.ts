// The queue of one process, against an array; and what bounds and marks do to it, seen from outside.

import fc from "fast-check";
import { type MailboxLimits, type Pid, type ReplyTo, System } from "signalbox";
import { describe, expect, test } from "vitest";
import { EMPTY, Mailbox } from "../../lib/process/mailbox.js";

describe("the queue", () => {
  type Step =
    | { readonly op: "push" | "shift" | "drain" }
    | { readonly op: "removeAt" | "peek"; readonly at: number };
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 5, arbitrary: fc.constant<Step>({ op: "push" }) },
    { weight: 3, arbitrary: fc.constant<Step>({ op: "shift" }) },
    { weight: 2, arbitrary: fc.record({ op: fc.constant("removeAt" as const), at: fc.nat(40) }) },
    { weight: 2, arbitrary: fc.record({ op: fc.constant("peek" as const), at: fc.nat(40) }) },
    { weight: 1, arbitrary: fc.constant<Step>({ op: "drain" }) },
  );

  function take(model: number[], at: number): unknown {
    return at < model.length ? model.splice(at, 1)[0] : EMPTY;
  }

  test("behaves as an array", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300, size: "max" }), (steps) => {
        const mailbox = new Mailbox();
        const model: number[] = [];
        let next = 0;
        for (const one of steps) {
          switch (one.op) {
            case "push":
              mailbox.push(next);
              model.push(next++);
              break;
            case "shift":
              expect(mailbox.shift()).toBe(take(model, 0));
              break;
            case "removeAt":
              expect(mailbox.removeAt(one.at)).toBe(take(model, one.at));
              break;
            case "peek":
              expect(mailbox.peek(one.at)).toBe(one.at < model.length ? model[one.at] : EMPTY);
              break;
            case "drain":
              expect(mailbox.drain()).toEqual(model.splice(0));
              break;
          }
          expect(mailbox.depth).toBe(model.length);
          expect(mailbox.isEmpty).toBe(model.length === 0);
        }
        expect(mailbox.drain()).toEqual(model);
      }),
    );
  });

  test("keeps the order while it grows around the end of its ring", () => {
    const mailbox = new Mailbox();
    const out: unknown[] = [];
    let next = 0;
    for (let round = 0; round < 200; round++) {
      for (let i = 0; i < 7; i++) mailbox.push(next++);
      for (let i = 0; i < 5; i++) out.push(mailbox.shift());
    }
    out.push(...mailbox.drain());
    expect(out).toEqual(Array.from({ length: next }, (_, i) => i));
  });

  test("moves the entries before or behind a removed entry, whichever are fewer [F7]", () => {
    const size = 1_000;
    for (const [at, most] of [
      [1, 2],
      [10, 11],
      [500, 501],
      [990, 11],
      [999, 2],
    ] as const) {
      const mailbox = new Mailbox();
      for (let n = 0; n < size; n++) mailbox.push(n);
      const ring = Reflect.get(mailbox, "ring") as { items: unknown[] };
      let moves = 0;
      ring.items = new Proxy(ring.items, {
        set: (items, key, value) => {
          moves++;
          return Reflect.set(items, key, value);
        },
      });
      expect(mailbox.removeAt(at)).toBe(at);
      expect(moves).toBeLessThanOrEqual(most);
      expect(mailbox.drain()).toEqual(Array.from({ length: size }, (_, n) => n).filter((n) => n !== at));
    }
  });

  test("holds undefined, null, false and 0 as messages", () => {
    const mailbox = new Mailbox();
    const odd = [undefined, null, false, 0, "", Number.NaN];
    for (const item of odd) mailbox.push(item);
    expect(mailbox.depth).toBe(odd.length);
    expect(mailbox.drain()).toEqual(odd);
  });
});

/** A process that handles nothing until it is told, so that its mailbox fills up. */
function blocked(
  system: System,
  mailbox: MailboxLimits,
): { pid: Pid<unknown>; seen: unknown[]; open: () => void } {
  const seen: unknown[] = [];
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const pid = system.spawn<unknown>(
    {
      init: () => gate,
      handle: (_ctx, message) => {
        seen.push(message);
      },
      signal: (_ctx, signal) => {
        seen.push(signal.type);
      },
    },
    { mailbox, trapExit: true },
  );
  return { pid, seen, open };
}

function lettersOf(system: System): { message: unknown; reason: string }[] {
  const letters: { message: unknown; reason: string }[] = [];
  system.events.on("deadLetter", ({ message, reason }) => letters.push({ message, reason }));
  return letters;
}

describe("a bounded mailbox", () => {
  test("with policy `reject` throws at the sender and queues nothing", async () => {
    await using system = new System({ report: false });
    const letters = lettersOf(system);
    const { pid, seen, open } = blocked(system, { capacity: 2, overflow: "reject" });
    system.send(pid, 1);
    system.send(pid, 2);
    expect(() => system.send(pid, 3)).toThrow(
      expect.objectContaining({ code: "ERR_MAILBOX_FULL", capacity: 2 }),
    );
    open();
    await system.idle();
    system.send(pid, 4);
    await system.idle();
    expect(seen).toEqual([1, 2, 4]);
    expect(letters).toEqual([]);
  });

  test("with policy `drop-newest` makes a dead letter of each message that finds no room", async () => {
    await using system = new System({ report: false });
    const letters = lettersOf(system);
    const { pid, seen, open } = blocked(system, { capacity: 2, overflow: "drop-newest" });
    for (const n of [1, 2, 3, 4]) system.send(pid, n);
    open();
    await system.idle();
    expect(seen).toEqual([1, 2]);
    expect(letters).toEqual([
      { message: 3, reason: "mailbox-full" },
      { message: 4, reason: "mailbox-full" },
    ]);
    expect(system.deadLetters).toBe(2);
  });

  test("with policy `drop-oldest` keeps the latest messages", async () => {
    await using system = new System({ report: false });
    const letters = lettersOf(system);
    const { pid, seen, open } = blocked(system, { capacity: 2, overflow: "drop-oldest" });
    for (const n of [1, 2, 3, 4]) system.send(pid, n);
    open();
    await system.idle();
    expect(seen).toEqual([3, 4]);
    expect(letters.map((letter) => letter.message)).toEqual([1, 2]);
    expect(system.deadLetters).toBe(2);
  });

  test("with policy `exit` ends the receiver, and its queued messages become dead letters", async () => {
    await using system = new System({ report: false });
    const letters = lettersOf(system);
    const { pid } = blocked(system, { capacity: 2, overflow: "exit" });
    const exited = system.exited(pid);
    for (const n of [1, 2, 3]) system.send(pid, n);
    const reason = await exited;
    expect(reason).toMatchObject({ type: "crash", error: { code: "ERR_MAILBOX_FULL" } });
    expect(letters).toEqual([
      { message: 3, reason: "mailbox-full" },
      { message: 1, reason: "exited" },
      { message: 2, reason: "exited" },
    ]);
  });

  for (const overflow of ["reject", "drop-newest", "drop-oldest", "exit"] as const) {
    test(`with policy \`${overflow}\` never drops a signal, and does not count it as a message [C6]`, async () => {
      await using system = new System({ report: false });
      const letters = lettersOf(system);
      const { pid, seen, open } = blocked(system, { capacity: 2, overflow });
      for (let i = 0; i < 5; i++) {
        system.spawn((ctx) => ctx.exit(pid, "shutdown"));
        system.spawn((ctx) => ctx.exit(pid, "shutdown"));
      }
      await system.idle();
      system.send(pid, "a");
      system.send(pid, "b");
      open();
      await system.idle();
      expect(seen).toEqual([...new Array(10).fill("exit"), "a", "b"]);
      system.send(pid, "c");
      system.send(pid, "d");
      await system.idle();
      expect(seen.slice(12)).toEqual(["c", "d"]);
      expect(letters).toEqual([]);
    });
  }

  test("drops the oldest message from behind signals that are older", async () => {
    await using system = new System({ report: false });
    const { pid, seen, open } = blocked(system, { capacity: 1, overflow: "drop-oldest" });
    system.spawn((ctx) => ctx.exit(pid, "shutdown"));
    await system.idle();
    system.send(pid, "old");
    system.send(pid, "new");
    open();
    await system.idle();
    expect(seen).toEqual(["exit", "new"]);
  });

  for (const overflow of ["reject", "drop-newest", "drop-oldest"] as const) {
    test(`with policy \`${overflow}\` notifies a caller at once that its request found no room`, async () => {
      await using system = new System({ report: false });
      const letters = lettersOf(system);
      const { pid, open } = blocked(system, { capacity: 1, overflow });
      const ask = (n: number) => (replyTo: ReplyTo<number>) => ({ n, replyTo });
      const first = system.call(pid, ask(1), { timeoutMs: Number.POSITIVE_INFINITY });
      const second = system.call(pid, ask(2), { timeoutMs: Number.POSITIVE_INFINITY });
      const refused = overflow === "drop-oldest" ? first : second;
      await expect(refused).rejects.toMatchObject({ code: "ERR_MAILBOX_FULL" });
      if (overflow !== "reject")
        expect(letters).toMatchObject([{ message: { n: overflow === "drop-oldest" ? 1 : 2 } }]);
      const other = refused === first ? second : first;
      system.exit(pid, "kill");
      await expect(other).rejects.toMatchObject({ code: "ERR_CALLEE_EXITED" });
      open();
    });
  }

  test("still shows a selective receive new messages after a message before its place was dropped", async () => {
    await using system = new System({ report: false });
    let got: unknown;
    const pid = system.spawn<unknown>(
      async (ctx) => {
        got = await ctx.receive((message) => message === "wanted");
      },
      { mailbox: { capacity: 3, overflow: "drop-oldest" } },
    );
    for (const n of [1, 2, 3]) system.send(pid, n);
    await system.idle();
    system.send(pid, "wanted");
    await system.idle();
    expect(got).toBe("wanted");
  });
});

describe("a deep mailbox is reported", () => {
  test("when it reaches the mark, and again at each doubling", async () => {
    await using system = new System({ limits: { highWater: 10 }, report: false });
    const depths: number[] = [];
    system.events.on("highWater", ({ pid, depth }) => {
      expect(pid).toBe(full);
      depths.push(depth);
    });
    const full = system.spawn<number>({ handle: () => undefined });
    for (let i = 0; i < 9; i++) system.send(full, i);
    expect(depths).toEqual([]);
    for (let i = 9; i < 100; i++) system.send(full, i);
    expect(depths).toEqual([10, 20, 40, 80]);
  });

  for (const highWater of [10, 200]) {
    test(`again once it has become empty (mark ${highWater})`, async () => {
      await using system = new System({ limits: { highWater }, report: false });
      const depths: number[] = [];
      system.events.on("highWater", ({ depth }) => depths.push(depth));
      const pid = system.spawn<number>({ handle: () => undefined });
      for (let round = 0; round < 3; round++) {
        for (let i = 0; i < highWater * 2; i++) system.send(pid, i);
        await system.idle();
        expect(system.info(pid)?.mailboxDepth).toBe(0);
      }
      expect(depths).toEqual([highWater, highWater * 2, highWater, highWater * 2, highWater, highWater * 2]);
    });
  }

  test("for signals too, although the bound does not limit signals", async () => {
    await using system = new System({ limits: { highWater: 4 }, report: false });
    const depths: number[] = [];
    system.events.on("highWater", ({ depth }) => depths.push(depth));
    const { pid, open } = blocked(system, { capacity: 2, overflow: "reject" });
    for (let i = 0; i < 4; i++) system.spawn((ctx) => ctx.exit(pid, "shutdown"));
    await system.idle();
    expect(depths).toEqual([4]);
    open();
  });
});
