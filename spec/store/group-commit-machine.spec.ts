// The machine of the group commit: what goes into a group, and how failed groups go on.

import * as fc from "fast-check";
import { STORE_DEFAULTS, type StoreLimits } from "signalbox/store";
import { describe, expect, it } from "vitest";
import {
  decide,
  type Effect,
  type Event,
  initial,
  type State,
  waiting,
} from "../../lib/store/group-commit-machine.js";
import { sized } from "../support/proof.js";

interface Item {
  readonly id: number;
  readonly writes: number;
  readonly bytes: number;
}

const item = (id: number, writes = 1, bytes = 100): Item => ({ id, writes, bytes });

/** Feeds the machine, and keeps what it asks for. */
class Feed {
  readonly state: State<Item>;
  readonly asked: Effect<Item>[] = [];

  constructor(limits: Partial<StoreLimits> = {}) {
    this.state = initial({ ...STORE_DEFAULTS, ...limits });
  }

  send(event: Event<Item>): readonly Effect<Item>[] {
    const [, effects] = decide(this.state, event);
    this.asked.push(...effects);
    return effects;
  }

  submit(...items: Item[]): void {
    for (const set of items) this.send({ type: "submitted", set });
  }

  /** The ids of the group that this event begins. */
  group(event: Event<Item>): number[] | undefined {
    const begun = this.send(event).find((effect) => effect.type === "begin");
    return begun === undefined ? undefined : (begun as { sets: readonly Item[] }).sets.map(({ id }) => id);
  }

  /** The group in flight is committed; the ids of the next one. */
  commit(heldMs = 0): number[] | undefined {
    this.send({ type: "committed", heldMs });
    return this.state.called ? this.group({ type: "due" }) : undefined;
  }
}

const items = (count: number, writes?: number, bytes?: number): Item[] =>
  Array.from({ length: count }, (_, i) => item(i, writes, bytes));
const ids = (from: number, below: number): number[] =>
  Array.from({ length: below - from }, (_, i) => from + i);

describe("the machine of the group commit", () => {
  it("begins a group at the end of the turn of the first set, and gathers the others meanwhile", () => {
    const feed = new Feed();
    feed.submit(item(0));
    expect(feed.asked).toEqual([{ type: "call" }]);
    feed.submit(item(1));
    expect(feed.asked).toHaveLength(1);
    expect(feed.group({ type: "due" })).toEqual([0, 1]);
    feed.submit(item(2), item(3));
    expect(feed.asked).toHaveLength(2);
    expect(feed.commit()).toEqual([2, 3]);
    expect(feed.commit()).toBeUndefined();
  });

  it("caps groups by sets, writes and bytes, and takes a set that is larger alone", () => {
    const bySets = new Feed({ groupSets: 2 });
    bySets.submit(...items(5));
    expect([bySets.group({ type: "due" }), bySets.commit(), bySets.commit()]).toEqual([[0, 1], [2, 3], [4]]);
    const byWrites = new Feed({ groupWrites: 10 });
    byWrites.submit(item(0, 6), item(1, 5), item(2, 5), item(3, 50), item(4, 1));
    expect([
      byWrites.group({ type: "due" }),
      byWrites.commit(),
      byWrites.commit(),
      byWrites.commit(),
    ]).toEqual([[0], [1, 2], [3], [4]]);
    const byBytes = new Feed({ groupBytes: 1_000 });
    byBytes.submit(item(0, 1, 600), item(1, 1, 600), item(2, 1, 5_000), item(3, 1, 1));
    expect([byBytes.group({ type: "due" }), byBytes.commit(), byBytes.commit(), byBytes.commit()]).toEqual([
      [0],
      [1],
      [2],
      [3],
    ]);
  });

  it("shrinks groups that hold the event loop for too long, and lets them grow again [K4]", () => {
    const feed = new Feed({ queuedBytes: 1e9 });
    feed.submit(...items(100_000));
    // A host on which a write takes 0.05 ms: 10 ms are 200 writes.
    let size = feed.group({ type: "due" })?.length ?? 0;
    const sizes: number[] = [];
    for (let i = 0; i < 10; i++) {
      sizes.push(size);
      size = feed.commit(size * 0.05)?.length ?? 0;
    }
    expect(Math.max(...sizes) * 0.05).toBeLessThan(20);
    expect(sizes.at(-1)).toBe(200);
    // And then one on which it takes a hundredth of that.
    for (let i = 0; i < 10; i++) size = feed.commit(size * 0.0005)?.length ?? 0;
    expect(size).toBe(8_192);
    // However slow a write is, a group is never empty.
    for (let i = 0; i < 3; i++) size = feed.commit(1_000_000)?.length ?? 0;
    expect(size).toBe(16);
    // After one pause a fast host is soon back at what it can do in half of the time.
    size = feed.commit(size * 0.01)?.length ?? 0;
    expect(size).toBe(256);
    size = feed.commit(size * 0.01)?.length ?? 0;
    expect(size).toBe(512);
  });

  it("refuses what exceeds the bound of queued bytes, and takes more once there is room [K5]", () => {
    const feed = new Feed({ queuedBytes: 250 });
    feed.submit(...items(4));
    expect(feed.asked.filter(({ type }) => type === "refuse")).toEqual([
      { type: "refuse", set: item(2) },
      { type: "refuse", set: item(3) },
    ]);
    expect(feed.group({ type: "due" })).toEqual([0, 1]);
    feed.submit(item(4, 1, 9_999));
    expect(waiting(feed.state)).toBe(1);
    feed.submit(item(5));
    expect(feed.asked.at(-1)).toEqual({ type: "refuse", set: item(5) });
    expect(feed.commit()).toEqual([4]);
  });

  it("tries a group again after a wait that grows, up to a bound", () => {
    const feed = new Feed({ groupAttempts: 4, retryMinMs: 2, retryMaxMs: 5 });
    feed.submit(...items(2));
    expect(feed.group({ type: "due" })).toEqual([0, 1]);
    feed.submit(item(2));
    for (const ms of [2, 4, 5]) {
      expect(feed.send({ type: "failed", recovery: "retry" })).toEqual([{ type: "wait", ms }]);
      expect(feed.group({ type: "waited" })).toEqual([0, 1]);
    }
    expect(feed.send({ type: "failed", recovery: "retry" })).toEqual([
      { type: "fail", sets: items(2) },
      { type: "call" },
    ]);
    expect(feed.group({ type: "due" })).toEqual([2]);
  });

  it("halves a group in which one set is to blame, until it stands alone", () => {
    const feed = new Feed();
    feed.submit(...items(8));
    const begun: (number[] | undefined)[] = [feed.group({ type: "due" })];
    const failed: number[] = [];
    const committed: number[] = [];
    while (begun.at(-1) !== undefined) {
      const group = begun.at(-1) as number[];
      if (!group.includes(5)) {
        committed.push(...group);
        begun.push(feed.commit());
        continue;
      }
      const effects = feed.send({ type: "failed", recovery: "split" });
      for (const effect of effects)
        if (effect.type === "fail") failed.push(...effect.sets.map(({ id }) => id));
      const next = effects.find((effect) => effect.type === "begin") as { sets: readonly Item[] } | undefined;
      begun.push(
        next?.sets.map(({ id }) => id) ?? (feed.state.called ? feed.group({ type: "due" }) : undefined),
      );
    }
    expect(failed).toEqual([5]);
    expect(committed).toEqual([...ids(0, 5), 6, 7]);
    expect(begun.length).toBeLessThanOrEqual(10);
  });

  it("ends when all that was submitted is settled [K6]", () => {
    const feed = new Feed();
    expect(feed.send({ type: "closed" })).toEqual([{ type: "end" }]);
    const busy = new Feed();
    busy.submit(item(0));
    busy.group({ type: "due" });
    busy.submit(item(1));
    expect(busy.send({ type: "closed" })).toEqual([]);
    expect(busy.commit()).toEqual([1]);
    expect(busy.commit()).toBeUndefined();
    expect(busy.asked.at(-1)).toEqual({ type: "end" });
    expect(busy.asked.filter(({ type }) => type === "end")).toHaveLength(1);
  });

  it("settles every set once, in the order of submission, whatever happens [K7]", () => {
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          type: fc.constant("submit" as const),
          writes: fc.integer({ min: 0, max: 9 }),
          bytes: fc.integer({ min: 1, max: 400 }),
        }),
      },
      {
        weight: 3,
        arbitrary: fc.record({ type: fc.constant("commit" as const), heldMs: fc.constantFrom(0, 1, 50) }),
      },
      {
        weight: 1,
        arbitrary: fc.record({
          type: fc.constant("fail" as const),
          recovery: fc.constantFrom("retry" as const, "split" as const, "fail" as const),
        }),
      },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const feed = new Feed({
          groupSets: 5,
          groupWrites: 12,
          groupBytes: 900,
          queuedBytes: 1_500,
          groupAttempts: 3,
        });
        const settled: number[] = [];
        const failed = new Set<number>();
        const refused = new Set<number>();
        let group: readonly Item[] | undefined;
        let submitted = 0;
        let ends = 0;
        const handle = (effects: readonly Effect<Item>[]): void => {
          for (const effect of effects) {
            if (effect.type === "begin") {
              expect(group).toBeUndefined();
              group = effect.sets;
              const writes = effect.sets.reduce((sum, set) => sum + set.writes, 0);
              expect(effect.sets.length === 1 || (effect.sets.length <= 5 && writes <= 12)).toBe(true);
            } else if (effect.type === "settle") settled.push(...effect.sets.map(({ id }) => id));
            else if (effect.type === "fail") for (const { id } of effect.sets) failed.add(id);
            else if (effect.type === "refuse") refused.add(effect.set.id);
            else if (effect.type === "end") ends++;
          }
        };
        const turn = (): void => {
          if (feed.state.called) handle(feed.send({ type: "due" }));
        };
        const finish = (event: Event<Item>): void => {
          if (group === undefined) return;
          group = undefined;
          const effects = feed.send(event);
          handle(effects);
          if (effects.some(({ type }) => type === "wait")) handle(feed.send({ type: "waited" }));
          turn();
        };
        for (const one of steps) {
          if (one.type === "submit")
            handle(feed.send({ type: "submitted", set: item(submitted++, one.writes, one.bytes) }));
          else {
            turn();
            finish(
              one.type === "commit"
                ? { type: "committed", heldMs: one.heldMs }
                : { type: "failed", recovery: one.recovery },
            );
          }
        }
        handle(feed.send({ type: "closed" }));
        turn();
        for (let i = 0; group !== undefined; i++) {
          expect(i).toBeLessThan(200);
          finish({ type: "committed", heldMs: 0 });
        }
        expect(ends).toBe(1);
        expect(settled).toEqual([...settled].sort((a, b) => a - b));
        const all = [...settled, ...failed, ...refused].sort((a, b) => a - b);
        expect(all).toEqual(ids(0, submitted));
        expect([feed.state.bytes, waiting(feed.state)]).toEqual([0, 0]);
      }),
      { numRuns: sized(200), seed: 3 },
    );
  });
});
