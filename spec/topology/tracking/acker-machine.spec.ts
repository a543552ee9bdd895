// The acker: by examples what each message makes of a tree, then trees in every order, and a naive model of Maps.

import { test as check, fc } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import { OptionError } from "../../../lib/process/errors.js";
import { Random } from "../../../lib/testing/kit/random.js";
import {
  AckerMachine,
  COMPLETED,
  FAILED,
  REFUSED,
  type TreeEnd,
  type TreeOutcome,
} from "../../../lib/topology/tracking/acker-machine.js";
import { proving, sized } from "../../support/proof.js";

/** The tree goes on: the machine has no effect. */
const PENDING = 0;
type Verdict = TreeOutcome | typeof PENDING;

/** The machine, with the spout of the last effect at hand. */
class Acker {
  readonly #machine: AckerMachine;
  spout = 0;

  constructor(options: { readonly capacity: number }) {
    this.#machine = new AckerMachine(options);
  }

  get size(): number {
    return this.#machine.size;
  }
  get tracked(): number {
    return this.#machine.tracked;
  }
  get bytes(): number {
    return this.#machine.bytes;
  }
  tracks(hi: number, lo: number): boolean {
    return this.#machine.tracks(hi, lo);
  }
  extend(hi: number, lo: number): void {
    this.#machine.extend(hi, lo);
  }
  track(hi: number, lo: number, xorHi: number, xorLo: number, spout: number): Verdict {
    return this.#verdict(this.#machine.track(hi, lo, xorHi, xorLo, spout), hi, lo);
  }
  ack(hi: number, lo: number, xorHi: number, xorLo: number): Verdict {
    return this.#verdict(this.#machine.ack(hi, lo, xorHi, xorLo), hi, lo);
  }
  fail(hi: number, lo: number): Verdict {
    return this.#verdict(this.#machine.fail(hi, lo), hi, lo);
  }
  tick(expired: (hi: number, lo: number, spout: number) => void): void {
    for (const { hi, lo, spout } of this.#machine.tick()) expired(hi, lo, spout);
  }
  spoutGone(spout: number, dropped?: (hi: number, lo: number) => void): void {
    const ids = this.#machine.spoutGone(spout);
    for (let i = 0; i < ids.length; i += 2) dropped?.(ids[i] as number, ids[i + 1] as number);
  }

  #verdict(end: TreeEnd | undefined, hi: number, lo: number): Verdict {
    if (end === undefined) return PENDING;
    expect([end.hi, end.lo]).toEqual([hi, lo]);
    this.spout = end.spout;
    return end.outcome;
  }
}

/** In these examples the upper half of every number is 1 for roots and 0 for edges. */
const ROOT = 1;
const SPOUT = 8;

/** An acker with room for a hundred entries, unless said otherwise. */
function machine(capacity = 100) {
  const acker = new Acker({ capacity });
  return {
    acker,
    track: (root: number, xor: number, spout = SPOUT) => acker.track(ROOT, root, 0, xor, spout),
    ack: (root: number, xor: number) => acker.ack(ROOT, root, 0, xor),
    fail: (root: number) => acker.fail(ROOT, root),
    tick: () => {
      const expired: number[][] = [];
      acker.tick((hi, lo, spout) => expired.push([hi, lo, spout]));
      return expired.sort();
    },
  };
}

describe("a tree of tuples", () => {
  test("is complete when the last of its edges is acked", () => {
    const { acker, track, ack } = machine();
    expect(track(1, 0xa)).toBe(PENDING);
    // The bolt that had edge a emitted b and c anchored to it.
    expect(ack(1, 0xa ^ 0xb ^ 0xc)).toBe(PENDING);
    expect(ack(1, 0xc)).toBe(PENDING);
    expect(acker.tracked).toBe(1);
    expect(ack(1, 0xb)).toBe(COMPLETED);
    expect(acker.spout).toBe(SPOUT);
    expect(acker.size).toBe(0);
  });

  test("that is extended lives as one does that is tracked now, and completes all the same", () => {
    for (const ticks of [0, 1, 2]) {
      const { acker, track, ack, tick } = machine();
      track(1, 0xa ^ 0xb);
      ack(1, 0xb);
      for (let n = 0; n < ticks; n++) expect(tick()).toEqual([]);
      acker.extend(ROOT, 1);
      expect([tick(), tick()]).toEqual([[], []]);
      expect([acker.tracks(ROOT, 1), acker.size]).toEqual([true, 1]);
      expect(ack(1, 0xa)).toBe(COMPLETED);
      track(2, 0xa);
      for (let n = 0; n < ticks; n++) tick();
      acker.extend(ROOT, 2);
      expect([tick(), tick(), tick()]).toEqual([[], [], [[ROOT, 2, SPOUT]]]);
    }
  });

  test("without a track is not extended, nor made", () => {
    const { acker, ack, tick } = machine();
    acker.extend(ROOT, 1);
    expect(acker.size).toBe(0);
    ack(1, 0xa);
    tick();
    acker.extend(ROOT, 1);
    expect(acker.tracks(ROOT, 1)).toBe(false);
    for (let n = 0; n < 3; n++) expect(tick()).toEqual([]);
    expect(acker.size).toBe(0);
  });

  test("may begin with many edges, and each has to be acked", () => {
    const { track, ack } = machine();
    expect(track(1, 0x1 ^ 0x2 ^ 0x4)).toBe(PENDING);
    expect([ack(1, 0x4), ack(1, 0x1), ack(1, 0x2)]).toEqual([PENDING, PENDING, COMPLETED]);
  });

  test("is complete at its track when all acks came before", () => {
    const { acker, track, ack } = machine();
    expect([ack(1, 0xb), ack(1, 0xa ^ 0xb)]).toEqual([PENDING, PENDING]);
    expect(acker.tracked).toBe(0);
    expect(track(1, 0xa)).toBe(COMPLETED);
    expect(acker.spout).toBe(SPOUT);
    expect(acker.size).toBe(0);
  });

  test("is not complete when the XOR is zero before the track: the reports so far only cancel out", () => {
    const { acker, track, ack } = machine();
    expect([ack(1, 0xa), ack(1, 0xa)]).toEqual([PENDING, PENDING]);
    expect(acker.size).toBe(1);
    expect(track(1, 0xa)).toBe(PENDING);
    expect(ack(1, 0xa)).toBe(COMPLETED);
  });

  test("is complete at once when it has no edges, even with no room left", () => {
    const { acker, track } = machine(1);
    track(1, 0xa, 3);
    expect(track(2, 0, SPOUT)).toBe(COMPLETED);
    expect(acker.spout).toBe(SPOUT);
    expect(acker.size).toBe(1);
  });

  test("of which a tuple joins two others has an edge for each anchor", () => {
    const { track, ack } = machine();
    track(1, 0xa ^ 0xb);
    // One bolt got a and b and emitted a tuple anchored to both: c is its edge below a, d below b.
    expect([ack(1, 0xa ^ 0xc), ack(1, 0xb ^ 0xd)]).toEqual([PENDING, PENDING]);
    expect(ack(1, 0xc ^ 0xd)).toBe(COMPLETED);
  });

  test("needs both halves of its XOR to be zero, and any half of its id may be", () => {
    const acker = new Acker({ capacity: 10 });
    acker.track(5, 0, 1, 2, SPOUT);
    acker.track(0, 5, 1, 2, SPOUT);
    expect([acker.ack(5, 0, 1, 0), acker.ack(5, 0, 0, 2)]).toEqual([PENDING, COMPLETED]);
    expect([acker.ack(0, 5, 0, 2), acker.ack(0, 5, 1, 0)]).toEqual([PENDING, COMPLETED]);
  });

  test("ends at the spout that tracked it", () => {
    const { acker, track, ack, fail } = machine();
    for (const spout of [4, 5, 6]) track(spout, 0xa, spout);
    expect([ack(5, 0xa), acker.spout]).toEqual([COMPLETED, 5]);
    expect([fail(4), acker.spout]).toEqual([FAILED, 4]);
    expect([ack(6, 0xb), acker.spout]).toEqual([PENDING, 4]);
    expect([ack(6, 0xb ^ 0xa), acker.spout]).toEqual([COMPLETED, 6]);
  });

  test("cannot have the id zero", () => {
    const { acker } = machine(1);
    const calls = [() => acker.track(0, 0, 1, 1, SPOUT), () => acker.ack(0, 0, 1, 1), () => acker.fail(0, 0)];
    for (const call of calls) expect(call).toThrow(OptionError);
    acker.track(1, 1, 1, 1, SPOUT);
    for (const call of calls) expect(call).toThrow("id must be a 64-bit number other than zero; got 0");
  });

  test("that is tracked twice goes on as the first, and the second is refused", () => {
    const { acker, track, ack } = machine();
    track(1, 0xa, 3);
    expect([track(1, 0xa, 4), acker.spout]).toEqual([REFUSED, 4]);
    expect([ack(1, 0xa), acker.spout]).toEqual([COMPLETED, 3]);
  });
});

describe("a tree that fails", () => {
  test("ends at once, and is forgotten", () => {
    const { acker, track, fail } = machine();
    track(1, 0xa);
    expect(fail(1)).toBe(FAILED);
    expect(acker.spout).toBe(SPOUT);
    expect(acker.size).toBe(0);
  });

  test("ends at its track when the fail came before, whatever was acked", () => {
    const { acker, track, ack, fail } = machine();
    expect([fail(1), ack(1, 0xa)]).toEqual([PENDING, PENDING]);
    expect([ack(2, 0xa), fail(2), fail(2)]).toEqual([PENDING, PENDING, PENDING]);
    expect(acker.size).toBe(2);
    expect([track(1, 0xa), acker.spout, track(2, 0xb), acker.size]).toEqual([FAILED, SPOUT, FAILED, 0]);
  });

  test("ends once: later acks and fails do not bring it back, and have no effect", () => {
    const { acker, track, ack, fail, tick } = machine();
    track(1, 0xa ^ 0xb);
    expect(fail(1)).toBe(FAILED);
    expect([ack(1, 0xa), ack(1, 0xb), fail(1)]).toEqual([PENDING, PENDING, PENDING]);
    expect([acker.size, acker.tracked]).toEqual([1, 0]);
    expect([tick(), tick(), tick()]).toEqual([[], [], []]);
    expect(acker.size).toBe(0);
  });

  test("and comes again under the same id with new edges is not completed by the late acks of the first try", () => {
    const { track, ack, fail, tick } = machine();
    track(1, 0xa ^ 0xb);
    fail(1);
    ack(1, 0xa);
    expect(track(1, 0x10)).toBe(PENDING);
    expect(ack(1, 0x10)).toBe(PENDING);
    expect([tick(), tick(), tick()]).toEqual([[], [], [[ROOT, 1, SPOUT]]]);
  });

  test("after it was complete is complete all the same", () => {
    const { acker, track, ack, fail } = machine();
    track(1, 0xa);
    expect([ack(1, 0xa), fail(1), ack(1, 0xa), acker.tracked]).toEqual([COMPLETED, PENDING, PENDING, 0]);
  });
});

describe("ticks", () => {
  test("expire a tree with the third after its track", () => {
    const { acker, track, tick } = machine();
    track(1, 0xa);
    expect(tick()).toEqual([]);
    track(2, 0xa, 3);
    expect(tick()).toEqual([]);
    expect(tick()).toEqual([[ROOT, 1, SPOUT]]);
    expect(tick()).toEqual([[ROOT, 2, 3]]);
    expect([tick(), acker.size]).toEqual([[], 0]);
  });

  test("do not hinder acks and fails in any bucket", () => {
    const { acker, track, ack, fail, tick } = machine();
    for (const root of [1, 2, 3, 4]) track(root, 0xa);
    tick();
    expect([ack(1, 0xa ^ 0xb), ack(2, 0xa)]).toEqual([PENDING, COMPLETED]);
    tick();
    expect([ack(1, 0xb), fail(3)]).toEqual([COMPLETED, FAILED]);
    expect([tick(), acker.size]).toEqual([[[ROOT, 4, SPOUT]], 0]);
  });

  test("are counted from the track, when acks came before", () => {
    const { acker, track, ack, tick } = machine();
    ack(1, 0xa ^ 0xb);
    expect([tick(), tick()]).toEqual([[], []]);
    expect(track(1, 0xa)).toBe(PENDING);
    expect([tick(), tick(), acker.tracked]).toEqual([[], [], 1]);
    expect(tick()).toEqual([[ROOT, 1, SPOUT]]);
  });

  test("are not counted anew for an ack", () => {
    const { track, ack, tick } = machine();
    track(1, 0xa);
    tick();
    tick();
    ack(1, 0xa ^ 0xb);
    expect(tick()).toEqual([[ROOT, 1, SPOUT]]);
  });

  test("leave nothing of a tree that has expired", () => {
    const { track, ack, fail, tick } = machine();
    track(1, 0xa);
    tick();
    tick();
    tick();
    expect([ack(1, 0xa), fail(1)]).toEqual([PENDING, PENDING]);
  });

  test("may be answered at once: a tree that expires is tracked again under a new id", () => {
    const { acker } = machine(1);
    acker.track(ROOT, 1, 0, 0xa, SPOUT);
    const verdicts: number[] = [];
    for (let i = 0; i < 3; i++)
      acker.tick((_, lo) => verdicts.push(acker.track(ROOT, lo + 1, 0, 0xa, SPOUT)));
    expect([verdicts, acker.tracked]).toEqual([[PENDING], 1]);
  });
});

describe("a spout task that dies", () => {
  test("takes its trees with it, in all buckets, and no others", () => {
    const { acker, track, ack, tick } = machine();
    track(1, 0xa, 3);
    track(2, 0xa, 4);
    tick();
    track(3, 0xa, 3);
    tick();
    track(4, 0xa, 3);
    track(5, 0xa, 4);
    ack(6, 0xa);
    const dropped: number[] = [];
    acker.spoutGone(3, (hi, lo) => dropped.push(hi * 10 + lo));
    expect(dropped.sort()).toEqual([11, 13, 14]);
    expect([acker.size, acker.tracked]).toEqual([3, 2]);
    expect([ack(2, 0xa), ack(5, 0xa), ack(1, 0xa)]).toEqual([COMPLETED, COMPLETED, PENDING]);
  });

  test("takes nothing that was not tracked: such an entry has no spout, not even number 0", () => {
    const { acker, ack, fail } = machine();
    ack(1, 0xa);
    fail(2);
    acker.spoutGone(0);
    expect(acker.size).toBe(2);
  });

  test("makes room", () => {
    const { acker, track } = machine(2);
    track(1, 0xa, 3);
    track(2, 0xa, 3);
    expect(track(3, 0xa, 4)).toBe(REFUSED);
    acker.spoutGone(3);
    expect(track(3, 0xa, 4)).toBe(PENDING);
  });
});

describe("the capacity", () => {
  test("is a whole number of at least one", () => {
    for (const capacity of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "5" as never])
      expect(() => new Acker({ capacity })).toThrow(/^capacity must be a whole number, 1 or more; got /);
    expect(new Acker({ capacity: 1 }).size).toBe(0);
  });

  test("refuses a track when it is used up, and those that are in go on", () => {
    const { acker, track, ack, fail } = machine(2);
    expect([track(1, 0xa, 3), track(2, 0xa, 3)]).toEqual([PENDING, PENDING]);
    expect([track(3, 0xa, 4), acker.spout, acker.size]).toEqual([REFUSED, 4, 2]);
    expect([ack(1, 0xa ^ 0xb), ack(1, 0xb), acker.spout]).toEqual([PENDING, COMPLETED, 3]);
    expect(track(4, 0xa)).toBe(PENDING);
    expect([fail(2), track(5, 0xa)]).toEqual([FAILED, PENDING]);
  });

  test("counts early entries, which have their place when their track comes", () => {
    const { acker, track, ack } = machine(2);
    ack(1, 0xb);
    expect([track(2, 0xa), track(3, 0xa)]).toEqual([PENDING, REFUSED]);
    expect([track(1, 0xa), acker.size, acker.tracked]).toEqual([PENDING, 2, 2]);
  });

  test("gives at most half to entries without a track, so that late acks do not turn new trees away", () => {
    const { acker, track, ack, fail } = machine(6);
    for (const root of [1, 2, 3, 4]) ack(root, 0xa);
    fail(5);
    expect(acker.size).toBe(3);
    expect([track(11, 0xa), track(12, 0xa), track(13, 0xa)]).toEqual([PENDING, PENDING, PENDING]);
    expect(track(14, 0xa)).toBe(REFUSED);
  });

  test("drops an early ack or fail beyond it: the tree is not settled, and expires", () => {
    const { track, ack, fail, tick } = machine(2);
    ack(9, 0xa);
    ack(1, 0xa ^ 0xb);
    fail(2);
    // Tree 9 turns out to be complete, which makes room.
    expect(track(9, 0xa)).toBe(COMPLETED);
    expect([track(1, 0xa), track(2, 0xa)]).toEqual([PENDING, PENDING]);
    expect(ack(1, 0xb)).toBe(PENDING);
    expect([tick(), tick(), tick().length]).toEqual([[], [], 2]);
  });

  test("is given back by early entries that expire or are tracked", () => {
    const { ack, fail, track, tick } = machine(2);
    for (let round = 1; round <= 5; round++) {
      fail(round);
      expect(track(round, 0xa)).toBe(FAILED);
      ack(10 + round, 0xa);
      expect(track(10 + round, 0xa ^ 0xb)).toBe(PENDING);
      expect(ack(10 + round, 0xb)).toBe(COMPLETED);
      ack(20 + round, 0xa);
      for (let i = 0; i < 3; i++) tick();
    }
  });
});

// ── trees in every order ────────────────────────────────────────────────────────────────────────────────────────────

type Wide = readonly [hi: number, lo: number];

/** A message to the acker about the tree of this number. */
type Message = { readonly tree: number; readonly type: "track" | "ack" | "fail"; readonly xor: Wide };

const wide = (random: Random): Wide => [random.bits() | 0, random.bits() | 0];
const together = (edges: readonly Wide[]): Wide =>
  edges.reduce(([h, l], [hi, lo]) => [h ^ hi, l ^ lo] as const, [0, 0] as Wide);

/** Per edge the edge above it, or -1 for the spout, and whether its bolt fails the tuple. */
type Shape = readonly (readonly [above: number, fails: boolean])[];

/** What spout and bolts tell the acker about a tree of this shape, in an order that could be. */
function messagesOf(tree: number, shape: Shape, random: Random): Message[] {
  const edges = shape.map(() => wide(random));
  const below = (edge: number): Wide[] => edges.filter((_, i) => shape[i]?.[0] === edge);
  return [
    { tree, type: "track", xor: together(below(-1)) },
    ...shape.map(([, fails], i) => ({
      tree,
      type: fails ? ("fail" as const) : ("ack" as const),
      xor: together([edges[i] as Wide, ...below(i)]),
    })),
  ];
}

/** Roots of the trees: random, and the spout is the tree's number. */
function send(acker: Acker, roots: readonly Wide[], { tree, type, xor }: Message): Verdict {
  const [hi, lo] = roots[tree] as Wide;
  if (type === "fail") return acker.fail(hi, lo);
  return type === "ack" ? acker.ack(hi, lo, ...xor) : acker.track(hi, lo, ...xor, tree);
}

/** What has to come of the messages: a tree is told of when it is tracked and settled, and never again. */
function expected(messages: readonly Message[]): Verdict[] {
  const verdicts: Verdict[] = messages.map(() => PENDING);
  for (const tree of new Set(messages.map((message) => message.tree))) {
    const places = messages.flatMap((message, at) => (message.tree === tree ? [at] : []));
    const at = (type: string): number => places.find((place) => messages[place]?.type === type) ?? -1;
    if (at("fail") >= 0) verdicts[Math.max(at("fail"), at("track"))] = FAILED;
    else verdicts[places.at(-1) as number] = COMPLETED;
  }
  return verdicts;
}

function orders<T>(all: readonly T[]): T[][] {
  if (all.length === 0) return [[]];
  return all.flatMap((first, at) => orders(all.toSpliced(at, 1)).map((rest) => [first, ...rest]));
}

function shuffled<T>(all: readonly T[], random: Random): T[] {
  const keyed = all.map((value) => [random.bits(), value] as const);
  return keyed.sort(([a], [b]) => a - b).map(([, value]) => value);
}

const shape: fc.Arbitrary<Shape> = fc
  .array(
    fc.tuple(
      fc.nat(),
      fc.nat({ max: 9 }).map((n) => n === 0),
    ),
    { minLength: 1, maxLength: 8 },
  )
  .map((edges) => edges.map(([above, fails], i) => [(above % (i + 1)) - 1, fails] as const));
const forest = fc.array(shape, { minLength: 1, maxLength: 6 });
const seed = fc.nat();

describe("XOR completeness", () => {
  test("one edge above two others, each acked or failed, in all orders of the track and the three [O3]", () => {
    const random = new Random(1);
    let runs = 0;
    for (let fails = 0; fails < 8; fails++) {
      const shape: Shape = [-1, 0, 0].map((above, i) => [above, ((fails >> i) & 1) === 1] as const);
      for (const messages of orders(messagesOf(0, shape, random))) {
        const acker = new Acker({ capacity: 2 });
        const roots = [wide(random)];
        expect(messages.map((message) => send(acker, roots, message))).toEqual(expected(messages));
        runs++;
      }
    }
    expect(runs).toBe(8 * 24);
  });

  check.prop([forest, seed])(
    "trees of any shape, side by side, in any order, with room for twice their number: each ends once, in time",
    (shapes, seed) => {
      const random = new Random(seed);
      const roots = shapes.map(() => wide(random));
      const messages = shuffled(
        shapes.flatMap((shape, tree) => messagesOf(tree, shape, random)),
        random,
      );
      const acker = new Acker({ capacity: 2 * shapes.length });
      const verdicts = messages.map((message) => {
        const verdict = send(acker, roots, message);
        if (verdict !== PENDING) expect(acker.spout).toBe(message.tree);
        return verdict;
      });
      expect(verdicts).toEqual(expected(messages));
      expect(acker.tracked).toBe(0);
    },
  );

  check.prop([shape, seed, fc.nat()])(
    "a tree of which any ack is lost is never complete",
    (shape, seed, lost) => {
      const random = new Random(seed);
      const roots = [wide(random)];
      const all = messagesOf(
        0,
        shape.map(([above]) => [above, false] as const),
        random,
      );
      const messages = shuffled(all.toSpliced(1 + (lost % shape.length), 1), random);
      const acker = new Acker({ capacity: 1 });
      expect(messages.map((message) => send(acker, roots, message))).not.toContain(COMPLETED);
      expect(acker.tracked).toBe(1);
    },
  );

  check.prop([forest, seed, fc.integer({ min: 1, max: 8 }), fc.nat({ max: 5 })])(
    "whatever expires, finds no room or loses its spout: each tree ends once, and is complete only if all is acked",
    (shapes, seed, capacity, disturbances) => {
      const random = new Random(seed);
      const roots = shapes.map(() => wide(random));
      const number = new Map(roots.map((root, tree) => [root.join(), tree]));
      const told = shapes.map((): string[] => []);
      const acked = shapes.map(() => 0);
      const acker = new Acker({ capacity });
      const tick = (): void =>
        acker.tick((hi, lo, spout) => {
          expect(number.get(`${hi},${lo}`)).toBe(spout);
          told[spout]?.push("expired");
        });
      const messages = shapes.flatMap((shape, tree) => messagesOf(tree, shape, random));
      const plan = [...messages, ...Array.from({ length: disturbances }, () => undefined)];
      for (const message of shuffled(plan, random)) {
        if (message !== undefined) {
          if (message.type === "ack") acked[message.tree] = (acked[message.tree] as number) + 1;
          const verdict = send(acker, roots, message);
          if (verdict !== PENDING)
            told[acker.spout]?.push(["", "completed", "failed", "refused"][verdict] ?? "");
          if (verdict === COMPLETED) expect(acked[acker.spout]).toBe(shapes[acker.spout]?.length);
        } else if (random.below(2) === 0) tick();
        else
          acker.spoutGone(random.below(shapes.length), (hi, lo) =>
            told[number.get(`${hi},${lo}`) ?? -1]?.push("dropped"),
          );
        expect(acker.size).toBeLessThanOrEqual(capacity);
      }
      for (let i = 0; i < 3; i++) tick();
      expect(acker.size).toBe(0);
      expect(told.map((each) => each.length)).toEqual(shapes.map(() => 1));
    },
  );
});

// ── a naive model ───────────────────────────────────────────────────────────────────────────────────────────────────

interface Entry {
  readonly xor: bigint;
  readonly spout: number | undefined;
  readonly failed: boolean;
  /** The tick after which it was made or tracked. */
  readonly since: number;
}

interface Model {
  readonly entries: ReadonlyMap<bigint, Entry>;
  readonly ticks: number;
}

type Call =
  | { readonly type: "track"; readonly id: bigint; readonly xor: bigint; readonly spout: number }
  | { readonly type: "ack"; readonly id: bigint; readonly xor: bigint }
  | { readonly type: "fail"; readonly id: bigint }
  | { readonly type: "tick" }
  | { readonly type: "gone"; readonly spout: number };

/** What a call answers: a verdict with its spout, or the ids that are gone. */
type Answer = string;

const listed = (ids: readonly bigint[]): Answer => [...ids].sort().join();

function without(model: Model, gone: (entry: Entry, id: bigint) => boolean): Model {
  return { ...model, entries: new Map([...model.entries].filter(([id, entry]) => !gone(entry, id))) };
}

function modelled(model: Model, call: Call, capacity: number): readonly [Model, Answer] {
  if (call.type === "tick") {
    const ticks = model.ticks + 1;
    const isOld = ({ since }: Entry): boolean => ticks - since === 3;
    const told = [...model.entries].filter(([, entry]) => isOld(entry) && entry.spout !== undefined);
    return [{ ...without(model, isOld), ticks }, listed(told.map(([id]) => id))];
  }
  if (call.type === "gone") {
    const isIts = ({ spout }: Entry): boolean => spout === call.spout;
    const told = [...model.entries].filter(([, entry]) => isIts(entry));
    return [without(model, isIts), listed(told.map(([id]) => id))];
  }
  const known = model.entries.get(call.id);
  const before = known ?? { xor: 0n, spout: undefined, failed: false, since: model.ticks };
  if (call.type === "track" && before.spout !== undefined) return [model, `refused ${call.spout}`];
  const entry: Entry = {
    xor: before.xor ^ (call.type === "fail" ? 0n : call.xor),
    spout: call.type === "track" ? call.spout : before.spout,
    failed: before.failed || call.type === "fail",
    since: call.type === "track" ? model.ticks : before.since,
  };
  if (entry.spout !== undefined && (entry.failed || entry.xor === 0n)) {
    const ended = without(model, (_, id) => id === call.id);
    return [ended, `${entry.failed ? "failed" : "completed"} ${entry.spout}`];
  }
  const untracked = [...model.entries.values()].filter(({ spout }) => spout === undefined).length;
  if (known === undefined) {
    const full = model.entries.size === capacity;
    if (call.type === "track" && full) return [model, `refused ${call.spout}`];
    if (call.type !== "track" && (full || 2 * untracked >= capacity)) return [model, "pending"];
  }
  return [{ ...model, entries: new Map([...model.entries, [call.id, entry]]) }, "pending"];
}

const halves = (n: bigint): Wide => [Number(BigInt.asIntN(32, n >> 32n)), Number(BigInt.asIntN(32, n))];
const whole = (hi: number, lo: number): bigint =>
  (BigInt.asUintN(32, BigInt(hi)) << 32n) | BigInt.asUintN(32, BigInt(lo));

function answered(acker: Acker, call: Call): Answer {
  const ids: bigint[] = [];
  if (call.type === "tick") acker.tick((hi, lo) => ids.push(whole(hi, lo)));
  else if (call.type === "gone") acker.spoutGone(call.spout, (hi, lo) => ids.push(whole(hi, lo)));
  else {
    const root = halves(call.id);
    const verdict =
      call.type === "fail"
        ? acker.fail(...root)
        : call.type === "ack"
          ? acker.ack(...root, ...halves(call.xor))
          : acker.track(...root, ...halves(call.xor), call.spout);
    if (verdict === PENDING) return "pending";
    return `${["", "completed", "failed", "refused"][verdict]} ${acker.spout}`;
  }
  return listed(ids);
}

/** Few of each, in both halves of the 64 bits, so that they meet. */
const id = fc.constantFrom(...[1n, 2n, 3n, 0xffff_ffffn].flatMap((n) => [n, n << 32n, (n << 32n) | n]));
const xor = fc.constantFrom(0n, 1n, 1n << 32n, (1n << 63n) | 1n);
const spout = fc.integer({ min: 0, max: 2 });
const call: fc.Arbitrary<Call> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant("track" as const), id, xor, spout }) },
  { weight: 8, arbitrary: fc.record({ type: fc.constant("ack" as const), id, xor }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("fail" as const), id }) },
  { weight: 2, arbitrary: fc.constant<Call>({ type: "tick" }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("gone" as const), spout }) },
);
const calls = fc.array(call, { maxLength: 80, size: "max" });
const capacities = fc.integer({ min: 1, max: 14 });

describe("the machine", () => {
  check.prop([calls, capacities], { numRuns: sized(150, 1 / 25, 400) })(
    "answers as a model that copies Maps of BigInt",
    (all, capacity) => {
      const acker = new Acker({ capacity });
      let model: Model = { entries: new Map(), ticks: 0 };
      const seen: Answer[] = [];
      const meant: Answer[] = [];
      for (const call of all) {
        const [next, answer] = modelled(model, call, capacity);
        model = next;
        const tracked = [...model.entries.values()].filter((entry) => entry.spout !== undefined).length;
        meant.push(`${answer}; ${model.entries.size} kept, ${tracked} tracked`);
        seen.push(`${answered(acker, call)}; ${acker.size} kept, ${acker.tracked} tracked`);
      }
      expect(seen).toEqual(meant);
    },
  );

  check.prop([calls, capacities])(
    "gives the same answers to the same calls, in the same order",
    (all, capacity) => {
      const told = (): unknown[] => {
        const acker = new Acker({ capacity });
        const ids: unknown[] = [];
        for (const call of all) {
          if (call.type === "tick") acker.tick((...id) => ids.push(id));
          else if (call.type === "gone") acker.spoutGone(call.spout, (...id) => ids.push(id));
          else ids.push(answered(acker, call));
        }
        return ids;
      };
      expect(told()).toEqual(told());
    },
  );

  test("keeps its memory within the capacity, however many trees fail and are acked late [O19]", () => {
    const random = new Random(5);
    const capacity = 64;
    const acker = new Acker({ capacity });
    const empty = acker.bytes;
    const trees = proving ? 50_000 : 10_000;
    let most = 0;
    let failed = 0;
    for (let tree = 1; tree <= trees; tree++) {
      const root = wide(random);
      acker.track(...root, 1, 2, SPOUT);
      if (acker.fail(...root) === FAILED) failed++;
      acker.ack(...root, 1, 2);
      acker.ack(...wide(random), 1, 2);
      if (tree % 1_000 === 0) acker.tick(() => undefined);
      most = Math.max(most, acker.bytes);
      if (acker.size > capacity) expect.fail(`${acker.size} entries`);
    }
    // Late acks took up half of the room, and no tree was turned away for them.
    expect([failed, acker.size]).toEqual([trees, capacity / 2]);
    expect(most).toBeLessThanOrEqual(3 * 32 * 8 * capacity);
    for (let i = 0; i < 3; i++) acker.tick(() => undefined);
    expect([acker.size, acker.bytes]).toEqual([0, empty]);
  });
});
