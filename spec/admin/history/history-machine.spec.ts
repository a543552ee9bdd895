// The rings of a history as a machine, against a model that keeps everything in one list and has neither rings nor maps.

import fc from "fast-check";
import { expect, test } from "vitest";
import {
  decide,
  type Effect,
  type Event,
  HISTORY_LIMITS,
  type HistoryLimits,
  initial,
  type State,
} from "../../../lib/admin/history/history-machine.js";
import { changesOf, countsOf, latest, listed } from "../../../lib/admin/history/listing.js";
import type { Incident, IncidentKind } from "../../../lib/admin/history/operations.js";

const SMALL: HistoryLimits = {
  kept: 6,
  keptOfCrashes: 8,
  begunShare: 2,
  foldMs: 1_000,
  longestMs: 3_000,
  causes: 5,
};
const KINDS = ["crash", "deadLetter", "restart"] as const;
type Happened = Extract<Event, { readonly type: "happened" }>;

interface Line extends Incident {
  readonly key: string;
}
type Open<T> = { -readonly [Name in keyof T]: T[Name] };

/** The same rules, said as questions about the list of all that has happened. */
class Model {
  readonly #all: Open<Line>[] = [];
  readonly #log: Happened[] = [];
  /** All names that were given, in order. */
  readonly #causes: (readonly [name: string, number: number])[] = [];
  /** The events that were not folded, for the budget of a second. */
  readonly #tries: Happened[] = [];

  happened(event: Happened): void {
    this.#log.push(event);
    const { kind, key, at } = event;
    const goesOn = (one: Line): boolean => at >= one.at && at - one.lastAt < 1_000 && at - one.at < 3_000;
    const lastOf = (wanted: string) => this.kept(kind).findLast((one) => one.key === wanted);
    const same = lastOf(key);
    const into = same !== undefined && goesOn(same) ? same : undefined;
    if (into !== undefined) {
      this.#fold(into, event);
      return;
    }
    this.#tries.push(event);
    // What began before a look back at an earlier second does not count: the budget is of the second under way.
    const under = this.#tries.filter((one) => one.kind === kind);
    const first = under.findLastIndex((one) => Math.floor(one.at / 1_000) !== Math.floor(at / 1_000)) + 1;
    const capacity = kind === "deadLetter" ? 6 : 8;
    const beyond = lastOf("");
    if (under.length - first <= capacity / 2) this.#add(event, key, this.#causeOf(event));
    else if (beyond !== undefined && goesOn(beyond)) this.#fold(beyond, event);
    else this.#add({ ...event, uses: undefined }, "", undefined);
  }

  linked(number: number, as: readonly string[]): void {
    const crash = this.kept("crash").find((one) => one.number === number);
    if (crash !== undefined) crash.linked = (crash.linked ?? 0) + 1;
    this.#name(as, number);
  }

  kept(kind: IncidentKind): Open<Line>[] {
    return this.#all.filter((one) => one.kind === kind).slice(kind === "deadLetter" ? -6 : -8);
  }

  /** As it is listed. */
  get shown(): readonly Incident[] {
    return KINDS.flatMap((kind) => this.kept(kind))
      .sort((a, b) => a.number - b.number)
      .map(
        ({ key: _, text: _text, ...one }) =>
          Object.fromEntries(Object.entries(one).filter(([, value]) => value !== undefined)) as never,
      );
  }

  count(kind: IncidentKind, from: number, to: number): number {
    return this.#log.filter((one) => one.kind === kind && one.at >= from && one.at < to).length;
  }

  total(kind: IncidentKind): number {
    return this.#log.filter((one) => one.kind === kind).length;
  }

  #fold(into: Open<Line>, { at, as, uses }: Happened): void {
    into.count++;
    into.lastAt = Math.max(at, into.lastAt);
    this.#forget(uses);
    this.#name(as ?? [], into.number);
  }

  #add({ kind, at, as, uses }: Happened, key: string, cause: number | undefined): void {
    const number = this.#all.length + 1;
    this.#all.push({ number, kind, at, lastAt: at, count: 1, key, text: "", cause });
    this.#forget(uses);
    this.#name(as ?? [], number);
  }

  #causeOf({ from, uses, cause }: Happened): number | undefined {
    const name = from ?? uses;
    return cause ?? this.#causes.slice(-5).findLast(([known]) => known === name)?.[1];
  }

  /** What was given before stays in the count. */
  #forget(name: string | undefined): void {
    for (const [place, [known]] of this.#causes.entries()) if (known === name) this.#causes[place] = ["", 0];
  }

  #name(names: readonly string[], number: number): void {
    for (const name of names) this.#causes.push([name, number]);
  }
}

const names = fc.constantFrom("p1", "p2", "c1", "c2");
/** One in so many. */
const rarely = <T>(of: fc.Arbitrary<T>, many: number): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: many - 1, arbitrary: fc.constant(undefined) }, of);
const steps = fc.array(
  fc.record({
    kind: fc.constantFrom(...KINDS),
    key: fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom("a", "b") },
      fc.constantFrom("c", "d", "e", "f", "g"),
    ),
    afterMs: fc.oneof(
      { weight: 14, arbitrary: fc.constantFrom(0, 1, 100, 200) },
      fc.constantFrom(0, 700, 999, 1_000, 2_500, 61_000, -50),
    ),
    as: rarely(fc.array(names, { maxLength: 2 }), 2),
    from: rarely(names, 4),
    uses: rarely(names, 3),
    cause: rarely(fc.nat({ max: 9 }), 10),
    linked: rarely(fc.nat({ max: 40 }), 8),
  }),
  { maxLength: 120 },
);

function ran(state: State, event: Event): Effect | undefined {
  const [next, [effect]] = decide(state, event);
  expect(next).toBe(state);
  return effect;
}

test("any history has the incidents of a model: folded within a second, bounded by kind, with their causes [N1521]", () => {
  fc.assert(
    fc.property(steps, (all) => {
      const state = initial(SMALL);
      const model = new Model();
      // A whole minute, so that the last one is seen whole.
      let at = 1_000_000_000;
      for (const { afterMs, linked, kind, key, ...more } of all) {
        at += afterMs;
        if (linked !== undefined) {
          const as = more.as ?? [];
          ran(state, { type: "linked", number: linked, as });
          model.linked(linked, as);
          continue;
        }
        const event: Happened = { type: "happened", kind, key, at, ...more } as never;
        const before = state.lastNumber;
        const effect = ran(state, event);
        model.happened(event);
        expect(effect?.type === "describe" ? state.lastNumber - before : 1).toBe(1);
      }
      const bare = listed(state, 0, {}).map(({ text: _, ...one }) => one);
      expect(bare).toEqual(model.shown);
      const ends = Math.floor(at / 1_000) * 1_000 + 1_000;
      for (const kind of KINDS) {
        if (model.total(kind) === 0) continue;
        const now = model.count(kind, ends - 60_000, ends);
        expect(countsOf(state, at)[kind]).toEqual({ total: model.total(kind), minute: now });
        const before = model.count(kind, ends - 120_000, ends - 60_000);
        const changed = changesOf(state, at).filter(({ what }) => what === kind);
        expect(changed).toEqual(before === now ? [] : [{ what: kind, before, now }]);
      }
    }),
    { numRuns: 400 },
  );
});

test("the lists give exactly those behind a number, of a kind and of a process, and the latest come the newest first [N1521]", () => {
  const state = initial();
  for (let i = 1; i <= 40; i++) {
    const kind = KINDS[i % 3] as IncidentKind;
    ran(state, { type: "happened", kind, key: `${i}`, at: 1_000 * i });
    const detail = { text: `${i}`, pid: `shop.${i % 4}` };
    ran(state, { type: "described", kind, number: i, detail });
  }
  const numbers = (all: readonly Incident[]) => all.map(({ number }) => number);
  const whole = Array.from({ length: 40 }, (_, i) => i + 1);
  expect(numbers(listed(state, 0, {}))).toEqual(whole);
  expect(numbers(listed(state, 37, {}))).toEqual([38, 39, 40]);
  expect(numbers(listed(state, 20, {}, 5))).toEqual([21, 22, 23, 24, 25]);
  expect(numbers(listed(state, 30, { kind: "crash" }))).toEqual([33, 36, 39]);
  expect(numbers(listed(state, 20, { pid: "shop.1" }))).toEqual([21, 25, 29, 33, 37]);
  expect(numbers(latest(state, 3, {}))).toEqual([40, 39, 38]);
  expect(numbers(latest(state, 2, { kind: "crash", beforeAt: 33_000 }))).toEqual([30, 27]);
  expect(numbers(latest(state, 500, {}))).toEqual([...whole].reverse());
});

test("a flood of one kind hides neither its own first incidents of a second nor any other kind [N1521]", () => {
  const state = initial();
  ran(state, { type: "happened", kind: "crash", key: "one", at: 0 });
  for (let i = 0; i < 200_000; i++)
    decide(state, { type: "happened", kind: "deadLetter", key: `${i}`, at: i / 100 });
  const letters = listed(state, 0, { kind: "deadLetter" });
  // 64 of each of the two seconds stand by themselves, and one more has all others.
  expect(letters).toHaveLength(129);
  expect(letters.reduce((sum, { count }) => sum + count, 0)).toBe(200_000);
  expect(letters.find(({ count }) => count > 1)?.text).toMatch(/^more of this kind/);
  expect(listed(state, 0, { kind: "crash" })).toHaveLength(1);
  for (let i = 0; i < 20_000; i++)
    decide(state, { type: "happened", kind: "deadLetter", key: `${i}`, at: 1_000 * i });
  expect(listed(state, 0, { kind: "deadLetter" })).toHaveLength(HISTORY_LIMITS.kept);
  expect(state.rings.get("deadLetter")?.open.size).toBeLessThanOrEqual(HISTORY_LIMITS.kept);
});

test("a storm that goes on for minutes is seen again each minute [N1521]", () => {
  const state = initial();
  for (let at = 0; at < 150_000; at += 500) ran(state, { type: "happened", kind: "crash", key: "a", at });
  const found = listed(state, 0, {}).map(({ at, lastAt, count }) => [at, lastAt, count]);
  expect(found).toEqual([
    [0, 59_500, 120],
    [60_000, 119_500, 120],
    [120_000, 149_500, 60],
  ]);
});

test("what is forgotten leaves its numbers: a viewer that asks behind the last one misses nothing [N1521]", () => {
  const state = initial();
  ran(state, { type: "happened", kind: "crash", key: "a", at: 0 });
  ran(state, { type: "forget" });
  expect(listed(state, 0, {})).toEqual([]);
  ran(state, { type: "happened", kind: "crash", key: "a", at: 1 });
  expect(listed(state, 1, {})).toMatchObject([{ number: 2 }]);
});
