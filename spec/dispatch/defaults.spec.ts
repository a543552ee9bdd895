// Groups and consumers with the options of a user who sets none.

import { ConsumerGroup, consumer, type Outcome, type Pid, reject, System, supervisor } from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type TestClock, testClock } from "../../lib/testing/kit/clock.js";
import { desk, fate } from "./support.js";

let clock: TestClock;
let system: System;
let group: ConsumerGroup<string, string>;
beforeEach(() => {
  clock = testClock();
  system = new System({ environment: clock.environment, report: false });
  group = new ConsumerGroup();
});
afterEach(() => system.stop());

/** Supervised consumers that crash once for each payload in `fatal`. */
async function shop(count: number, fatal: Set<string>): Promise<void> {
  const work = (payload: string): string => {
    if (fatal.delete(payload)) throw new Error("broken");
    return payload;
  };
  const start = consumer(work, { group });
  const children = Array.from({ length: count }, (_, i) => ({ id: `c${i}`, start }));
  await system.start(supervisor({ intensity: 1_000, children }));
}

describe("a dispatch", () => {
  it.each([1, 2, 3])(
    "outlives the moment in which all of %d consumers are restarted [D45]",
    async (count) => {
      const payloads = Array.from({ length: 50 }, (_, i) => String(i));
      await shop(count, new Set(payloads.filter((_, i) => i % 3 === 0)));
      const fates = payloads.map((payload) => fate(system.dispatch(group, payload)));
      await system.idle();
      expect(fates.map((one) => one.value?.reply ?? one.error)).toEqual(payloads);
    },
  );

  it("waits for a consumer that starts within a second [D45]", async () => {
    const early = fate(system.dispatch(group, "early"));
    const late = fate(system.dispatch(new ConsumerGroup<string>(), "late"));
    await clock.advance(999);
    expect([early.done, late.done]).toEqual([false, false]);
    await shop(1, new Set());
    await clock.advance(1);
    expect(early.value).toMatchObject({ reply: "early" });
    expect(late.error).toMatchObject({ code: "ERR_NO_CONSUMER", why: "empty" });
  });

  it("fails at once when each member has rejected it, and waits when `patienceMs` says so [D45]", async () => {
    for (let n = 0; n < 2; n++) system.spawn(consumer(() => reject("no tea"), { group }));
    await system.idle();
    const rejected = fate(system.dispatch(group, "one"));
    const patient = fate(system.dispatch(group, "two", { patienceMs: 100 }));
    await system.idle();
    expect(rejected.error).toMatchObject({ code: "ERR_NO_CONSUMER", why: "excluded" });
    const desks = desk(system, group);
    await system.idle();
    expect([patient.done, desks.payloads]).toEqual([false, ["two"]]);
  });

  it("fails at once when the buffer of each member is full [D45]", async () => {
    // Its first message is in work for ever.
    const pid = system.spawn<string>({ handle: () => new Promise(() => {}) });
    group.join(pid, { maxBuffer: 1 });
    for (const message of ["in work", "in the buffer"]) system.send(pid, message);
    await system.idle();
    const one = fate(system.dispatch(group, "one"));
    await system.idle();
    expect(one.error).toMatchObject({ code: "ERR_NO_CONSUMER", why: "none" });
    system.exit(pid, "kill");
  });
});

describe("a consumer", () => {
  /** A consumer whose work ends when the test says so. */
  function slow(): { readonly pid: Pid<never>; readonly done: string[]; next(): Promise<void> } {
    const done: string[] = [];
    let finish: (() => void) | undefined;
    const work = async (payload: string): Promise<string> => {
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      done.push(payload);
      return payload;
    };
    const pid = system.spawn(consumer(work, { group }));
    const next = async (): Promise<void> => {
      finish?.();
      await system.idle();
    };
    return { pid, done, next };
  }

  it("has 16 envelopes at most: a crash concerns these, and the rest keep their places [D46]", async () => {
    const first = slow();
    await system.idle();
    const payloads = Array.from({ length: 100 }, (_, i) => String(i));
    const outcomes: Outcome<string, string>[] = [];
    for (const payload of payloads)
      void system.dispatch(group, payload, { deadlineMs: 60_000 }).then((one) => outcomes.push(one));
    await system.idle();
    expect([group.consumers[0]?.inFlight, group.waitingCount]).toEqual([16, 84]);
    system.exit(first.pid, "kill");
    await system.idle();
    const second = slow();
    await system.idle();
    for (const _ of payloads) await second.next();
    expect(second.done).toEqual(payloads);
    expect(outcomes.filter((one) => one.attempts > 1).length).toBe(16);
  });

  it("gets an envelope of a higher priority before all that it does not have yet [D46]", async () => {
    const one = slow();
    await system.idle();
    const payloads = Array.from({ length: 100 }, (_, i) => String(i));
    for (const payload of payloads) void system.dispatch(group, payload, { deadlineMs: 60_000 });
    await system.idle();
    void system.dispatch(group, system.envelope("urgent", { priority: 9 }), { deadlineMs: 60_000 });
    await system.idle();
    for (let n = 0; n <= payloads.length; n++) await one.next();
    expect(one.done.indexOf("urgent")).toBe(16);
  });
});
