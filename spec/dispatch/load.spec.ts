// Envelopes that a consumer works on are its load, even if their dispatch has ended. Envelopes that it has not begun are taken
// back.

import { ConsumerGroup, consumer, type Delivery, dispatch, System } from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type TestClock, testClock } from "../../lib/testing/kit/clock.js";
import { desk, fate } from "./support.js";

let clock: TestClock;
let system: System;
let group: ConsumerGroup<string>;
beforeEach(() => {
  clock = testClock();
  system = new System({ environment: clock.environment, report: false });
  group = new ConsumerGroup({ name: "clerks" });
});
afterEach(() => system.stop({ timeoutMs: 0 }));

const sleep = (ms: number): Promise<void> => new Promise((fire) => system.kernel.addTimer(ms, { fire }));

describe("the load of a consumer", () => {
  it("stays after a deadline: the healthy consumer gets the dispatches, not the stuck one [D16]", async () => {
    const stuck = desk(system, group, { id: "stuck" });
    group.join(system.spawn(consumer(() => undefined)), { id: "healthy" });
    const lost = fate(system.dispatch(group, "lost", { deadlineMs: 10 }));
    await clock.advance(10);
    expect(lost.code).toBe("ERR_DEADLINE");
    const outcomes: string[] = [];
    for (let n = 0; n < 100; n++) outcomes.push((await system.dispatch(group, `order ${n}`)).deliveredTo);
    expect(outcomes).toEqual(outcomes.map(() => "healthy"));
    expect(stuck.payloads).toEqual(["lost"]);
  });

  it("stays after an abort, so that it never exceeds `maxInFlight` [D16]", async () => {
    const ann = desk(system, group, { maxInFlight: 1 });
    const controller = new AbortController();
    const one = fate(system.dispatch(group, "one", { signal: controller.signal }));
    void system.dispatch(group, "two");
    await system.idle();
    controller.abort("enough");
    await system.idle();
    expect(one.error).toBe("enough");
    expect(ann.payloads).toEqual(["one"]);
    expect(ann.last.ack()).toBe(false);
    await system.idle();
    expect(ann.payloads).toEqual(["one", "two"]);
  });

  it("stays when the consumer leaves and joins again [D16]", async () => {
    const ann = desk(system, group, { id: "ann", maxInFlight: 1 });
    void system.dispatch(group, "one");
    await system.idle();
    group.leave("ann");
    group.join(ann.pid, { id: "ann", maxInFlight: 1 });
    void system.dispatch(group, "two");
    await system.idle();
    expect([ann.payloads, group.consumers[0]?.inFlight]).toEqual([["one"], 1]);
    ann.last.ack();
    await system.idle();
    expect(ann.payloads).toEqual(["one", "two"]);
    ann.last.ack();
    await system.idle();
    expect(group.consumers[0]?.inFlight).toBe(0);
  });

  it("falls to zero at once when the consumer exits", async () => {
    const ann = desk(system, group);
    const [view] = group.consumers;
    void fate(system.dispatch(group, "one", { deadlineMs: 10 }));
    await clock.advance(10);
    expect(view?.inFlight).toBe(1);
    system.exit(ann.pid, "kill");
    expect(view?.inFlight).toBe(0);
  });

  it("falls by one when the consumer settles, in whichever way, and only once", async () => {
    const ann = desk(system, group);
    for (const payload of ["a", "b", "c", "d"])
      void fate(system.dispatch(group, payload, { deadlineMs: 10 }));
    await clock.advance(10);
    const [a, b, c, d] = ann.deliveries as [Delivery, Delivery, Delivery, Delivery];
    const left = [a.ack(), b.reply(1), c.reject("no"), d.reject("no", { final: true }), a.ack()];
    expect(left).toEqual([false, false, false, false, false]);
    expect(group.consumers[0]?.inFlight).toBe(0);
  });

  it("lasts for the handoff window where the consumer cannot acknowledge, even if the dispatch ends earlier", async () => {
    const pid = system.spawn<string>({ handle: () => undefined });
    group.join(pid, { acknowledges: false, maxInFlight: 1 });
    const one = fate(system.dispatch(group, "one", { handoffMs: 100, deadlineMs: 40 }));
    await clock.advance(40);
    expect([one.code, group.consumers[0]?.inFlight]).toEqual(["ERR_DEADLINE", 1]);
    await clock.advance(59);
    expect(group.consumers[0]?.inFlight).toBe(1);
    await clock.advance(1);
    expect(group.consumers[0]?.inFlight).toBe(0);
  });
});

describe("an envelope whose dispatch has ended", () => {
  it("is taken back from the mailbox where it waits, with its slot [D17]", async () => {
    const taken: string[] = [];
    const busy = new Promise<void>(() => undefined);
    const pid = system.spawn<Delivery<string>>({
      handle: (_ctx, delivery) => {
        taken.push(delivery.payload);
        return busy;
      },
    });
    group.join(pid);
    const [view] = group.consumers;
    const controller = new AbortController();
    void fate(system.dispatch(group, "at work"));
    void fate(system.dispatch(group, "late", { deadlineMs: 10 }));
    void fate(system.dispatch(group, "aborted", { signal: controller.signal }));
    await clock.advance(0);
    expect([view?.inFlight, view?.bufferDepth]).toEqual([3, 2]);
    controller.abort();
    expect([view?.inFlight, view?.bufferDepth]).toEqual([2, 1]);
    await clock.advance(10);
    expect([view?.inFlight, view?.bufferDepth]).toEqual([1, 0]);
    expect(taken).toEqual(["at work"]);
  });

  it("is not worked on when its callers retry: only work that began in time is in vain [D17]", async () => {
    // Ten callers ask one clerk, who takes 40 ms for each. Each waits 100 ms, and asks three times.
    let executions = 0;
    const work = async (): Promise<void> => {
      executions++;
      await sleep(40);
    };
    group.join(system.spawn(consumer<string>(work)));
    let served = 0;
    for (let n = 0; n < 10; n++) {
      system.spawn(async (ctx) => {
        for (let round = 0; round < 3; round++) {
          const outcome = await dispatch(ctx, group, `order ${n}`, { deadlineMs: 100 }).catch(
            () => undefined,
          );
          if (outcome === undefined) continue;
          served++;
          return;
        }
      });
    }
    await clock.advance(1_000);
    expect(served).toBeGreaterThan(4);
    expect(executions - served).toBeLessThanOrEqual(3);
    expect(group.consumers[0]?.inFlight).toBe(0);
  });
});

describe("the signal of a delivery", () => {
  it("is aborted when its dispatch ends while the consumer works on it, with the caller's error [D18]", async () => {
    const ann = desk(system, group);
    const controller = new AbortController();
    const late = fate(system.dispatch(group, "late", { deadlineMs: 10 }));
    const aborted = fate(system.dispatch(group, "aborted", { signal: controller.signal }));
    await system.idle();
    const signals = ann.deliveries.map((delivery) => delivery.signal);
    controller.abort("enough");
    await clock.advance(10);
    expect(signals.map((signal) => signal.reason)).toEqual([late.error, "enough"]);
    expect([late.code, aborted.error]).toEqual(["ERR_DEADLINE", "enough"]);
  });

  it("is aborted already when it is read after that", async () => {
    const ann = desk(system, group);
    const late = fate(system.dispatch(group, "late", { deadlineMs: 10 }));
    await clock.advance(10);
    expect(ann.last.signal.reason).toBe(late.error);
  });

  it("is not aborted when the consumer itself ended the dispatch", async () => {
    const [ann, bob] = [desk(system, group), desk(system, group)];
    group.route = (_envelope, [first]) => first;
    const followed = fate(system.dispatch(group, "one", { maxAttempts: 2 }));
    await system.idle();
    ann.last.reject("no");
    await system.idle();
    system.exit(bob.pid, "kill");
    await system.idle();
    expect(followed.code).toBe("ERR_ATTEMPTS_EXHAUSTED");
    const done = fate(system.dispatch(group, "two"));
    await system.idle();
    ann.last.ack();
    await system.idle();
    expect(done.value?.attempts).toBe(1);
    expect([...ann.deliveries, ...bob.deliveries].map(({ signal }) => signal.aborted)).toEqual([
      false,
      false,
      false,
    ]);
  });

  it("frees a consumer that obeys it: a job that it ends is no crash [D18]", async () => {
    const pid = system.spawn(
      consumer(
        (_payload: string, { signal }) =>
          new Promise((_, reject) => (signal.onabort = () => reject(signal.reason))),
      ),
    );
    group.join(pid);
    const late = fate(system.dispatch(group, "late", { deadlineMs: 10 }));
    await clock.advance(10);
    await system.idle();
    expect(late.code).toBe("ERR_DEADLINE");
    expect(system.isAlive(pid)).toBe(true);
    expect(group.consumers[0]?.inFlight).toBe(0);
  });
});
