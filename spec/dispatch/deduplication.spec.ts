// One dispatch for each envelope id: joined while it is in flight; its receipt goes to later dispatches.

import fc from "fast-check";
import { ConsumerGroup, dispatch, System } from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Conversation } from "../../lib/dispatch/conversation.js";
import { Deduplication } from "../../lib/dispatch/dedup.js";
import type { Outcome } from "../../lib/dispatch/outcome.js";
import { type TestClock, testClock } from "../../lib/testing/kit/clock.js";
import { left } from "../support/collected.js";
import { gate } from "../support/gate.js";
import { hostRejections } from "../support/host.js";
import { puppet } from "../support/puppet.js";
import { type Desk, desk, doomed, type Fate, fate } from "./support.js";

let clock: TestClock;
let system: System;
let group: ConsumerGroup<string>;
let ann: Desk<string>;
beforeEach(() => {
  clock = testClock();
  system = new System({ environment: clock.environment, report: false });
  group = new ConsumerGroup({ window: 2 });
  ann = desk(system, group, { id: "ann" });
});
afterEach(() => system.stop());

const order = (id: string): ReturnType<typeof system.envelope<string>> => system.envelope("tea", { id });
const done = async (id: string): Promise<boolean> => {
  const followed = fate(system.dispatch(group, order(id)));
  await system.idle();
  ann.deliveries.at(-1)?.ack();
  await system.idle();
  return followed.value?.duplicate ?? true;
};

describe("an envelope dispatched twice", () => {
  it("while the first is in flight is one dispatch with two callers", async () => {
    const fates = [fate(system.dispatch(group, order("a"))), fate(system.dispatch(group, order("a")))];
    await system.idle();
    expect(ann.deliveries).toHaveLength(1);
    ann.last.reply(7);
    await system.idle();
    expect(fates.map((one) => one.value?.duplicate)).toEqual([false, true]);
    expect(fates.map((one) => one.value?.reply)).toEqual([7, 7]);
  });

  it("after the first is done gets its receipt [D10]", async () => {
    expect(await done("a")).toBe(false);
    const again = await system.dispatch(group, order("a"));
    expect(again).toMatchObject({ duplicate: true, deliveredTo: "ann", envelope: { id: "a" } });
    expect(ann.deliveries).toHaveLength(1);
  });

  it("after the first failed is a new dispatch", async () => {
    const first = fate(system.dispatch(group, order("a"), { maxAttempts: 1 }));
    await system.idle();
    ann.last.reject("no");
    await system.idle();
    expect(first.code).toBe("ERR_ATTEMPTS_EXHAUSTED");
    expect(await done("a")).toBe(false);
    expect(ann.deliveries).toHaveLength(2);
  });

  it("shares the failure of the dispatch in flight", async () => {
    const fates = [1, 2].map(() => fate(system.dispatch(group, order("a"), { maxAttempts: 1 })));
    await system.idle();
    ann.last.reject("no");
    await system.idle();
    expect(fates.map((one) => one.code)).toEqual(["ERR_ATTEMPTS_EXHAUSTED", "ERR_ATTEMPTS_EXHAUSTED"]);
  });

  it("may be given up by the caller who joined, alone", async () => {
    const controller = new AbortController();
    const first = fate(system.dispatch(group, order("a")));
    const second = fate(system.dispatch(group, order("a"), { signal: controller.signal }));
    await system.idle();
    controller.abort("enough");
    await system.idle();
    expect(second.error).toBe("enough");
    ann.last.ack();
    await system.idle();
    expect(first.value?.attempts).toBe(1);
  });

  it("with a signal that is not aborted gets the same outcome", async () => {
    const { signal } = new AbortController();
    void system.dispatch(group, order("a"));
    const second = fate(system.dispatch(group, order("a"), { signal }));
    await system.idle();
    ann.last.ack();
    await system.idle();
    expect(second.value?.duplicate).toBe(true);
  });

  it("in two groups is two dispatches", async () => {
    const other = new ConsumerGroup<string>();
    const bob = desk(system, other);
    void system.dispatch(group, order("a"));
    void system.dispatch(other, order("a"));
    await system.idle();
    expect([ann.deliveries.length, bob.deliveries.length]).toEqual([1, 1]);
  });

  it("is a new dispatch after the first was withdrawn", async () => {
    const controller = new AbortController();
    const first = fate(system.dispatch(group, order("a"), { signal: controller.signal }));
    await system.idle();
    controller.abort("enough");
    expect(await done("a")).toBe(false);
    expect(first.error).toBe("enough");
  });
});

describe("all callers of the same envelope", () => {
  const asked = (options?: Parameters<typeof system.dispatch<string>>[2]): Fate<Outcome<string>> =>
    fate(system.dispatch(group, order("a"), options));
  const inFlight = (): number | undefined => group.consumers[0]?.inFlight;
  const conversations = (): number => system.processes().filter((pid) => pid.label === "dispatch").length;

  it("have a deadline each: for a joiner it counts from the join", async () => {
    const first = asked({ deadlineMs: 1_000 });
    await clock.advance(50);
    const second = asked({ deadlineMs: 100 });
    await clock.advance(99);
    expect(second.done).toBe(false);
    await clock.advance(1);
    expect(second.error).toMatchObject({ code: "ERR_DEADLINE", deadlineMs: 100 });
    ann.last.ack();
    await system.idle();
    expect(first.value).toMatchObject({ deliveredTo: "ann", duplicate: false });
  });

  it("have a deadline each: that of the first leaves the others waiting", async () => {
    const first = asked({ deadlineMs: 100 });
    const second = asked({ deadlineMs: 1_000 });
    await clock.advance(100);
    expect(first.error).toMatchObject({ code: "ERR_DEADLINE", deadlineMs: 100 });
    expect([second.done, inFlight()]).toEqual([false, 1]);
    ann.last.ack();
    await system.idle();
    expect(second.value).toMatchObject({ deliveredTo: "ann", duplicate: true });
  });

  it("have a deadline each, and the last is the conversation's", async () => {
    const fates = [100, 300, 200].map((deadline) => asked({ deadlineMs: deadline }));
    await clock.advance(200);
    expect([inFlight(), conversations()]).toEqual([1, 1]);
    await clock.advance(100);
    expect(fates.map((one) => one.error)).toMatchObject([
      { deadlineMs: 100 },
      { deadlineMs: 300 },
      { deadlineMs: 200 },
    ]);
    expect(conversations()).toBe(0);
    expect([ann.last.ack(), inFlight()]).toEqual([false, 0]);
    expect(await done("a")).toBe(false);
  });

  it("may be late at the same time, and each error names its own deadline", async () => {
    const first = asked({ deadlineMs: 100 });
    await clock.advance(50);
    const second = asked({ deadlineMs: 50 });
    await clock.advance(50);
    expect([first.error, second.error]).toMatchObject([{ deadlineMs: 100 }, { deadlineMs: 50 }]);
    expect(conversations()).toBe(0);
  });

  it("wait for a compensation that has begun, past any deadline", async () => {
    const undo = gate();
    const first = asked({ deadlineMs: 1_000, onCrash: "compensate", compensate: () => undo.promise });
    const second = asked({ deadlineMs: 100 });
    await system.idle();
    system.exit(ann.pid, "kill");
    await clock.advance(500);
    expect([first.done, second.done]).toEqual([false, false]);
    undo.open();
    await system.idle();
    expect(first.error).toMatchObject({ code: "ERR_CONVERSATION", end: "compensated" });
    expect(second.error).toBe(first.error);
  });

  it("may give up one by one; the dispatch is withdrawn after the last", async () => {
    const controllers = [1, 2, 3].map(() => new AbortController());
    const fates = controllers.map(({ signal }) => asked({ signal }));
    await system.idle();
    for (const [index, controller] of controllers.entries()) {
      expect(inFlight()).toBe(1);
      controller.abort(`enough ${index}`);
    }
    expect(ann.last.signal.reason).toBe("enough 2");
    await system.idle();
    expect(fates.map((one) => one.error)).toEqual(["enough 0", "enough 1", "enough 2"]);
    expect([ann.last.ack(), conversations(), inFlight()]).toEqual([false, 0, 0]);
  });

  it("get the outcome in the order in which they asked", async () => {
    const followed: number[] = [];
    for (const who of [0, 1, 2]) void system.dispatch(group, order("a")).then(() => followed.push(who));
    await system.idle();
    ann.last.ack();
    await system.idle();
    expect(followed).toEqual([0, 1, 2]);
  });

  it("are not affected by the exit of the process that asked first", async () => {
    const owner = puppet(system);
    const first = await owner.do((ctx) => ({ followed: fate(dispatch(ctx, group, order("a"))) }));
    const second = asked();
    await system.idle();
    system.exit(owner.pid, "kill");
    await system.idle();
    expect(first.followed.code).toBe("ERR_PROCESS_EXITED");
    expect([second.done, asked().done]).toEqual([false, false]);
    ann.last.reply(7);
    await system.idle();
    expect(second.value).toMatchObject({ reply: 7, duplicate: true });
    expect(ann.deliveries).toHaveLength(1);
  });

  it("end their wait when their own process exits", async () => {
    const first = asked();
    const joiner = puppet(system);
    const second = await joiner.do((ctx) => ({ followed: fate(dispatch(ctx, group, order("a"))) }));
    system.exit(joiner.pid, "kill");
    await system.idle();
    expect(second.followed.error).toMatchObject({ code: "ERR_PROCESS_EXITED", pid: joiner.pid });
    ann.last.ack();
    await system.idle();
    expect(first.value?.duplicate).toBe(false);
  });

  it("get one error when the conversation is ended from outside", async () => {
    const fates = [asked(), asked(), asked()];
    await system.idle();
    for (const pid of system.processes()) if (pid.label === "dispatch") system.exit(pid, "kill");
    await system.idle();
    expect(fates[0]?.error).toMatchObject({ code: "ERR_CONVERSATION", end: "died" });
    expect(new Set(fates.map((one) => one.error)).size).toBe(1);
    expect([ann.last.ack(), inFlight(), system.isAlive(ann.pid)]).toEqual([false, 0, true]);
    expect(await done("a")).toBe(false);
  });

  it("may be in several systems, and all fail when the system of the dispatch stops", async () => {
    await using other = new System({ environment: clock.environment, report: false });
    const first = asked();
    const joined = [100, 1_000].map((deadline) =>
      fate(other.dispatch(group, other.envelope("tea", { id: "a" }), { deadlineMs: deadline })),
    );
    await clock.advance(100);
    expect([first.done, joined[0]?.code, joined[1]?.done]).toEqual([false, "ERR_DEADLINE", false]);
    await system.stop();
    expect([first.code, joined[1]?.code]).toEqual(["ERR_CONVERSATION", "ERR_CONVERSATION"]);
  });
});

describe("a bare payload", () => {
  it("is a new dispatch every time", async () => {
    void system.dispatch(group, "tea");
    void system.dispatch(group, "tea");
    await system.idle();
    expect(ann.deliveries).toHaveLength(2);
    expect(new Set(ann.deliveries.map((one) => one.envelope.id)).size).toBe(2);
  });
});

describe("the window", () => {
  it("forgets the oldest receipts", async () => {
    for (const id of ["a", "b", "c"]) expect(await done(id)).toBe(false);
    expect(await done("c")).toBe(true);
    expect(await done("b")).toBe(true);
    expect(await done("a")).toBe(false);
  });

  it("of 0 remembers only dispatches in flight", async () => {
    group = new ConsumerGroup({ window: 0 });
    ann = desk(system, group);
    const fates = [1, 2].map(() => fate(system.dispatch(group, order("a"))));
    await system.idle();
    expect(ann.deliveries).toHaveLength(1);
    ann.last.ack();
    await system.idle();
    expect(fates[1]?.value?.duplicate).toBe(true);
    expect(await done("a")).toBe(false);
  });

  it("holds the last completed ids, within all its limits [D40]", () => {
    const step = fc.record({
      id: fc.constantFrom("a", "b", "c", "d"),
      ok: fc.boolean(),
      passed: fc.nat({ max: 4 }),
      reply: fc.string({ maxLength: 20 }),
    });
    const bytes = (reply: string): number => 8 + 2 * reply.length;
    const limits = fc.record({
      window: fc.nat({ max: 3 }),
      windowMs: fc.nat({ max: 10 }),
      windowBytes: fc.nat({ max: 80 }),
    });
    fc.assert(
      fc.property(limits, fc.array(step), (given, steps) => {
        const dedup = new Deduplication<string>(given);
        let last: { readonly id: string; readonly at: number; readonly reply: string }[] = [];
        let now = 0;
        for (const { id, ok, passed, reply } of steps) {
          now += passed;
          const sum = (): number => last.reduce((all, one) => all + bytes(one.reply), 0);
          last = last.filter((one) => now - one.at < given.windowMs);
          const receipt = dedup.receipt(id, now);
          expect(receipt?.reply).toBe(last.find((one) => one.id === id)?.reply);
          if (receipt !== undefined) continue;
          expect(dedup.inFlight(id)).toBe(undefined);
          const conversation = {} as Conversation<string>;
          dedup.claim(id, conversation);
          expect(dedup.inFlight(id)).toBe(conversation);
          if (ok) {
            dedup.complete(id, { deliveredTo: id, reply } as unknown as Outcome<string>, now);
            if (bytes(reply) <= given.windowBytes) last = [...last, { id, at: now, reply }];
            while (last.length > given.window || sum() > given.windowBytes) last = last.slice(1);
          } else {
            dedup.release(id, {} as Conversation<string>);
            expect(dedup.inFlight(id)).toBe(conversation);
            dedup.release(id, conversation);
          }
          expect(dedup.inFlight(id)).toBe(undefined);
        }
      }),
    );
  });
});

describe("a receipt", () => {
  it("is forgotten after `windowMs`, and the envelope is dispatched once more [D40]", async () => {
    group = new ConsumerGroup({ windowMs: 1_000 });
    ann = desk(system, group);
    expect(await done("a")).toBe(false);
    await clock.advance(999);
    expect(await done("a")).toBe(true);
    await clock.advance(1);
    expect(await done("a")).toBe(false);
  });

  it("does not keep the payload: a later caller gets its own envelope back [D40]", async () => {
    group = new ConsumerGroup<string>();
    ann = desk(system, group);
    const first = fate(system.dispatch(group, order("a")));
    await system.idle();
    ann.last.reply("with milk");
    await system.idle();
    const again = order("a");
    const outcome = await system.dispatch(group, again);
    expect(outcome).toEqual({ ...first.value, envelope: again, duplicate: true });
    expect(outcome.envelope).toBe(again);
    expect(JSON.stringify(group.dedup.receipt("a", clock.now))).not.toContain("tea");
  });

  it("of a dispatch with a large payload keeps nothing of the payload in memory [D40]", async () => {
    const objects = new ConsumerGroup<object>();
    const bob = desk(system, objects);
    const settled = async (): Promise<WeakRef<object>> => {
      const payload = { text: "x".repeat(1_000) };
      const followed = fate(system.dispatch(objects, system.envelope<object>(payload)));
      await system.idle();
      bob.deliveries.pop()?.ack();
      await system.idle();
      expect(followed.done).toBe(true);
      return new WeakRef(payload);
    };
    const payloads: WeakRef<object>[] = [];
    for (let i = 0; i < 10; i++) payloads.push(await settled());
    expect(await left(payloads)).toBeLessThan(2);
  });

  it("with a large reply displaces older receipts, or is not kept [D40]", async () => {
    group = new ConsumerGroup({ windowBytes: 5_000 });
    ann = desk(system, group);
    const replies: readonly unknown[] = [
      "x".repeat(1_500),
      new Uint8Array(1_500),
      { deep: [new Map([["key", "x".repeat(800)]])] },
      new Array(500_000).fill(0),
      "x".repeat(3_000),
    ];
    const kept: boolean[][] = [];
    for (const [index, reply] of replies.entries()) {
      const followed = fate(system.dispatch(group, order(`${index}`)));
      await system.idle();
      ann.last.reply(reply);
      await system.idle();
      expect(followed.value?.reply).toBe(reply);
      kept.push(replies.map((_, i) => group.dedup.receipt(`${i}`, clock.now) !== undefined));
    }
    expect(kept.map((row) => row.map(Number).join(""))).toEqual([
      "10000",
      "11000",
      "01100",
      "01100",
      "01100",
    ]);
  });

  it("with a reply that is a hostile Proxy is kept all the same", async () => {
    const hostile = new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error("no");
        },
      },
    );
    const loop: Record<string, unknown> = {
      get own() {
        throw new Error("a getter ran");
      },
    };
    loop.loop = loop;
    for (const [index, reply] of [hostile, loop].entries()) {
      const followed = fate(system.dispatch(group, order(`${index}`)));
      await system.idle();
      ann.last.reply(reply);
      await system.idle();
      expect(followed.done).toBe(true);
      expect((await system.dispatch(group, order(`${index}`))).reply).toBe(reply);
    }
  });
});

describe("a dispatch of an envelope whose promise is not awaited", () => {
  it("is an unhandled rejection of the host when it fails, like that of a bare payload", async () => {
    const seen = await hostRejections(async () => {
      await using own = new System({ report: false });
      const none = new ConsumerGroup<string>();
      doomed(own, none, "ann", "shutdown");
      void own.dispatch(none, own.envelope("tea", { id: "a" }), { maxAttempts: 1 });
      await own.idle();
    });
    expect(seen).toEqual([expect.objectContaining({ code: "ERR_ATTEMPTS_EXHAUSTED" })]);
  });
});
