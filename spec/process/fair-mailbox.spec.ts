// Mailboxes that are fair to their senders: a flood of one delays the others by no more than its share.

import fc from "fast-check";
import {
  type Context,
  defineServer,
  fairMailbox,
  MailboxFullError,
  type MailboxLimits,
  OptionError,
  type Pid,
  type ReplyTo,
  System,
} from "signalbox";
import { testClock } from "signalbox/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sized } from "../support/proof.js";
import { type Puppet, puppet } from "../support/puppet.js";

const clock = testClock();
let system: System;
let dead: unknown[];
beforeEach(() => {
  system = new System({ name: "s", report: false, environment: clock.environment });
  dead = [];
  system.events.on("deadLetter", ({ message, reason }) => dead.push([message, reason]));
});
afterEach(() => clock.until(system.stop()));

/** A process that takes one entry at each `next`. */
function turnstile(mailbox: MailboxLimits, context: System = system) {
  const taken: string[] = [];
  let go: (() => void) | undefined;
  const note = (what: string): Promise<void> => {
    taken.push(what);
    return new Promise((resolve) => (go = resolve));
  };
  const pid = context.spawn<string>(
    {
      handle: (_ctx, word) => note(word),
      signal: (_ctx, signal) => note(signal.type === "down" ? `down ${signal.pid.label}` : signal.type),
    },
    { mailbox, trapExit: true, label: "turnstile" },
  );
  return {
    pid,
    taken,
    next: async (times = 1) => {
      for (let i = 0; i < times; i++) {
        go?.();
        await clock.settle();
      }
    },
  };
}

function senders(...labels: string[]): Puppet[] {
  return labels.map((label) => puppet(system, { label }));
}

async function send(from: Puppet | undefined, to: Pid<string>, ...words: string[]): Promise<void> {
  if (from === undefined) for (const word of words) system.send(to, word);
  else {
    const sent = from.do((ctx) => {
      for (const word of words) ctx.send(to, word);
    });
    await clock.until(sent);
  }
  await clock.settle();
}

describe("a fair mailbox", () => {
  it("takes a message of each sender in turn, in the order of each", async () => {
    const desk = turnstile(fairMailbox());
    const [a, b] = senders("a", "b") as [Puppet, Puppet];
    await send(a, desk.pid, "a1", "a2", "a3", "a4", "a5");
    await send(b, desk.pid, "b1", "b2");
    await send(undefined, desk.pid, "o1", "o2");
    await desk.next(10);
    expect(desk.taken).toEqual(["a1", "a2", "b1", "o1", "a3", "b2", "o2", "a4", "a5"]);
  });

  const acts = fc.array(
    fc.oneof(
      { weight: 3, arbitrary: fc.record({ who: fc.nat({ max: 3 }), words: fc.integer({ min: 1, max: 6 }) }) },
      { weight: 2, arbitrary: fc.record({ take: fc.integer({ min: 1, max: 4 }) }) },
    ),
    { maxLength: 25 },
  );

  it("takes turns as a model says: the sender with the longest wait since its last turn is next [G14]", async () => {
    await fc.assert(
      fc.asyncProperty(acts, async (all) => {
        const desk = turnstile(fairMailbox());
        const from = [...senders("a", "b", "c"), undefined];
        const sent = [0, 0, 0, 0];
        const waiting: string[][] = [[], [], [], []];
        const turns: number[] = [];
        const expected: string[] = [];
        let isIdle = true;
        const take = (): void => {
          const who = turns.shift();
          isIdle = who === undefined;
          if (who === undefined) return;
          const own = waiting[who] as string[];
          expected.push(own.shift() as string);
          if (own.length > 0) turns.push(who);
        };
        for (const act of all) {
          if ("take" in act) {
            await desk.next(act.take);
            for (let i = 0; i < act.take; i++) take();
          } else {
            const words = Array.from(
              { length: act.words },
              () => `${act.who}.${++(sent[act.who] as number)}`,
            );
            await send(from[act.who], desk.pid, ...words);
            if ((waiting[act.who] as string[]).length === 0) turns.push(act.who);
            waiting[act.who]?.push(...words);
            if (isIdle) take();
          }
          expect(desk.taken).toEqual(expected);
        }
      }),
      { numRuns: sized(60) },
    );
  });

  it("serves a flood and a visitor alike, however large the flood is", async () => {
    const desk = turnstile(fairMailbox());
    const [flood, visitor] = senders("flood", "visitor") as [Puppet, Puppet];
    await send(flood, desk.pid, ...Array.from({ length: 20_000 }, (_, i) => `f${i}`));
    await send(visitor, desk.pid, "hello");
    await desk.next(2);
    expect(desk.taken).toEqual(["f0", "f1", "hello"]);
    expect(system.info(desk.pid)?.mailboxDepth).toBe(19_998);
  });

  it("keeps a signal behind the messages of the process that it is about, and drops none [G15]", async () => {
    const desk = turnstile(fairMailbox({ perSender: 2, overflow: "drop-newest" }));
    const [a, b] = senders("a", "b") as [Puppet, Puppet];
    await send(b, desk.pid, "b0");
    await clock.until(
      a
        .do((ctx) => {
          ctx.link(desk.pid);
          for (const word of ["a1", "a2", "a3"]) ctx.send(desk.pid, word);
          ctx.exit();
        })
        .catch(() => undefined),
    );
    await send(b, desk.pid, "b1", "b2", "b3");
    await desk.next(10);
    expect(desk.taken).toEqual(["b0", "a1", "b1", "a2", "b2", "exit"]);
    expect(dead).toEqual([
      ["a3", "mailbox-full"],
      ["b3", "mailbox-full"],
    ]);
  });

  it("is bound for each sender by itself, by every policy [G15]", async () => {
    const [a, b] = senders("a", "b") as [Puppet, Puppet];
    const outcome = async (overflow: MailboxLimits["overflow"]): Promise<string> => {
      const desk = turnstile(fairMailbox({ perSender: 2, overflow }));
      await send(b, desk.pid, "b0", "b1");
      const flood = a.do((ctx) => {
        for (const word of ["a1", "a2", "a3"]) ctx.send(desk.pid, word);
      });
      const error = await clock.until(
        flood.then(
          () => undefined,
          (error: unknown) => error,
        ),
      );
      await send(b, desk.pid, "b2").catch(() => undefined);
      if (error !== undefined) {
        expect(error).toBeInstanceOf(MailboxFullError);
        expect(String(error)).toContain("holds 2 messages of this sender");
      }
      const alive = system.isAlive(desk.pid);
      if (alive) await desk.next(10);
      return `${desk.taken.join(" ")}${error === undefined ? "" : " reject"}${alive ? "" : " ended"}`;
    };
    expect(await outcome("reject")).toBe("b0 b1 a1 b2 a2 reject");
    expect(await outcome("drop-newest")).toBe("b0 b1 a1 b2 a2");
    expect(await outcome("drop-oldest")).toBe("b0 b1 a2 b2 a3");
    expect(await outcome("exit")).toBe("b0 ended");
  });

  it("drops the oldest message of the sender also when that is the next one", async () => {
    const desk = turnstile(fairMailbox({ perSender: 1, overflow: "drop-oldest" }));
    const [a] = senders("a") as [Puppet];
    await send(undefined, desk.pid, "o0");
    await send(a, desk.pid, "a1", "a2", "a3");
    await desk.next(5);
    expect(desk.taken).toEqual(["o0", "a3"]);
    expect(dead).toEqual([
      ["a1", "mailbox-full"],
      ["a2", "mailbox-full"],
    ]);
  });

  it("lets calls leave that have ended, wherever they wait", async () => {
    type Ask = { readonly n: number; readonly replyTo: ReplyTo<number> };
    const seen: number[] = [];
    let go: () => void = () => undefined;
    const desk = system.spawn<Ask | "wait">(
      {
        handle: (ctx: Context<Ask | "wait">, ask) => {
          if (ask === "wait") return new Promise<void>((resolve) => (go = resolve));
          seen.push(ask.n);
          ctx.reply(ask.replyTo, ask.n);
          return undefined;
        },
      },
      { mailbox: fairMailbox({ perSender: 6, overflow: "reject" }) },
    );
    system.send(desk, "wait");
    await clock.settle();
    const [a, b] = senders("a", "b") as [Puppet, Puppet];
    const ends: Promise<unknown>[] = [];
    const ask = (from: Puppet, n: number, timeoutMs: number): Promise<void> =>
      clock.until(
        from.do((ctx) => {
          ends.push(
            ctx
              .call(desk, (replyTo: ReplyTo<number>) => ({ n, replyTo }), { timeoutMs })
              .catch(() => `late ${n}`),
          );
        }),
      );
    for (const n of [1, 2, 3, 4, 5, 6]) await ask(a, n, n % 3 === 0 ? 1_000 : 10);
    for (const n of [11, 12]) await ask(b, n, n === 11 ? 10 : 1_000);
    expect(system.info(desk)?.mailboxDepth).toBe(8);
    await clock.advance(10);
    expect(system.info(desk)?.mailboxDepth).toBe(3);
    // Their places are free again.
    for (const n of [7, 8, 9, 10]) await ask(a, n, 1_000);
    go();
    await clock.settle();
    expect(seen).toEqual([3, 12, 6, 7, 8, 9, 10]);
    expect(await clock.until(Promise.all(ends))).toEqual([
      ...["late 1", "late 2", 3, "late 4", "late 5", 6, "late 11", 12, 7, 8, 9, 10],
    ]);
  });

  it("knows the callers of servers, by their processes", async () => {
    const taken: string[] = [];
    let go: () => void = () => undefined;
    const Desk = defineServer({
      init: () => ({}),
      casts: {
        note: (_state, word: string) => {
          taken.push(word);
          return word === "wait" ? new Promise<void>((resolve) => (go = resolve)) : undefined;
        },
      },
      calls: { ask: (_state, word: string) => taken.push(word) },
      mailbox: fairMailbox(),
    });
    const desk = await clock.until(system.start(Desk));
    desk.cast.note("wait");
    await clock.settle();
    const [a, b] = senders("a", "b") as [Puppet, Puppet];
    await clock.until(
      a.do((ctx) => {
        const mine = desk.with({ from: ctx });
        for (const word of ["a1", "a2", "a3"]) mine.cast.note(word);
        void mine.call.ask("a4");
      }),
    );
    await clock.until(b.do((ctx) => void desk.with({ from: ctx }).call.ask("b1")));
    await clock.until(b.do((ctx) => ctx.sendAfter(desk.pid as never, "b2" as never, 5)));
    desk.cast.note("o1");
    await clock.advance(5);
    go();
    await clock.settle();
    expect(taken).toEqual(["wait", "a1", "b1", "o1", "a2", "a3", "a4"]);
    // The timer's message was of `b`, and nobody handles it.
    expect(dead).toEqual([["b2", "unhandled"]]);
  });

  it("works for function bodies: a receive takes turns, a selective one finds what comes later", async () => {
    const taken: unknown[] = [];
    const pid = system.spawn<string>(
      async (ctx) => {
        for (;;) {
          const word = await ctx.receive((one) => one.endsWith("!"));
          taken.push(word);
          if (word.startsWith("all")) break;
        }
        for (;;) taken.push(await ctx.receive());
      },
      { mailbox: fairMailbox() },
    );
    const [a, b] = senders("a", "b") as [Puppet, Puppet];
    await send(a, pid, "a1", "a2", "a3");
    await send(b, pid, "b1", "b2!");
    await send(a, pid, "a4!", "a5");
    expect(taken).toEqual(["b2!", "a4!"]);
    await send(b, pid, "b3", "all!");
    expect(taken).toEqual(["b2!", "a4!", "all!", "a1", "b1", "a2", "b3", "a3", "a5"]);
  });

  it("keeps contexts of senders where these are carried", async () => {
    const other = new System({ name: "c", report: false, context: "sender", environment: clock.environment });
    const desk = turnstile(fairMailbox(), other);
    for (const word of ["o1", "o2"]) other.send(desk.pid, word);
    await clock.settle();
    await desk.next(2);
    expect(desk.taken).toEqual(["o1", "o2"]);
    other.send(desk.pid, "o3");
    other.exit(desk.pid, "kill");
    await clock.until(other.stop());
    expect(other.deadLetters).toBe(1);
  });

  it("has options that are checked", () => {
    for (const [path, options] of [
      ["perSender", { perSender: 0 }],
      ["overflow", { overflow: "drop" }],
      ["capacity", { capacity: 5 }],
    ] as const) {
      expect(() => fairMailbox(options as never)).toThrow(OptionError);
      expect(() => fairMailbox(options as never)).toThrow(path);
    }
  });
});
