// When a topology has come to rest: by examples, then for topologies of any bolts, driven by the machine alone.

import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import {
  decide,
  initial,
  type QuiescenceEffect,
  type QuiescenceState,
  type WorkInProgress,
} from "../../../lib/topology/lifecycle/quiescence-machine.js";

const NOTHING: WorkInProgress = {
  moving: 0,
  spoutsDone: true,
  bolts: [],
  outcomesInTransit: 0,
  pending: 0,
  holdsUnanchored: false,
};

function short(effect: QuiescenceEffect): string {
  return effect.type === "flush" ? `flush ${effect.task}` : effect.type;
}

/** A machine that is looked at again and again, each time with the work given. */
class Looked {
  state: QuiescenceState = initial();

  drain(work: Partial<WorkInProgress> = {}): string[] {
    return this.#step("drain", work);
  }

  finish(work: Partial<WorkInProgress> = {}): string[] {
    return this.#step("finish", work);
  }

  settled(work: Partial<WorkInProgress> = {}): string[] {
    return this.#step("settled", work);
  }

  halted(): void {
    [this.state] = decide(this.state, { type: "halted" });
  }

  #step(type: "drain" | "finish" | "settled", work: Partial<WorkInProgress>): string[] {
    const [state, effects] = decide(this.state, { type, work: { ...NOTHING, ...work } });
    this.state = state;
    return effects.map(short);
  }
}

describe("a drain", () => {
  it("ends at once when there is nothing to do", () => {
    expect(new Looked().drain()).toEqual(["watch", "drained"]);
  });

  it.each<[string, Partial<WorkInProgress>]>([
    ["is in motion", { moving: 1 }],
    ["is pending", { pending: 1 }],
    ["is held and belongs to no tree", { holdsUnanchored: true }],
  ])("waits while a tuple %s", (_, work) => {
    const looked = new Looked();
    expect(looked.drain(work)).toEqual(["watch"]);
    expect(looked.settled(work)).toEqual(["watch"]);
    expect(looked.settled()).toEqual(["watch", "drained"]);
  });

  it("does not need spouts that are done", () => {
    expect(new Looked().drain({ spoutsDone: false })).toEqual(["watch", "drained"]);
  });

  it("flushes each bolt that got tuples since its last flush, when nothing is in motion", () => {
    const looked = new Looked();
    const bolts = [
      { task: 5, delivered: 3 },
      { task: 6, delivered: 0 },
    ];
    expect(looked.drain({ moving: 1, bolts })).toEqual(["watch"]);
    expect(looked.settled({ bolts, pending: 3 })).toEqual(["watch", "flush 5"]);
    expect(looked.settled({ bolts, pending: 3 })).toEqual(["watch"]);
    expect(looked.settled({ bolts: [{ task: 5, delivered: 4 }] })).toEqual(["watch", "flush 5"]);
    expect(looked.settled({ bolts: [{ task: 5, delivered: 4 }] })).toEqual(["watch", "drained"]);
  });

  it("flushes no bolt while the outcome of a tree is on its way", () => {
    const looked = new Looked();
    const bolts = [{ task: 5, delivered: 1 }];
    expect(looked.drain({ bolts, outcomesInTransit: 1 })).toEqual(["watch"]);
    expect(looked.settled({ bolts })).toEqual(["watch", "flush 5"]);
  });

  it("that was halted decides nothing any more", () => {
    const looked = new Looked();
    looked.drain({ moving: 1 });
    looked.halted();
    expect(looked.settled()).toEqual([]);
  });
});

describe("a caller of `finished()`", () => {
  it("waits until all spouts are done, then is answered once", () => {
    const looked = new Looked();
    expect(looked.finish({ spoutsDone: false })).toEqual(["watch"]);
    expect(looked.settled()).toEqual(["watch", "finished"]);
    expect(looked.settled()).toEqual([]);
    expect(looked.finish()).toEqual(["watch", "finished"]);
  });

  it("is answered before a drain ends, and not at all when a drain ends with spouts that are not done", () => {
    const looked = new Looked();
    looked.finish({ moving: 1 });
    expect(looked.drain()).toEqual(["watch", "finished", "drained"]);
    const other = new Looked();
    other.finish({ moving: 1 });
    expect(other.drain({ spoutsDone: false })).toEqual(["watch", "drained"]);
  });
});

/** A bolt that holds what it gets until it is flushed, and then sends as many tuples to the next bolt. */
interface Holder {
  readonly task: number;
  delivered: number;
  held: number;
  flushing: boolean;
}

const chains = fc.record({
  tuples: fc.integer({ min: 0, max: 5 }),
  bolts: fc.integer({ min: 1, max: 5 }),
  want: fc.constantFrom("drain" as const, "finish" as const),
  order: fc.infiniteStream(fc.nat({ max: 3 })),
});

describe("whatever the bolts hold, in whatever order they work,", () => {
  test.prop([chains])(
    "a topology comes to rest, and not before every tuple is settled and every bolt flushed [O52]",
    ({ tuples, bolts, want, order }) => {
      const chain: Holder[] = Array.from({ length: bolts }, (_, at) => ({
        task: at + 1,
        delivered: 0,
        held: 0,
        flushing: false,
      }));
      let toEmit = tuples;
      const looked = new Looked();
      const work = (): WorkInProgress => ({
        ...NOTHING,
        moving: toEmit + chain.filter(({ flushing }) => flushing).length,
        spoutsDone: toEmit === 0,
        bolts: chain,
        holdsUnanchored: chain.some(({ held }) => held > 0),
      });
      const pass = (to: Holder | undefined, count: number): void => {
        if (to === undefined) return;
        to.delivered += count;
        to.held += count;
      };
      let effects = looked[want](work());
      for (let steps = 0; !effects.includes("drained") && !effects.includes("finished"); steps++) {
        expect(steps).toBeLessThan(100);
        for (const holder of chain)
          if (effects.includes(`flush ${holder.task}`)) {
            expect(holder.held).toBeGreaterThan(0);
            holder.flushing = true;
          }
        const flushing = chain.filter((one) => one.flushing);
        const turn = order.next().value % (flushing.length + 1);
        const holder = flushing[turn];
        if (holder !== undefined) {
          holder.flushing = false;
          pass(chain[holder.task], holder.held);
          holder.held = 0;
        } else if (toEmit > 0) {
          toEmit--;
          pass(chain[0], 1);
        }
        effects = looked.settled(work());
      }
      expect(toEmit).toBe(0);
      for (const { held, flushing } of chain) expect([held, flushing]).toEqual([0, false]);
      expect(chain.at(-1)?.delivered).toBe(tuples);
    },
  );
});
