// Calls that end while they wait: they leave the mailbox of their callee, and nothing of them is left there.

import fc from "fast-check";
import { type CallOptions, type Pid, type ReplyTo, System } from "signalbox";
import { explore } from "signalbox/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Recallable } from "../../lib/process/entries.js";
import { EMPTY, Mailbox } from "../../lib/process/mailbox.js";
import { type TestClock, testClock } from "../../lib/testing/kit/clock.js";
import { ask, busy, outcome, type Question } from "../support/callees.js";
import { left } from "../support/collected.js";
import { proving } from "../support/proof.js";

let clock: TestClock;
let system: System;
beforeEach(() => {
  clock = testClock();
  system = new System({ environment: clock.environment, report: false });
});
afterEach(async () => {
  for (const pid of system.processes()) system.exit(pid, "kill");
  await system.stop();
});

const depth = (pid: Pid<never>): number | undefined => system.info(pid)?.mailboxDepth;

describe("a call that ends while it waits", () => {
  it("leaves the mailbox, whether by timeout, by an abort, by the caller's death or by another process's reply [F1]", async () => {
    const callee = busy(system);
    const controller = new AbortController();
    const replies: ReplyTo<number>[] = [];
    const timedOut = ask(system, callee.pid, 1, { timeoutMs: 100 });
    const aborted = ask(system, callee.pid, 2, { signal: controller.signal });
    const caller = system.spawn(async (ctx) => {
      await ctx.call(callee.pid, (to: ReplyTo<number>) => ({ n: 3, to }));
    });
    const answered = system.call(callee.pid, (to: ReplyTo<number>) => {
      replies.push(to);
      return { n: 4, to };
    });
    const waiting = ask(system, callee.pid, 5, { timeoutMs: Number.POSITIVE_INFINITY });
    await system.idle();
    expect(depth(callee.pid)).toBe(5);

    system.exit(caller, "kill");
    expect(depth(callee.pid)).toBe(4);
    controller.abort("enough");
    expect(depth(callee.pid)).toBe(3);
    system.spawn((ctx) => ctx.reply(replies[0] as ReplyTo<number>, 40));
    await system.idle();
    expect(depth(callee.pid)).toBe(2);
    await clock.advance(100);
    expect(depth(callee.pid)).toBe(1);
    expect(await Promise.all([timedOut, aborted, answered])).toEqual(["ERR_CALL_TIMEOUT", "enough", 40]);
    callee.free();
    await system.idle();
    expect(callee.asked).toEqual([5]);
    system.exit(callee.pid, "kill");
    expect(await waiting).toBe("ERR_CALLEE_EXITED");
  });

  for (const overflow of ["reject", "drop-newest", "drop-oldest", "exit"] as const) {
    it(`does not count against a mailbox with the policy \`${overflow}\` [F1]`, async () => {
      const handled: unknown[] = [];
      let free = (): void => undefined;
      const pid = system.spawn<unknown>(
        {
          init: () =>
            new Promise<void>((resolve) => {
              free = resolve;
            }),
          handle: (_ctx, message) => void handled.push(message),
        },
        { mailbox: { capacity: 3, overflow } },
      );
      for (let round = 0; round < 5; round++) {
        const ended = [1, 2, 3].map((n) => ask(system, pid as Pid<Question>, n, { timeoutMs: 10 }));
        await clock.advance(10);
        expect(await Promise.all(ended)).toEqual(new Array(3).fill("ERR_CALL_TIMEOUT"));
      }
      for (const message of ["a", "b", "c"]) system.send(pid, message);
      expect(system.deadLetters).toBe(0);
      expect(depth(pid)).toBe(3);
      free();
      await system.idle();
      expect(handled).toEqual(["a", "b", "c"]);
    });
  }

  it("drops the oldest message that still waits, not a call that has ended", async () => {
    const letters: unknown[] = [];
    system.events.on("deadLetter", ({ message }) => letters.push(message));
    const seen: unknown[] = [];
    let free = (): void => undefined;
    const pid = system.spawn<unknown>(
      {
        init: () =>
          new Promise<void>((resolve) => {
            free = resolve;
          }),
        handle: (_ctx, message) => void seen.push(message),
      },
      { mailbox: { capacity: 4, overflow: "drop-oldest" } },
    );
    system.send(pid, "first");
    const ended = ask(system, pid as Pid<Question>, 1, { timeoutMs: 10 });
    for (const message of ["second", "third"]) system.send(pid, message);
    await clock.advance(10);
    await ended;
    for (const message of ["fourth", "fifth", "sixth"]) system.send(pid, message);
    expect(letters).toEqual(["first", "second"]);
    free();
    await system.idle();
    expect(seen).toEqual(["third", "fourth", "fifth", "sixth"]);
  });

  it("no longer keeps its message in memory, also behind messages that stay [F1]", async () => {
    const pid = system.spawn<unknown>(async (ctx) => {
      await ctx.receive((message) => message === "never");
    });
    const refs: WeakRef<object>[] = [];
    const calls: Promise<unknown>[] = [];
    for (let n = 0; n < 100; n++) {
      system.send(pid, { stays: n });
      const options: CallOptions = n % 4 === 0 ? { timeoutMs: 10 } : { timeoutMs: Number.POSITIVE_INFINITY };
      const call = system.call(
        pid,
        (to: ReplyTo<number>) => {
          const message = { payload: new Array(1_000).fill(n), to };
          if (n % 4 === 0) refs.push(new WeakRef(message));
          return message;
        },
        options,
      );
      calls.push(call.catch(outcome));
    }
    await system.idle();
    expect(depth(pid)).toBe(200);
    await clock.advance(10);
    expect(depth(pid)).toBe(175);
    expect(await left(refs)).toBe(0);
    system.exit(pid, "kill");
    await Promise.all(calls);
  });

  it("says, when its callee ends, whether the callee had begun with it", async () => {
    const callee = busy(system);
    const asked = ["begun", "waits"].map((_, n) =>
      system
        .call(callee.pid, (to: ReplyTo<number>) => ({ n, to }), { timeoutMs: Number.POSITIVE_INFINITY })
        .catch((error: unknown) => error),
    );
    await system.idle();
    callee.free();
    await system.idle();
    const late = system
      .call(callee.pid, (to: ReplyTo<number>) => ({ n: 3, to }))
      .catch((error: unknown) => error);
    system.exit(callee.pid, "kill");
    expect(await Promise.all(asked)).toMatchObject([{ request: "taken" }, { request: "taken" }]);
    expect(await late).toMatchObject({ request: "withdrawn" });
    await expect(system.call(callee.pid, (to: ReplyTo<number>) => ({ n: 4, to }))).rejects.toMatchObject({
      code: "ERR_CALLEE_EXITED",
      request: "withdrawn",
    });
  });

  it("leaves no trace in a body that receives selectively: places in the queue and room are free again [F1]", async () => {
    let looks = 0;
    const got: unknown[] = [];
    const pid = system.spawn<unknown>(async (ctx) => {
      got.push(
        await ctx.receive((message) => {
          looks++;
          return message === "wanted";
        }),
      );
      for (;;) got.push(await ctx.receive());
    });
    await system.idle();
    for (let round = 0; round < 50; round++) {
      system.send(pid, round);
      const calls = [1, 2, 3, 4].map((n) => ask(system, pid as Pid<Question>, n, { timeoutMs: 10 }));
      await clock.advance(10);
      await Promise.all(calls);
    }
    expect(depth(pid)).toBe(50);
    system.send(pid, "wanted");
    await system.idle();
    expect(looks).toBe(50 * 5 + 1);
    expect(got).toEqual(["wanted", ...Array.from({ length: 50 }, (_, n) => n)]);
  });

  it("may be ended by the filter that checks its message", async () => {
    const got: unknown[] = [];
    const controllers = [0, 1, 2, 3].map(() => new AbortController());
    const pid = system.spawn<Question>(async (ctx) => {
      const end = async (n: number): Promise<void> => {
        const question = await ctx.receive((message) => {
          if (message.n === n) for (const one of controllers.slice(0, n + 1)) one.abort("by the filter");
          return message.n >= n;
        });
        got.push(question.n);
      };
      await end(1);
      await end(2);
    });
    const calls = controllers.map(({ signal }, n) => ask(system, pid, n, { signal }));
    await system.idle();
    expect(got).toEqual([2, 3]);
    expect((await Promise.all(calls)).slice(0, 2)).toEqual(["by the filter", "by the filter"]);
  });

  it("leaves the other messages to selective receives as a search in an array finds them, whenever calls end [F1]", async () => {
    const action = fc.oneof(
      { weight: 2, arbitrary: fc.record({ send: fc.nat(5) }) },
      { weight: 4, arbitrary: fc.record({ call: fc.nat(5) }) },
      { weight: 4, arbitrary: fc.record({ end: fc.nat(15) }) },
    );
    const batches = fc.array(fc.array(action, { maxLength: 20 }), { maxLength: 10 });
    const wanted = fc.array(fc.uniqueArray(fc.nat(5), { minLength: 1, maxLength: 2 }), { maxLength: 15 });
    await fc.assert(
      fc.asyncProperty(batches, wanted, async (steps, wants) => {
        const log: number[] = [];
        const pid = system.spawn<number>(async (ctx) => {
          for (const want of wants) log.push(await ctx.receive((n) => want.includes(n)));
          await ctx.receive(() => false);
        });
        const model: { readonly n: number; readonly controller?: AbortController }[] = [];
        const expected: number[] = [];
        const calls: Promise<unknown>[] = [];
        for (const step of steps) {
          for (const one of step) {
            if ("send" in one) {
              system.send(pid, one.send);
              model.push({ n: one.send });
            } else if ("call" in one) {
              const controller = new AbortController();
              const { signal } = controller;
              calls.push(system.call(pid, () => one.call, { signal, timeoutMs: 60_000 }).catch(outcome));
              model.push({ n: one.call, controller });
            } else if (model[one.end]?.controller !== undefined) {
              model.splice(one.end, 1)[0]?.controller?.abort("enough");
            }
            expect(depth(pid)).toBe(model.length);
          }
          await system.idle();
          for (;;) {
            const want = wants[expected.length];
            const at = model.findIndex(({ n }) => want?.includes(n));
            if (at < 0) break;
            expected.push(model.splice(at, 1)[0]?.n ?? -1);
          }
          expect(log).toEqual(expected);
          expect(depth(pid)).toBe(model.length);
        }
        system.exit(pid, "kill");
        await Promise.all(calls);
      }),
      { numRuns: proving ? 150 : 50 },
    );
  });

  it("does not arrive when its delivery is delayed", async () => {
    await explore(
      async (sim) => {
        const simulated = sim.system();
        const ended = new Set<number>();
        const callee = simulated.spawn<Question>(
          {
            handle: (_ctx, { n }) => expect(ended.has(n)).toBe(false),
          },
          { label: "callee" },
        );
        const callers = [1, 2, 3].map((n) =>
          simulated.spawn(async (ctx) => {
            const controller = new AbortController();
            const call = ctx.call(callee, (to: ReplyTo<number>) => ({ n, to }), {
              signal: controller.signal,
            });
            ctx.runAfter(1, () => {
              ended.add(n);
              controller.abort("enough");
            });
            await call.catch(outcome);
          }),
        );
        await Promise.all(callers.map((pid) => simulated.exited(pid)));
        expect(simulated.info(callee)?.mailboxDepth).toBe(0);
        await simulated.stop();
      },
      {
        schedules: proving ? 200 : 70,
        seed: 1,
        faults: { delay: { of: "**/callee", atMost: 3 }, rush: { atMost: 3 } },
      },
    );
  });
});

describe("the queue with entries that are withdrawn", () => {
  class Ended extends Recallable {
    override returned(): void {}
  }
  type Step =
    | { readonly op: "push" | "enter" | "shift" | "drain" }
    | { readonly op: "removeAt" | "withdraw"; readonly at: number };
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 3, arbitrary: fc.constant<Step>({ op: "push" }) },
    { weight: 6, arbitrary: fc.constant<Step>({ op: "enter" }) },
    { weight: 2, arbitrary: fc.constant<Step>({ op: "shift" }) },
    { weight: 5, arbitrary: fc.record({ op: fc.constant("withdraw" as const), at: fc.nat(40) }) },
    { weight: 1, arbitrary: fc.record({ op: fc.constant("removeAt" as const), at: fc.nat(40) }) },
    { weight: 1, arbitrary: fc.constant<Step>({ op: "drain" }) },
  );

  it("behaves as an array from which these entries are removed at once [F1]", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300, size: "max" }), (steps) => {
        const mailbox = new Mailbox();
        const model: unknown[] = [];
        /** The place of each entry of the model, withdrawn ones beside it passed over. */
        const place = (at: number): number => {
          for (let index = 0; index < mailbox.length; index++)
            if (mailbox.peek(index) === model[at]) return index;
          return -1;
        };
        let next = 0;
        for (const one of steps) {
          switch (one.op) {
            case "push":
              mailbox.push(next);
              model.push(next++);
              break;
            case "enter": {
              const entry = new Ended();
              entry.queuedIn = mailbox;
              mailbox.push(entry);
              model.push(entry);
              break;
            }
            case "shift":
              expect(mailbox.shift()).toBe(model.length === 0 ? EMPTY : model.shift());
              break;
            case "removeAt":
              if (one.at < model.length) {
                expect(mailbox.removeAt(place(one.at))).toBe(model[one.at]);
                model.splice(one.at, 1);
              }
              break;
            case "withdraw": {
              const entry = model[one.at];
              if (!(entry instanceof Ended)) break;
              const marked = Math.floor(one.at / 2);
              const before = place(marked);
              const nearer = mailbox.withdraw(entry, before);
              model.splice(one.at, 1);
              if (marked < one.at) expect(place(marked)).toBe(before - nearer);
              expect(mailbox.withdraw(entry)).toBe(0);
              break;
            }
            case "drain":
              expect(mailbox.drain()).toEqual(model.splice(0));
              break;
          }
          expect(mailbox.depth).toBe(model.length);
          expect(mailbox.isEmpty).toBe(model.length === 0);
          // Withdrawn entries are less than half of the room, but for those that came to the head since.
          expect(mailbox.length).toBeLessThanOrEqual(300);
        }
        expect(mailbox.drain()).toEqual(model);
      }),
      { numRuns: proving ? 100 : 30 },
    );
  });

  it("removes the withdrawn entries in constant time for each", () => {
    const mailbox = new Mailbox();
    const entries = Array.from({ length: 100_000 }, () => new Ended());
    for (const entry of entries) {
      entry.queuedIn = mailbox;
      mailbox.push(entry);
    }
    mailbox.push("last");
    let most = 0;
    for (const entry of entries.reverse()) {
      mailbox.withdraw(entry);
      most = Math.max(most, mailbox.length - 2 * mailbox.depth);
    }
    expect(mailbox.drain()).toEqual(["last"]);
    expect(most).toBeLessThanOrEqual(1);
  });
});
