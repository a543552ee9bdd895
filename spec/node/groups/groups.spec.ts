// Consumer groups that span nodes: join here or there, dispatch from anywhere.

import fc from "fast-check";
import { ConsumerGroup, consumer, type Delivery, reject, type System } from "signalbox";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { NodeGroups } from "../../../lib/node/groups/groups.js";
import { gate } from "../../support/gate.js";
import { Peers } from "./peers.js";

let peers: Peers;
let here: { readonly system: System; readonly groups: NodeGroups };
let there: { readonly system: System; readonly groups: NodeGroups };
let near: ConsumerGroup<number, number>;
let far: ConsumerGroup<number, number>;

beforeEach(() => {
  peers = new Peers();
  here = peers.join("here");
  there = peers.join("there");
  near = new ConsumerGroup({ name: "pickers", scope: here.groups });
  far = new ConsumerGroup({ name: "pickers", scope: there.groups });
  peers.meet();
});

afterEach(async () => {
  await here.system.stop();
  await there.system.stop();
});

const doubling = consumer((n: number) => 2 * n);

describe("a group that spans two nodes", () => {
  test("has the consumers of both, under the same names [N1120]", async () => {
    near.join(here.system.spawn(doubling), { id: "north", weight: 2 });
    far.join(there.system.spawn(doubling), { id: "south", maxInFlight: 3, tags: { item: "tea" } });
    await peers.wire.settle();
    const seen = (group: ConsumerGroup<number, number>) =>
      group.consumers
        .map(({ id, weight, maxInFlight, tags }) => ({ id, weight, maxInFlight, tags }))
        .sort(byId);
    expect(seen(near)).toEqual(seen(far));
    expect(seen(near).map(({ id }) => id)).toEqual(["north", "south"]);
  });

  test("takes a dispatch of either node to a consumer of the other [N1120]", async () => {
    far.join(there.system.spawn(doubling), { id: "south" });
    await peers.wire.settle();
    const outcome = await here.system.dispatch(near, 21);
    expect(outcome).toMatchObject({ reply: 42, deliveredTo: "south", settledBy: "reply", attempts: 1 });
  });

  test("gives default names that no other node can give [N1120]", async () => {
    near.join(here.system.spawn(doubling));
    far.join(there.system.spawn(doubling));
    await peers.wire.settle();
    const ids = near.consumers.map(({ id }) => id).sort();
    expect(new Set(ids).size).toBe(2);
    expect(far.consumers.map(({ id }) => id).sort()).toEqual(ids);
  });

  test("knows the consumers of a node that joined before the group was made here [N1120]", async () => {
    const late = new ConsumerGroup<number, number>({ name: "late", scope: there.groups });
    late.join(there.system.spawn(doubling), { id: "early" });
    await peers.wire.settle();
    const group = new ConsumerGroup<number, number>({ name: "late", scope: here.groups });
    await peers.wire.settle();
    expect((await here.system.dispatch(group, 4)).reply).toBe(8);
  });

  test("forgets a consumer that leaves, which finishes what it has [N1120]", async () => {
    let finish: (n: number) => void = () => undefined;
    const slow = there.system.spawn(consumer((_n: number) => new Promise<number>((done) => (finish = done))));
    far.join(slow, { id: "slow" });
    await peers.wire.settle();
    const outcome = here.system.dispatch(near, 1);
    await peers.wire.settle();
    far.leave("slow");
    await peers.wire.settle();
    expect(near.consumers).toEqual([]);
    finish(7);
    expect((await outcome).reply).toBe(7);
    await peers.wire.settle();
    expect(here.system.processes().filter((pid) => pid.label === "slow")).toEqual([]);
  });
});

describe("a dispatch to a consumer of another node", () => {
  test("is re-routed when the consumer crashes, for its reason [N1121]", async () => {
    far.join(there.system.spawn(consumer(() => Promise.reject(new Error("boom")))), { id: "a" });
    await peers.wire.settle();
    const outcome = here.system.dispatch(near, 5);
    await peers.wire.settle();
    near.join(here.system.spawn(doubling), { id: "b" });
    const { reply, reroutedFrom, rerouteTimings } = await outcome;
    expect([reply, reroutedFrom]).toEqual([10, ["a"]]);
    expect(rerouteTimings[0]?.reason).toMatchObject({ type: "crash", error: { message: "boom" } });
  });

  test("names the consumer's own process, which sees the number of the attempt [N1284]", async () => {
    const attempts: number[] = [];
    const failing = consumer<number, number>((_n, delivery) => {
      attempts.push(delivery.attempt);
      throw new Error("boom");
    });
    const steady = consumer<number, number>((n, delivery) => {
      attempts.push(delivery.attempt);
      return n;
    });
    far.join(there.system.spawn(failing), { id: "a" });
    await peers.wire.settle();
    const outcome = here.system.dispatch(near, 5);
    await peers.wire.settle();
    const last = there.system.spawn(steady);
    far.join(last, { id: "b" });
    const { pid, deliveredTo, attempts: all } = await outcome;
    expect([attempts, all, deliveredTo]).toEqual([[1, 2], 2, "b"]);
    expect(here.system.address(pid)).toEqual(there.system.address(last));
  });

  test("is re-routed when the connection is lost [N1121]", async () => {
    const hung = there.system.spawn(consumer(() => new Promise<number>(() => undefined)));
    far.join(hung, { id: "a" });
    await peers.wire.settle();
    const outcome = here.system.dispatch(near, 5);
    await peers.wire.settle();
    near.join(here.system.spawn(doubling), { id: "b" });
    peers.cutOff(there.system);
    const { reply, reroutedFrom, rerouteTimings } = await outcome;
    expect([reply, reroutedFrom]).toEqual([10, ["a"]]);
    expect(rerouteTimings[0]?.reason).toEqual({ type: "noconnection" });
    there.system.exit(hung, "kill");
  });

  test("leaves the consumers of other nodes alive when its node is lost, or stops [N1131]", async () => {
    const south = there.system.spawn(doubling);
    far.join(south, { id: "south" });
    await peers.wire.settle();
    expect((await here.system.dispatch(near, 1)).reply).toBe(2);
    peers.cutOff(here.system);
    await peers.wire.settle();
    peers.meet();
    await peers.wire.settle();
    expect((await here.system.dispatch(near, 2)).reply).toBe(4);
    await here.system.stop();
    await peers.wire.settle();
    expect(there.system.info(south)).toMatchObject({ links: [], label: undefined });
    expect((await there.system.dispatch(far, 3)).reply).toBe(6);
  });

  test("does not count against envelopes that the crashed consumer had not begun, or had begun beside [N1122]", async () => {
    const crashing = consumer((n: number) => {
      if (n === 13) throw new Error("unlucky");
      return n;
    });
    far.join(there.system.spawn(crashing), { id: "a" });
    await peers.wire.settle();
    const group = near;
    const outcomes = [13, 1, 2].map((n) =>
      here.system.dispatch(group, n, { maxAttempts: 1, patienceMs: 60_000 }),
    );
    const ends = Promise.allSettled(outcomes);
    await peers.wire.settle();
    near.join(here.system.spawn(doubling), { id: "b" });
    const [unlucky, ...others] = await ends;
    expect(unlucky).toMatchObject({ status: "rejected", reason: { code: "ERR_ATTEMPTS_EXHAUSTED" } });
    expect(others.map((one) => one.status === "fulfilled" && one.value.reply)).toEqual([2, 4]);
  });

  test("takes over a rejection, and a final one [N1121]", async () => {
    const picky = consumer((n: number) => reject(new RangeError(`no ${n}`), { final: n > 1 }));
    far.join(there.system.spawn(picky), { id: "picky" });
    near.join(here.system.spawn(doubling), { id: "second" });
    near.route = (_envelope, consumers) => consumers.find(({ id }) => id === "picky") ?? consumers[0];
    await peers.wire.settle();
    expect((await here.system.dispatch(near, 1)).reroutedFrom).toEqual(["picky"]);
    await expect(here.system.dispatch(near, 2)).rejects.toMatchObject({
      code: "ERR_REJECTED",
      cause: { message: "no 2" },
    });
  });

  test("that is withdrawn frees its slot, so that the consumer gets the next envelope [N1176]", async () => {
    const waiting = consumer((n: number, { signal }: Delivery<number>) =>
      n > 2
        ? n
        : new Promise<number>((_, fail) => signal.addEventListener("abort", () => fail(signal.reason))),
    );
    far.join(there.system.spawn(waiting), { id: "south", maxInFlight: 1 });
    await peers.wire.settle();
    for (const n of [1, 2]) {
      const giveUp = new AbortController();
      const outcome = here.system.dispatch(near, n, { signal: giveUp.signal });
      await peers.wire.settle();
      giveUp.abort(new Error("changed my mind"));
      await expect(outcome).rejects.toThrow("changed my mind");
      await peers.wire.settle();
      expect(near.consumers.map(({ inFlight }) => inFlight)).toEqual([0]);
    }
    expect((await here.system.dispatch(near, 3)).reply).toBe(3);
  });

  test("is withdrawn there when its caller gives up [N1123]", async () => {
    const seen: string[] = [];
    const waiting = consumer((_n: number, { signal }: Delivery<number>) => {
      seen.push("begun");
      return new Promise<number>((_, fail) => signal.addEventListener("abort", () => fail(signal.reason)));
    });
    far.join(there.system.spawn(waiting), { id: "a", maxInFlight: 1 });
    await peers.wire.settle();
    const giveUp = new AbortController();
    const outcome = here.system.dispatch(near, 1, { signal: giveUp.signal });
    await peers.wire.settle();
    giveUp.abort(new Error("too late"));
    await expect(outcome).rejects.toThrow("too late");
    await peers.wire.settle();
    expect(seen).toEqual(["begun"]);
    expect(far.consumers.map(({ inFlight }) => inFlight)).toEqual([0]);
  });

  test("is made once for one id, whichever nodes send it [N1124]", async () => {
    let count = 0;
    far.join(there.system.spawn(consumer(() => ++count)), { id: "a" });
    await peers.wire.settle();
    await here.system.dispatch(near, here.system.envelope(1, { id: "order 7" }));
    const third = peers.join("third");
    const again = new ConsumerGroup<number, number>({ name: "pickers", scope: third.groups });
    peers.meet();
    await peers.wire.settle();
    const outcome = await third.system.dispatch(again, third.system.envelope(1, { id: "order 7" }));
    expect([count, outcome.reply]).toEqual([1, 1]);
    await third.system.stop();
  });
});

describe("the load of a consumer", () => {
  test("is known on every node, whichever sent the work [N1125]", async () => {
    const busy = there.system.spawn(consumer(() => new Promise<number>(() => undefined), { concurrency: 9 }));
    far.join(busy, { id: "busy", maxInFlight: 2 });
    await peers.wire.settle();
    const local = [1, 2].map((n) => dispatched(far, n));
    await loads(2);
    expect(near.consumers.map(({ inFlight, pressure }) => [inFlight, pressure])).toEqual([[2, "defer"]]);
    for (const one of local) await one.withdraw();
    there.system.exit(busy, "kill");
  });

  test("stays after a withdrawal until the consumer has finished, on its own node and on others [N1432]", async () => {
    const finish = gate();
    // It does not look at its signal.
    const deaf = there.system.spawn(consumer((n: number) => (n === 0 ? finish.promise.then(() => 0) : n)));
    far.join(deaf, { id: "deaf", maxInFlight: 1 });
    await peers.wire.settle();
    const first = dispatched(near, 0);
    while (far.consumers[0]?.inFlight !== 1) await peers.wire.settle();
    await told();
    await first.withdraw();
    await loads(1);
    expect([near, far].map(({ consumers: [one] }) => one?.pressure)).toEqual(["defer", "defer"]);
    const next = here.system.dispatch(near, 7);
    await peers.wire.settle();
    finish.open();
    expect((await next).reply).toBe(7);
    await loads(0);
  });

  test("is known after the end of a dispatch that only waited for the consumer [N1432]", async () => {
    const busy = there.system.spawn(consumer(() => new Promise<number>(() => undefined), { concurrency: 9 }));
    far.join(busy, { id: "busy", maxInFlight: 1 });
    await peers.wire.settle();
    // Both begin before either node has heard of the other's: the second one waits at the consumer's node.
    const local = dispatched(far, 1);
    const waiting = dispatched(near, 2);
    while (far.waitingCount !== 1) await peers.wire.settle();
    await told();
    await waiting.withdraw();
    await loads(1);
    await local.withdraw();
    there.system.exit(busy, "kill");
  });
});

describe("a scope", () => {
  test("has one group of a name [N1126]", () => {
    expect(() => new ConsumerGroup({ name: "pickers", scope: here.groups })).toThrow(
      expect.objectContaining({
        code: "ERR_OPTION",
        message: expect.stringContaining("no other group of this node"),
      }),
    );
  });

  test("must be a node [N1126]", () => {
    expect(() => new ConsumerGroup({ scope: {} as never })).toThrow(
      expect.objectContaining({ code: "ERR_OPTION" }),
    );
  });
});

describe("the process of a node's groups", () => {
  test("takes no harm from messages that are none [N1128]", async () => {
    far.join(there.system.spawn(doubling), { id: "south" });
    await peers.wire.settle();
    const from = there.groups.pid;
    const odd = fc.oneof(
      fc.anything(),
      fc.record({
        type: fc.constantFrom("meet", "news", "loads", "deliver"),
        from: fc.constantFrom(from, 7),
        news: fc.anything(),
      }),
      fc.record({ type: fc.constant("loads"), from: fc.constant(from), loads: fc.array(fc.anything()) }),
      fc.record({
        type: fc.constant("deliver"),
        from: fc.constant(from),
        envelope: fc.anything(),
        replyTo: fc.anything(),
      }),
    );
    for (const message of fc.sample(odd, 300)) here.system.send(here.groups.pid, message as never);
    await peers.wire.settle();
    expect((await here.system.dispatch(near, 4)).reply).toBe(8);
  });
});

/** Waits until both nodes see so many envelopes in flight at the consumer. */
async function loads(inFlight: number): Promise<void> {
  for (const group of [near, far])
    while (group.consumers[0]?.inFlight !== inFlight) await peers.wire.settle();
}

/** A dispatch from the node of a group. */
function dispatched(group: ConsumerGroup<number, number>, n: number): { withdraw(): Promise<void> } {
  const giveUp = new AbortController();
  const { system } = group === near ? here : there;
  const outcome = system.dispatch(group, n, { signal: giveUp.signal, deadlineMs: Number.POSITIVE_INFINITY });
  const failed = expect(outcome).rejects.toThrow("changed my mind");
  const withdraw = async (): Promise<void> => {
    giveUp.abort(new Error("changed my mind"));
    await failed;
    await peers.wire.settle();
  };
  return { withdraw };
}

/** Waits until the loads that have changed so far are known on the other node: a later one arrives after them. */
async function told(): Promise<void> {
  const last = there.system.spawn(consumer(() => new Promise<number>(() => undefined)));
  const other = new ConsumerGroup<number, number>({ name: "other", scope: there.groups });
  const seen = new ConsumerGroup<number, number>({ name: "other", scope: here.groups });
  other.join(last);
  const later = dispatched(other, 0);
  while (seen.consumers[0]?.inFlight !== 1) await peers.wire.settle();
  await later.withdraw();
  there.system.exit(last, "kill");
}

function byId(a: { readonly id: string }, b: { readonly id: string }): number {
  return a.id < b.id ? -1 : 1;
}
