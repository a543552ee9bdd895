// Dispatches that end before a consumer has settled them: by deadline, by the caller, by the conversation's own end.

import { ConsumerGroup, consumer, custom, type Delivery, dispatch, System } from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type TestClock, testClock } from "../../lib/testing/kit/clock.js";
import { gate } from "../support/gate.js";
import { puppet } from "../support/puppet.js";
import { desk, fate } from "./support.js";

let clock: TestClock;
let system: System;
let group: ConsumerGroup<string>;
beforeEach(() => {
  clock = testClock();
  system = new System({ environment: clock.environment, report: false });
  group = new ConsumerGroup({ name: "clerks" });
});
afterEach(() => system.stop());

const conversation = (): ReturnType<System["processes"]>[0] => {
  const found = system.processes().find((pid) => pid.label === "dispatch");
  if (found === undefined) throw new Error("no conversation runs");
  return found;
};

describe("a deadline", () => {
  it("ends the dispatch then, not before; the consumer keeps its envelope, and its answer is ignored", async () => {
    const ann = desk(system, group, { id: "ann" });
    const bob = desk(system, group);
    const one = fate(system.dispatch(group, "one", { deadlineMs: 100 }));
    await clock.advance(99);
    expect(one.done).toBe(false);
    await clock.advance(1);
    expect(one.error).toMatchObject({ code: "ERR_DEADLINE", deadlineMs: 100, history: [] });
    expect(group.consumers.map((view) => view.inFlight)).toEqual([1, 0]);
    expect(ann.last.ack()).toBe(false);
    expect(group.consumers.map((view) => view.inFlight)).toEqual([0, 0]);
    expect(system.isAlive(ann.pid)).toBe(true);
    expect(bob.deliveries).toEqual([]);
    expect(system.processes().some((pid) => pid.label === "dispatch")).toBe(false);
  });

  it("counts from the dispatch on, over all attempts", async () => {
    const ann = desk(system, group, { id: "ann" });
    const bob = desk(system, group);
    const one = fate(system.dispatch(group, "one", { deadlineMs: 100 }));
    await clock.advance(60);
    ann.last.reject("no");
    await clock.advance(40);
    expect(bob.deliveries).toHaveLength(1);
    expect(one.error).toMatchObject({
      code: "ERR_DEADLINE",
      history: [{ consumer: "ann", end: "rejected" }],
    });
  });

  it("of Infinity is none", async () => {
    desk(system, group);
    const one = fate(system.dispatch(group, "one", { deadlineMs: Number.POSITIVE_INFINITY }));
    await clock.advance(1e9);
    expect(one.done).toBe(false);
  });
});

describe("an AbortSignal", () => {
  it("withdraws the dispatch with its reason, and the consumer's answer is not waited for", async () => {
    const ann = desk(system, group);
    const controller = new AbortController();
    const one = fate(system.dispatch(group, "one", { signal: controller.signal }));
    await system.idle();
    controller.abort("enough");
    await system.idle();
    expect(one.error).toBe("enough");
    expect(ann.last.ack()).toBe(false);
    expect(system.processes().some((pid) => pid.label === "dispatch")).toBe(false);
  });

  it("that is aborted already dispatches nothing", async () => {
    const ann = desk(system, group);
    const one = fate(system.dispatch(group, "one", { signal: AbortSignal.abort("before") }));
    await system.idle();
    expect(one.error).toBe("before");
    expect(ann.deliveries).toEqual([]);
  });

  it("before the first turn ends it before a consumer is asked", async () => {
    const ann = desk(system, group);
    const controller = new AbortController();
    const one = fate(system.dispatch(group, "one", { signal: controller.signal }));
    controller.abort("enough");
    await system.idle();
    expect(one.error).toBe("enough");
    expect(ann.deliveries).toEqual([]);
    expect(system.processes().some((pid) => pid.label === "dispatch")).toBe(false);
  });

  it("aborted by the routing function itself ends it before anything is forwarded", async () => {
    const ann = desk(system, group);
    const controller = new AbortController();
    group.route = (_envelope, [first]) => {
      controller.abort("enough");
      return first;
    };
    const one = fate(system.dispatch(group, "one", { signal: controller.signal }));
    await system.idle();
    expect(one.error).toBe("enough");
    expect(ann.deliveries).toEqual([]);
    expect(group.consumers[0]?.inFlight).toBe(0);
    expect(system.processes().some((pid) => pid.label === "dispatch")).toBe(false);
  });

  it("is let go of when the dispatch has ended", async () => {
    const controller = new AbortController();
    group.join(system.spawn(consumer(() => undefined)));
    const outcome = await system.dispatch(group, "one", { signal: controller.signal });
    controller.abort("enough");
    expect(outcome.settledBy).toBe("ack");
  });
});

describe("a dispatch in a process's name", () => {
  it("gives the outcome to that process", async () => {
    group.join(system.spawn(consumer((order: string) => order.length)));
    const replies: unknown[] = [];
    system.spawn(async (ctx) => {
      replies.push((await dispatch(ctx, group, "four")).reply);
    });
    await system.idle();
    expect(replies).toEqual([4]);
  });

  it("is withdrawn when the process exits", async () => {
    const ann = desk(system, group);
    const owner = puppet(system);
    let error: unknown;
    await owner.do((ctx) => {
      dispatch(ctx, group, "one").catch((reason) => {
        error = reason;
      });
    });
    await system.idle();
    system.exit(owner.pid, custom("gone"));
    expect(ann.last.signal.aborted).toBe(true);
    await system.idle();
    expect(error).toMatchObject({ code: "ERR_PROCESS_EXITED", pid: owner.pid });
    expect(ann.last.ack()).toBe(false);
    expect(system.processes().some((pid) => pid.label === "dispatch")).toBe(false);
  });

  it("is refused when the process has exited", async () => {
    const ann = desk(system, group);
    let late!: () => Promise<unknown>;
    const pid = system.spawn<never>({
      init: (ctx) => {
        late = () => dispatch(ctx, group, "one");
      },
      handle: () => undefined,
    });
    await system.idle();
    system.exit(pid, "kill");
    await expect(late()).rejects.toMatchObject({ code: "ERR_PROCESS_EXITED" });
    await system.idle();
    expect(ann.deliveries).toEqual([]);
  });
});

describe("a conversation that is ended from outside", () => {
  it("is reported to the caller, and frees its consumer", async () => {
    const ann = desk(system, group, { id: "ann" });
    const one = fate(system.dispatch(group, "one"));
    await system.idle();
    const [view] = group.consumers;
    expect(view?.inFlight).toBe(1);
    system.exit(conversation(), "kill");
    await system.idle();
    expect(one.error).toMatchObject({ code: "ERR_CONVERSATION", end: "died", reason: { type: "killed" } });
    expect(ann.last.signal.reason).toBe(one.error);
    expect([view?.inFlight, ann.last.ack(), view?.inFlight]).toEqual([1, false, 0]);
  });

  it("gives its vacancy to a waiting dispatch, and its place in the line back", async () => {
    const never = gate();
    const ann = system.spawn<Delivery<string>>({ handle: () => undefined, init: () => never.promise });
    group.join(ann, { maxInFlight: 1 });
    const fates = ["one", "two", "three"].map((payload) => fate(system.dispatch(group, payload)));
    await system.idle();
    const conversations = system.processes().filter((pid) => pid.label === "dispatch");
    const first = conversations.find((pid) => system.info(pid)?.links.includes(ann));
    const second = conversations.find((pid) => pid !== first);
    if (first === undefined || second === undefined) throw new Error("no conversations run");
    system.exit(second, "kill");
    expect(group.waitingCount).toBe(1);
    system.exit(first, "kill");
    await system.idle();
    expect(fates.map((one) => one.code)).toEqual(["ERR_CONVERSATION", "ERR_CONVERSATION", undefined]);
    expect(group.consumers[0]).toMatchObject({ inFlight: 1, delivered: 2 });
    expect(group.waitingCount).toBe(0);
  });

  it("also right after the caller gave up, gives back what it held", async () => {
    const ann = desk(system, group);
    const controller = new AbortController();
    const one = fate(system.dispatch(group, "one", { signal: controller.signal }));
    await system.idle();
    const pid = conversation();
    controller.abort("enough");
    system.exit(pid, "kill");
    await system.idle();
    expect(one.error).toBe("enough");
    expect(ann.last.ack()).toBe(false);
    expect(group.consumers[0]?.inFlight).toBe(0);
    expect(system.isAlive(ann.pid)).toBe(true);
  });

  it("by the end of its system is reported too", async () => {
    const never = gate();
    group.join(system.spawn(consumer(() => never.promise)));
    const one = fate(system.dispatch(group, "one"));
    await system.idle();
    const stopped = system.stop();
    await clock.advance(5_000);
    await stopped;
    expect(one.error).toMatchObject({ code: "ERR_CONVERSATION", end: "died" });
  });
});
