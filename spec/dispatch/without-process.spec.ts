// A dispatch has no process until it needs one or somebody looks (docs/decisions/0176): nobody can tell the difference.

import { ConsumerGroup, consumer, type Delivery, type Pid, System } from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { decide, delivered, type Identified, initial } from "../../lib/dispatch/conversation-machine.js";
import { desk, fate } from "./support.js";

let system: System;
beforeEach(() => {
  system = new System({ report: false });
});
afterEach(() => system.stop());

/** Processes as the kernel counts them: a look by `system.processes()` would give each dispatch its own. */
const running = (): number => system.kernel.population;

const conversations = (): readonly Pid<unknown>[] =>
  system.processes().filter(({ label }) => label === "dispatch");

const watcher = (): Pid<unknown> => {
  const found = system.processes().find(({ label }) => label === "group consumers");
  if (found === undefined) throw new Error("no watcher runs");
  return found;
};

describe("a dispatch without a process", () => {
  it("is one that its first consumer acknowledges", async () => {
    const group = new ConsumerGroup<number, number>();
    group.join(system.spawn(consumer((n: number) => n * 2)));
    const before = running();
    const dispatched = system.dispatch(group, 21);
    expect(running()).toBe(before);
    expect(await dispatched).toMatchObject({ reply: 42, attempts: 1 });
    expect(running()).toBe(before);
  });

  it("is in the state to which the machine leads by the same choice [D660]", () => {
    const ann: Identified = { id: "ann" };
    const policy = { onCrash: "reroute", maxAttempts: 3 } as const;
    const [begun] = decide(policy, initial<Identified>(), { type: "begin" });
    const [state, effects] = decide(policy, begun, { type: "selected", consumer: ann, pressure: "accept" });
    expect(delivered(ann)).toEqual(state);
    expect(effects).toEqual([{ type: "deliver" }]);
  });

  it("has one for whoever looks: it is listed, linked to its consumer, and ends when it is killed [D661]", async () => {
    const group = new ConsumerGroup<string>();
    const ann = desk(system, group);
    const dispatched = fate(system.dispatch(group, "work"));
    await system.idle();
    const [conversation] = conversations();
    expect(system.info(ann.pid)?.links).toEqual([conversation]);
    if (conversation !== undefined) system.exit(conversation, "kill");
    await system.idle();
    expect(dispatched.error).toMatchObject({ code: "ERR_CONVERSATION", end: "died" });
    expect(system.isAlive(ann.pid)).toBe(true);
  });

  it("has one from the start while somebody listens to spawns, exits or links [D661]", async () => {
    const group = new ConsumerGroup<string>();
    const seen: string[] = [];
    group.join(system.spawn(consumer(() => undefined)));
    system.events.on("spawn", ({ pid }) => seen.push(`spawn ${pid.label}`));
    system.events.on("link", ({ from }) => seen.push(`link ${from.label}`));
    system.events.on("exit", ({ pid }) => seen.push(`exit ${pid.label}`));
    await system.dispatch(group, "work");
    await system.idle();
    expect(seen).toEqual(["spawn dispatch", "link dispatch", "exit dispatch"]);
  });

  it("goes on when the watcher of its group is killed: it is acknowledged, or re-routed after a crash [D662]", async () => {
    const group = new ConsumerGroup<string>();
    const ann = desk(system, group, { id: "ann" });
    const one = fate(system.dispatch(group, "one"));
    const two = fate(system.dispatch(group, "two"));
    await system.idle();
    system.exit(watcher(), "kill");
    const bob = desk(system, group, { id: "bob" });
    ann.deliveries[0]?.ack();
    await system.idle();
    expect(one.value).toMatchObject({ deliveredTo: "ann", attempts: 1 });
    system.exit(ann.pid, "kill");
    await system.idle();
    bob.last.ack();
    await system.idle();
    expect(two.value).toMatchObject({ deliveredTo: "bob", reroutedFrom: ["ann"] });
    expect(group.consumers.map(({ id }) => id)).toEqual(["bob"]);
  });

  it("learns of a crash that happened before somebody looked, and re-routes [D662]", async () => {
    const group = new ConsumerGroup<string>();
    const ann = desk(system, group, { id: "ann" });
    const one = fate(system.dispatch(group, "one"));
    await system.idle();
    const bob = desk(system, group, { id: "bob" });
    system.exit(ann.pid, new Error("broken"));
    // The watcher has not noticed yet.
    expect(conversations()).toHaveLength(1);
    await system.idle();
    bob.last.ack();
    await system.idle();
    expect(one.value).toMatchObject({ deliveredTo: "bob", reroutedFrom: ["ann"] });
    expect(one.value?.rerouteTimings).toMatchObject([{ reason: { type: "crash" } }]);
  });

  it("gives its place back when its caller exits, and is not delivered any more [D17]", async () => {
    const group = new ConsumerGroup<string>();
    const taken: string[] = [];
    const busy = system.spawn<Delivery<string>>({
      init: () => new Promise(() => undefined),
      handle: (_ctx, { payload }) => void taken.push(payload),
    });
    group.join(busy);
    const caller = system.spawn<never>(async (ctx) => {
      await system.dispatch(group, "work", { signal: ctx.signal });
    });
    await system.idle();
    expect(group.consumers[0]?.inFlight).toBe(1);
    system.exit(caller, "kill");
    await system.idle();
    expect(group.consumers[0]).toMatchObject({ inFlight: 0, bufferDepth: 0 });
    expect(taken).toEqual([]);
    expect(conversations()).toEqual([]);
  });
});
