// A process for each key somewhere in the cluster, and its state when it moves.

import { CalleeExitedError, type StartError, supervisor } from "signalbox";
import {
  KeyBusyError,
  type KeyEntry,
  KeySaveError,
  KeyShardsError,
  KeyUnavailableError,
  keyed,
} from "signalbox/nodes";
import { FencedError } from "signalbox/store";
import { afterEach, describe, expect, it } from "vitest";
import { KeyedWorld, Meter, type Seat, type Sum } from "./keyed-world.js";

let world = new KeyedWorld();
afterEach(async () => {
  await world.stop();
  world = new KeyedWorld();
});

const KEYS = Array.from({ length: 24 }, (_, i) => `meter-${i}`);
const SHARDS = [0, 1, 2, 3, 4, 5, 6, 7];

/** A key whose process runs on a node. */
async function keyOn(seat: Seat): Promise<string> {
  for (const key of KEYS) {
    const { node } = await world.until(seat.meters.at(key).call.add(0));
    if (node === seat.node.system.name) return key;
  }
  throw new Error("no key of these is there");
}

const held = (...seats: Seat[]): number[] => seats.flatMap(({ meters }) => meters.view().held).sort();
const caught = (work: Promise<unknown>): Promise<unknown> =>
  world.until(
    work.then(
      () => "resolved",
      (error: unknown) => error,
    ),
  );

describe("keyed processes", () => {
  it("run once for each key, on the nodes that share the shards, and are called from every node [N1350]", async () => {
    const seats = [await world.join("a"), await world.join("b"), await world.join("c", {}, false)];
    const sums = new Map<string, number>();
    for (let round = 1; round <= 3; round++)
      for (const key of KEYS)
        for (const { meters } of seats) {
          const { sum } = await world.until(meters.at(key).call.add(round));
          sums.set(key, (sums.get(key) ?? 0) + round);
          expect(sum).toBe(sums.get(key));
        }
    expect(world.seen.length).toBe(KEYS.length);
    expect(new Set(world.seen.map(({ node }) => node))).toEqual(new Set(["a", "b"]));
    const [a, b, c] = seats.map(({ meters }) => meters.view());
    expect([...(a?.held ?? []), ...(b?.held ?? [])].sort()).toEqual(SHARDS);
    expect((a?.keys ?? 0) + (b?.keys ?? 0)).toBe(KEYS.length);
    expect(c).toEqual({ held: [], placed: [], keys: 0, waiting: 0 });
  });

  it("are taken over with their state when their node is lost, under a larger token [N1351]", async () => {
    const [a, b] = [await world.join("a"), await world.join("b")];
    const key = await keyOn(b);
    const before = await world.until(a.meters.at(key).call.add(5));
    world.cluster.network.kill(b.node.node);
    b.store.cut();
    const after = await world.until(a.meters.at(key, { timeoutMs: 30_000, repeat: true }).call.add(2));
    expect(after).toMatchObject({ node: "a", sum: 7 });
    expect(after.token).toBeGreaterThan(before.token);
    await world.cluster.settle(5_000);
    expect(held(a)).toEqual(SHARDS);
  });

  it("write nothing any more when another node has their shard: the old holder tries, and is refused [N1352]", async () => {
    const [a, b] = [await world.join("a"), await world.join("b")];
    const key = await keyOn(b);
    await world.until(a.meters.at(key).call.add(5));
    const old = world.seen.find(({ node, entry }) => node === "b" && entry.key === key)
      ?.entry as KeyEntry<Sum>;
    // The two nodes do not see each other, and the leases of one are not renewed. Its writes arrive.
    world.cluster.network.cut(a.node.node, b.node.node);
    b.store.cut();
    const taken = await world.until(a.meters.at(key, { timeoutMs: 30_000, repeat: true }).call.add(2));
    expect(taken).toMatchObject({ node: "a", sum: 7 });
    expect(old.lease.isHeld).toBe(false);
    const refused = await caught(old.save({ sum: 1_000 }));
    expect(refused).toBeInstanceOf(FencedError);
    expect((refused as FencedError).message).toContain(
      `with token ${old.lease.token} is lost; nothing was written`,
    );
    expect(taken.token).toBeGreaterThan(old.lease.token);
    expect(await caught(old.save({ sum: 1_001 }))).toBeInstanceOf(KeySaveError);
    expect(await world.until(a.meters.at(key).call.read())).toBe(7);
  });

  it("move to a node that joins and is the better place, when they have finished what they had [N1353]", async () => {
    const a = await world.join("a");
    for (const key of KEYS) await world.until(a.meters.at(key).call.add(1));
    let finish = (): void => undefined;
    const until = new Promise<void>((done) => (finish = done));
    const slow = KEYS.map((key) => a.meters.at(key).call.slow(10, until));
    const behind = KEYS.map((key) => a.meters.at(key).call.add(100));
    const joined = world.join("b");
    await world.cluster.settle(500);
    // Shards that move are still there: their processes have calls to finish.
    expect(held(a).length).toBeLessThan(8);
    expect(world.seen.length).toBe(KEYS.length);
    finish();
    await world.until(Promise.all(slow));
    const b = await joined;
    await world.until(Promise.all(behind));
    await world.cluster.settle(1_000);
    expect(held(a, b)).toEqual(SHARDS);
    expect(held(b).length).toBeGreaterThan(0);
    for (const key of KEYS) expect(await world.until(b.meters.at(key).call.read())).toBe(111);
    expect(world.seen.some(({ node }) => node === "b")).toBe(true);
  });

  it("are given back at once when their node stops [N1354]", async () => {
    const [a, b] = [await world.join("a"), await world.join("b")];
    const key = await keyOn(b);
    await world.until(a.meters.at(key).call.add(5));
    await world.until(b.node.system.stop());
    const from = world.cluster.clock.now;
    expect(await world.until(a.meters.at(key).call.add(1))).toMatchObject({
      node: "a",
      sum: 6,
    });
    expect(world.cluster.clock.now - from).toBeLessThan(1_000);
  });

  it("wait within a time and a number when their shard is on its way, and say that nothing was handled [N1355]", async () => {
    const a = await world.join("a", { maxWaiting: 3 });
    const other = await world.join("b", { maxWaiting: 3 });
    const key = await keyOn(other);
    await world.until(a.meters.at(key).call.add(5));
    world.cluster.network.kill(other.node.node);
    other.store.cut();
    await world.cluster.settle(300); // its heartbeats are missed later, and its leases last longer
    const early = await caught(a.meters.at(key, { timeoutMs: 100 }).call.add(1));
    expect(early).toBeInstanceOf(Error);
    world.cluster.network.receiver(a.node.node).unreachable(other.node.node);
    const late = await caught(a.meters.at(key, { timeoutMs: 100 }).call.add(1));
    expect(late).toBeInstanceOf(KeyUnavailableError);
    expect((late as Error).message).toMatch(
      /no process of meter meter-\d+ within 100 ms: .*; the message was not handled/,
    );
    const many = Array.from({ length: 5 }, () => a.meters.at(key, { timeoutMs: 10_000 }).call.add(1));
    const ends = await Promise.all(many.map((one) => caught(one)));
    expect(ends.filter((end) => end instanceof KeyBusyError)).toHaveLength(2);
    expect(ends.filter((end) => end === "resolved")).toHaveLength(3);
    const signal = AbortSignal.abort(new Error("not needed"));
    expect(await caught(a.meters.at(key, { signal }).call.add(1))).toBe(signal.reason);
  });

  it("get a message again that no process took, and only with `repeat` one that a process may have handled [N1356]", async () => {
    const [a, b] = [await world.join("a"), await world.join("b")];
    for (const seat of [a, b]) {
      const key = await keyOn(seat);
      const { meters } = a;
      // The process stops behind the first call, before it takes the others.
      const ends = await world.until(
        Promise.allSettled([
          meters.at(key).call.stop(),
          meters.at(key).call.add(1),
          meters.at(key).call.add(1),
        ]),
      );
      expect(ends.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "fulfilled"]);
      expect(await world.until(meters.at(key).call.read())).toBe(2);
      expect(await caught(meters.at(key).call.crash())).toMatchObject({
        code: "ERR_CALLEE_EXITED",
        request: "taken",
      });
      // It crashes for as long as it is sent.
      const before = world.seen.length;
      const again = await caught(meters.at(key, { repeat: true, timeoutMs: 2_000 }).call.crash());
      expect(again).toBeInstanceOf(KeyUnavailableError);
      expect((again as Error).message).toContain("it is broken");
      expect(world.seen.length).toBeGreaterThan(before + 5);
      expect(await world.until(meters.at(key).call.read())).toBe(2);
    }
  });

  it("begin with the state that was saved last, also when a save was on its way as the process crashed [N1357]", async () => {
    const a = await world.join("a");
    const { meters } = a;
    await world.until(meters.at("meter-1").call.add(1));
    const ends = await Promise.all([
      caught(meters.at("meter-1").call.careless(10)),
      caught(meters.at("meter-1").call.add(100)),
    ]);
    expect(ends[0]).toBeInstanceOf(CalleeExitedError);
    expect(ends[1]).toBe("resolved");
    expect(await world.until(meters.at("meter-1").call.read())).toBe(111);
    const entry = world.seen.at(-1)?.entry as KeyEntry<Sum>;
    await world.until(entry.remove());
    expect(entry.state).toBeUndefined();
    await world.until(entry.save({ sum: 3 }));
    expect(await world.until(meters.at("meter-1").call.add(1))).toMatchObject({ sum: 4 });
    await expect(entry.save({ sum: (() => 1) as never })).rejects.toThrow(
      "meter meter-1: state.sum is the function sum",
    );
  });

  it("have one number of shards on all nodes, and one definition on each [N1358]", async () => {
    const a = await world.join("a");
    const b = await world.join("b", {}, false);
    const options = { name: "meter", store: b.store, start: Meter, args: ["b", world.seen] as const };
    const other = keyed(b.node, { ...options, shards: 9 });
    const refused = await caught(b.node.system.start(other));
    expect((refused as StartError).cause).toBeInstanceOf(KeyShardsError);
    expect((refused as StartError).message).toContain("meter has 8 shards in the store, not 9");
    const twice = await caught(a.node.system.start(keyed(a.node, { ...options, shards: 8 })));
    expect((twice as StartError).message).toContain("a name of keys that this node does not run already");
  });

  it("hold one lease for each shard, however many keys there are, and no more processes than they may [N1360]", async () => {
    const a = await world.join("a", { maxKeys: 1_000 });
    const keys = Array.from({ length: 1_000 }, (_, i) => `m${i}`);
    await world.until(Promise.all(keys.map((key) => a.meters.at(key).call.add(1))));
    expect(a.meters.view()).toEqual({ held: SHARDS, placed: SHARDS, keys: 1_000, waiting: 0 });
    expect(await world.until(a.store.claims("leases/"))).toHaveLength(8);
    expect(await caught(a.meters.at("one more").call.add(1))).toBeInstanceOf(KeyBusyError);
    expect(await caught(a.meters.at("m1").call.stop())).toBeInstanceOf(CalleeExitedError);
    expect(await world.until(a.meters.at("one more").call.add(1))).toMatchObject({ sum: 1 });
  });

  it("may be functions, which get messages", async () => {
    const [a, b] = [await world.join("a", {}, false), await world.join("b", {}, false)];
    const got: string[] = [];
    const define = (seat: Seat) =>
      keyed(seat.node, {
        name: "notes",
        store: seat.store,
        shards: 4,
        start: async (ctx, entry: KeyEntry<string[]>) => {
          for (;;) {
            const text = (await ctx.receive()) as string;
            await entry.save([...(entry.state ?? []), text]);
            got.push(`${seat.node.system.name} ${entry.key} ${entry.state?.join()}`);
          }
        },
      });
    const [here, there] = [define(a), define(b)];
    expect(Object.keys(here.at("k"))).toEqual(["call"]);
    await world.until(b.node.system.start(supervisor({ children: [{ id: "notes", start: there }] })));
    await world.cluster.settle(1_000);
    await world.until(here.send("k", "one"));
    await world.until(here.send("k", "two"));
    await world.cluster.settle();
    expect(got).toEqual(["b k one", "b k one,two"]);
    const pid = await world.until(here.pid("k"));
    expect(pid.node.name).toBe("b");
  });
});
