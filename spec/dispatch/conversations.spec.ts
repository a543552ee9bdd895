// Dispatches end to end: how a consumer settles one, and what the outcome has.

import {
  ConsumerGroup,
  consumer,
  custom,
  type Delivery,
  type Pid,
  RejectedError,
  refuse,
  reject,
  System,
  stop,
} from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type TestClock, testClock } from "../../lib/testing/kit/clock.js";
import { gate } from "../support/gate.js";
import { desk, doomed, fate } from "./support.js";

let clock: TestClock;
let system: System;
let group: ConsumerGroup<string>;
beforeEach(() => {
  clock = testClock();
  system = new System({ environment: clock.environment, report: false });
  group = new ConsumerGroup({ name: "clerks" });
});
afterEach(() => system.stop());

const broken = custom("broken");

describe("a dispatch", () => {
  it("completes by an acknowledgement, at once, with a full outcome", async () => {
    const ann = desk(system, group, { id: "ann" });
    const dispatch = fate(system.dispatch(group, "one"));
    await system.idle();
    expect(dispatch.done).toBe(false);
    expect(ann.last.attempt).toBe(1);
    expect(ann.last.ack()).toBe(true);
    await system.idle();
    expect(dispatch.value).toEqual({
      envelope: ann.last.envelope,
      deliveredTo: "ann",
      pid: ann.pid,
      settledBy: "ack",
      reply: undefined,
      attempts: 1,
      reroutedFrom: [],
      rerouteTimings: [],
      duplicate: false,
    });
    expect(clock.now).toBe(0);
  });

  it("completes by a reply, and the outcome has the reply", async () => {
    const ann = desk(system, group);
    const dispatch = fate(system.dispatch(group, "one"));
    await system.idle();
    ann.last.reply(undefined);
    await system.idle();
    expect(dispatch.value).toMatchObject({ settledBy: "reply", reply: undefined });
  });

  it("goes to another consumer after a rejection, and the rejecting consumer lives on", async () => {
    const ann = desk(system, group, { id: "ann" });
    const bob = desk(system, group, { id: "bob" });
    const dispatch = fate(system.dispatch(group, "one"));
    await system.idle();
    ann.last.reject(new Error("no tea"));
    await system.idle();
    expect(bob.last.attempt).toBe(2);
    bob.last.ack();
    await system.idle();
    expect(dispatch.value).toMatchObject({
      deliveredTo: "bob",
      attempts: 2,
      reroutedFrom: ["ann"],
      rerouteTimings: [],
    });
    expect(system.isAlive(ann.pid)).toBe(true);
    expect(system.info(ann.pid)?.links).toEqual([]);
  });

  it("rejected with `final` goes to no other consumer, and is a dead letter", async () => {
    const letters: unknown[] = [];
    system.events.on("undeliverable", (letter) => letters.push(letter));
    const ann = desk(system, group, { id: "ann" });
    const bob = desk(system, group);
    const dispatch = fate(system.dispatch(group, "one"));
    await system.idle();
    ann.last.reject("not an order", { final: true });
    await system.idle();
    const reason = custom("not an order");
    expect(dispatch.error).toBeInstanceOf(RejectedError);
    expect(dispatch.error).toMatchObject({ code: "ERR_REJECTED", cause: "not an order" });
    expect(bob.deliveries).toEqual([]);
    const history = [{ attempt: 1, consumer: "ann", end: "rejected", reason, at: 0 }];
    expect(letters).toEqual([
      { group: "clerks", envelope: ann.last.envelope, history, error: dispatch.error },
    ]);
    expect(system.deadLetters).toBe(1);
  });

  it("is settled once: settling it again returns false and changes nothing", async () => {
    const ann = desk(system, group);
    const dispatch = fate(system.dispatch(group, "one"));
    await system.idle();
    expect([ann.last.reply(1), ann.last.reply(2), ann.last.ack(), ann.last.reject("no")]).toEqual([
      true,
      false,
      false,
      false,
    ]);
    await system.idle();
    expect(dispatch.value?.reply).toBe(1);
    expect(ann.last.ack()).toBe(false);
  });

  it("leaves nothing behind: no process, no timer, no link", async () => {
    const ann = desk(system, group);
    await system.idle();
    const before = system.population;
    void system.dispatch(group, "one", { patienceMs: 100, deadlineMs: 200 });
    await system.idle();
    ann.last.ack();
    await system.idle();
    expect(system.population).toBe(before);
    expect(system.kernel.pendingTimers).toBe(0);
    expect(system.info(ann.pid)?.links).toEqual([]);
  });

  it("sends no signal to a consumer that traps exits", async () => {
    const signals: unknown[] = [];
    const pid = system.spawn<Delivery<string>>(
      {
        handle: (_ctx, delivery) => void delivery.ack(),
        signal: (_ctx, signal) => void signals.push(signal),
      },
      { trapExit: true },
    );
    group.join(pid);
    await system.dispatch(group, "one");
    await system.idle();
    expect(signals).toEqual([]);
  });

  it("is refused by a stopped system", async () => {
    await system.stop();
    await expect(system.dispatch(group, "one")).rejects.toMatchObject({ code: "ERR_SYSTEM_STOPPED" });
  });
});

describe("a consumer from a function", () => {
  const dispatched = async (work: Parameters<typeof consumer<string>>[0]): Promise<unknown> => {
    group.join(system.spawn(consumer(work)));
    const dispatch = fate(system.dispatch(group, "one"));
    await system.idle();
    // A consumer that crashed is waited for.
    await clock.advance(1_000);
    return dispatch.value ?? dispatch.error;
  };

  it("acknowledges when it returns nothing", async () => {
    expect(await dispatched(() => undefined)).toMatchObject({ settledBy: "ack" });
  });

  it("replies with the value that it returns", async () => {
    expect(await dispatched((payload) => payload.length)).toMatchObject({ settledBy: "reply", reply: 3 });
  });

  it("replies with the value that its promise resolves to", async () => {
    expect(await dispatched(async (payload) => `${payload}!`)).toMatchObject({ reply: "one!" });
  });

  it("rejects by returning `reject(…)`: another consumer gets the envelope", async () => {
    const error = new RangeError("no tea");
    expect(await dispatched(() => reject(error))).toMatchObject({
      code: "ERR_NO_CONSUMER",
      why: "excluded",
      history: [{ end: "rejected", reason: { type: "crash", error } }],
    });
  });

  it("rejects with `final`, and the caller gets the consumer's own error as the cause [D25]", async () => {
    const cause = new RangeError("no tea");
    const error = await dispatched(async () => reject(cause, { final: true }));
    expect(error).toBeInstanceOf(RejectedError);
    expect(error).toMatchObject({ code: "ERR_REJECTED", history: [{ end: "rejected" }] });
    expect((error as RejectedError).cause).toBe(cause);
  });

  it("crashes when it returns a server's `refuse(…)`", async () => {
    const text = "reject(…) in a consumer";
    for (const work of [() => refuse(new Error("no")), async () => refuse(new Error("no"))])
      expect(await dispatched(work)).toMatchObject({
        history: [{ reason: { error: { code: "ERR_OPTION", message: expect.stringContaining(text) } } }],
      });
  });

  it("crashes when it throws or its promise rejects", async () => {
    const crashed = { history: [{ end: "crashed", reason: { type: "crash", error: new Error("broken") } }] };
    const work = (): never => {
      throw new Error("broken");
    };
    expect(await dispatched(work)).toMatchObject(crashed);
    expect(await dispatched(async () => work())).toMatchObject(crashed);
  });

  it("acknowledges and ends when it returns stop", async () => {
    expect(await dispatched(() => stop())).toMatchObject({ settledBy: "ack", attempts: 1 });
    expect(group.consumers).toEqual([]);
  });

  it("may settle the delivery itself, before its work is done", async () => {
    const done = gate();
    const outcome = dispatched(async (_payload, delivery) => {
      delivery.reply("early");
      await done.promise;
      return "late";
    });
    expect(await outcome).toMatchObject({ reply: "early" });
    done.open();
    await system.idle();
    expect(group.consumers[0]?.inFlight).toBe(0);
  });

  it("works on one envelope after the other", async () => {
    const log: string[] = [];
    group.join(
      system.spawn(
        consumer(async (payload: string) => {
          log.push(`${payload} begins`);
          await Promise.resolve();
          log.push(`${payload} ends`);
        }),
      ),
    );
    await Promise.all([system.dispatch(group, "one"), system.dispatch(group, "two")]);
    expect(log).toEqual(["one begins", "one ends", "two begins", "two ends"]);
  });
});

describe("a consumer that cannot acknowledge", () => {
  const bare = (id: string, taken: unknown[], end?: boolean): void => {
    const pid = system.spawn<unknown>({
      handle: (_ctx, payload) => {
        taken.push(payload);
        return end === true ? stop(broken) : undefined;
      },
    });
    group.join(pid, { id, acknowledges: false });
  };

  it("gets the bare payload, and counts as delivered when it is alive after the handoff window", async () => {
    const taken: unknown[] = [];
    bare("ann", taken);
    const dispatch = fate(system.dispatch(group, "one"));
    await clock.advance(249);
    expect(taken).toEqual(["one"]);
    expect(dispatch.done).toBe(false);
    expect(group.consumers[0]?.inFlight).toBe(1);
    await clock.advance(1);
    expect(dispatch.value).toMatchObject({ deliveredTo: "ann", settledBy: "handoff", attempts: 1 });
    expect(group.consumers[0]?.inFlight).toBe(0);
  });

  it("ends within the handoff window: another consumer gets the envelope, and a window of its own", async () => {
    const taken: unknown[] = [];
    bare("ann", taken, true);
    const dispatch = fate(system.dispatch(group, "one", { handoffMs: 100, patienceMs: 1_000 }));
    await clock.advance(60);
    bare("bob", taken);
    await clock.advance(60);
    expect(dispatch.done).toBe(false); // ann's window passed in between
    await clock.advance(40);
    expect(dispatch.value).toMatchObject({ deliveredTo: "bob", reroutedFrom: ["ann"], settledBy: "handoff" });
    expect(taken).toEqual(["one", "one"]);
  });
});

describe("a consumer whose bounded mailbox is full", () => {
  /** At work for ever on one message, with another in a mailbox that holds one. */
  async function full(id: string, overflow: "reject" | "exit"): Promise<Pid<unknown>> {
    const never = new Promise<void>(() => undefined);
    const pid = system.spawn<unknown>({ handle: () => never }, { mailbox: { capacity: 1, overflow } });
    system.send(pid, "at work on this");
    await system.idle();
    system.send(pid, "waits");
    group.join(pid, { id });
    return pid;
  }

  it("is passed over with policy `reject`", async () => {
    const ann = await full("ann", "reject");
    const bob = desk(system, group, { id: "bob" });
    const dispatch = fate(system.dispatch(group, "one"));
    await system.idle();
    bob.last.ack();
    await system.idle();
    expect(dispatch.value).toMatchObject({ deliveredTo: "bob", reroutedFrom: ["ann"], attempts: 2 });
    expect(system.info(ann)).toMatchObject({ mailboxDepth: 1, links: [] });
    expect(group.consumers[0]?.inFlight).toBe(0);
  });

  it("ends with policy `exit`, which is a crash like any other", async () => {
    await full("ann", "exit");
    const bob = desk(system, group, { id: "bob" });
    const dispatch = fate(system.dispatch(group, "one"));
    await system.idle();
    bob.last.ack();
    await system.idle();
    expect(dispatch.value?.rerouteTimings).toMatchObject([
      { consumer: "ann", reason: { type: "crash", error: { code: "ERR_MAILBOX_FULL" } } },
    ]);
  });

  it("does not appear in the timings as the consumer that crashed before it", async () => {
    group.route = (_envelope, [first]) => first;
    doomed(system, group, "ann", broken);
    await full("bob", "reject");
    const cem = desk(system, group, { id: "cem" });
    const dispatch = fate(system.dispatch(group, "one"));
    await system.idle();
    cem.last.ack();
    await system.idle();
    expect(dispatch.value?.reroutedFrom).toEqual(["ann", "bob"]);
    expect(dispatch.value?.rerouteTimings).toMatchObject([{ consumer: "ann", reason: broken }]);
  });
});
