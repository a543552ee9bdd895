// The consumer group: who may be given envelopes, and how that changes.

import { ConsumerGroup, consumer, custom, type Delivery, System } from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type TestClock, testClock } from "../../lib/testing/kit/clock.js";
import { desk, fate } from "./support.js";

let clock: TestClock;
let system: System;
let group: ConsumerGroup<string>;
beforeEach(() => {
  clock = testClock();
  system = new System({ environment: clock.environment, report: false });
  group = new ConsumerGroup({ deadlineMs: Number.POSITIVE_INFINITY });
});
afterEach(() => system.stop());

const ids = (): string[] => group.consumers.map((one) => one.id);

describe("a group's members", () => {
  it("are a snapshot that joins and leaves do not change [D11]", () => {
    const before = group.consumers;
    desk(system, group, { id: "ann" });
    const between = group.consumers;
    group.leave("ann");
    expect(before).toEqual([]);
    expect(between.map((one) => one.id)).toEqual(["ann"]);
    expect(ids()).toEqual([]);
    expect(Object.isFrozen(between)).toBe(true);
  });

  it("have their pid as id by default", () => {
    const { pid } = desk(system, group);
    expect(ids()).toEqual([String(pid)]);
  });

  it("are the views that join returns", () => {
    const pid = system.spawn(consumer(() => undefined));
    const joined = group.join(pid, {
      id: "ann",
      weight: 2,
      maxInFlight: 3,
      maxBuffer: 4,
      tags: { big: true },
    });
    expect(joined).toBe(group.consumers[0]);
    expect(joined).toMatchObject({
      id: "ann",
      pid,
      weight: 2,
      maxInFlight: 3,
      maxBuffer: 4,
      tags: { big: true },
    });
    expect(joined).toMatchObject({ inFlight: 0, delivered: 0, bufferDepth: 0, pressure: "accept" });
  });

  it("leave by id or by pid, once", () => {
    const ann = desk(system, group, { id: "ann" });
    desk(system, group, { id: "bob" });
    expect(group.leave(ann.pid)).toBe(true);
    expect(group.leave("bob")).toBe(true);
    expect(group.leave("bob")).toBe(false);
    expect(group.leave(ann.pid)).toBe(false);
  });

  it("may be one process under two ids, which leaves by its pid as a whole", () => {
    const { pid } = desk(system, group, { id: "ann" });
    group.join(pid, { id: "annie" });
    expect(ids()).toEqual(["ann", "annie"]);
    group.leave(pid);
    expect(ids()).toEqual([]);
  });

  it("leave by their exit", async () => {
    const ann = desk(system, group, { id: "ann" });
    desk(system, group, { id: "bob" });
    system.exit(ann.pid, "kill");
    await system.idle();
    expect(ids()).toEqual(["bob"]);
  });

  it("leave by their exit also after they left and joined again", async () => {
    const ann = desk(system, group, { id: "ann" });
    await system.idle();
    for (let i = 0; i < 3; i++) {
      group.leave("ann");
      group.join(ann.pid, { id: "ann" });
    }
    await system.idle();
    expect(system.info(ann.pid)?.monitoredBy).toHaveLength(1);
    system.exit(ann.pid, "kill");
    await system.idle();
    expect(ids()).toEqual([]);
  });

  it("have unique ids", () => {
    desk(system, group, { id: "ann" });
    expect(() => desk(system, group, { id: "ann" })).toThrow(
      expect.objectContaining({ code: "ERR_OPTION", path: "id", value: "ann" }),
    );
    expect(ids()).toEqual(["ann"]);
  });

  it("free their id by their exit at once, for the restarted process", () => {
    const ann = desk(system, group, { id: "ann" });
    system.exit(ann.pid, "kill");
    const next = desk(system, group, { id: "ann" });
    expect(group.consumers.map((one) => one.pid)).toEqual([next.pid]);
  });

  it("must be running processes", () => {
    const { pid } = desk(system, group);
    system.exit(pid, "kill");
    for (const one of [pid, "ann" as never])
      expect(() => group.join(one)).toThrow(expect.objectContaining({ code: "ERR_NO_PROCESS" }));
  });
});

describe("joining and leaving", () => {
  it("take effect at the next choice", async () => {
    const ann = desk(system, group, { id: "ann" });
    void system.dispatch(group, "one");
    await system.idle();
    const bob = desk(system, group, { id: "bob" });
    void system.dispatch(group, "two");
    await system.idle();
    group.leave("bob");
    void system.dispatch(group, "three");
    await system.idle();
    expect(ann.payloads).toEqual(["one", "three"]);
    expect(bob.payloads).toEqual(["two"]);
  });

  it("do not move envelopes in flight", async () => {
    const ann = desk(system, group, { id: "ann" });
    const dispatch = system.dispatch(group, "one");
    await system.idle();
    group.leave("ann");
    ann.last.ack();
    expect((await dispatch).deliveredTo).toBe("ann");
  });
});

describe("a consumer made with its group", () => {
  it("joins when it starts", async () => {
    system.spawn(consumer((order: string) => order.length, { group, id: "ann", weight: 3 }));
    await system.idle();
    expect(group.consumers[0]).toMatchObject({ id: "ann", weight: 3 });
    expect((await system.dispatch(group, "four")).reply).toBe(4);
  });
});

describe("the process that watches the members", () => {
  it("is one for a group, and is replaced after it was killed", async () => {
    const ann = desk(system, group, { id: "ann" });
    desk(system, group, { id: "bob" });
    const keepers = (): typeof all => system.processes().filter((pid) => pid.label === "group consumers");
    const all = system.processes();
    expect(keepers()).toHaveLength(1);
    system.exit(keepers()[0] as (typeof all)[0], "kill");
    desk(system, group, { id: "cem" });
    await system.idle();
    expect(keepers()).toHaveLength(1);
    system.exit(ann.pid, "kill");
    await system.idle();
    expect(ids()).toEqual(["bob", "cem"]);
  });

  it("is one in each system; a dispatch goes to the members of its own system", async () => {
    await using other = new System({ environment: clock.environment, report: false });
    const here = desk(system, group, { id: "here" });
    const there = desk(other, group, { id: "there" });
    void other.dispatch(group, "two").catch(() => undefined);
    await other.idle();
    void system.dispatch(group, "one");
    await system.idle();
    expect(here.payloads).toEqual(["one"]);
    expect(there.payloads).toEqual(["two"]);
    expect(there.last.attempt).toBe(1);
    other.exit(there.pid, "kill");
    await other.idle();
    expect(ids()).toEqual(["here"]);
  });
});

describe("a consumer's counters", () => {
  it("are live: `inFlight` counts from forwarding to settlement, `delivered` never falls", async () => {
    const ann = desk(system, group, { id: "ann" });
    const [view] = group.consumers;
    const dispatches = ["one", "two"].map((payload) => system.dispatch(group, payload));
    await system.idle();
    expect(view).toMatchObject({ inFlight: 2, delivered: 2 });
    ann.last.ack();
    await dispatches[1];
    expect(view).toMatchObject({ inFlight: 1, delivered: 2 });
    ann.deliveries[0]?.reject("no");
    await fateOf(dispatches[0]);
    expect(view).toMatchObject({ inFlight: 0, delivered: 2 });
  });

  it("have the number of messages in the mailbox", async () => {
    const view = group.join(
      system.spawn<Delivery<string>>({ handle: () => new Promise<void>(() => undefined) }),
    );
    for (const payload of ["one", "two", "three"])
      void system.dispatch(group, payload).catch(() => undefined);
    await system.idle();
    expect(view.bufferDepth).toBe(2);
  });
});

describe("the routing function of a group", () => {
  it("may be replaced: dispatches that have begun keep the old one [D12]", async () => {
    const seen: string[] = [];
    group.route = (one, [first]) => {
      seen.push(`old ${one.payload}`);
      return first;
    };
    const ann = desk(system, group, { id: "ann" });
    const bob = desk(system, group, { id: "bob" });
    void system.dispatch(group, "one");
    await system.idle();
    group.route = (one) => {
      seen.push(`new ${one.payload}`);
      return "bob";
    };
    void system.dispatch(group, "two");
    await system.idle();
    system.exit(ann.pid, custom("broken"));
    await system.idle();
    expect(seen).toEqual(["old one", "new two", "old one"]);
    expect(bob.payloads).toEqual(["two", "one"]);
  });

  it("is refused when it is not a routing function", () => {
    expect(() => {
      group.route = "leastLoaded" as never;
    }).toThrow(expect.objectContaining({ code: "ERR_OPTION", path: "route" }));
  });
});

const fateOf = async (promise: Promise<unknown> | undefined): Promise<void> => {
  const followed = fate(promise ?? Promise.resolve());
  await system.idle();
  expect(followed.done).toBe(true);
};
