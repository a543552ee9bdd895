// Groupings: which task of a bolt gets a tuple. A grouping is asked here as a topology asks it: with all tasks of the
// bolt as consumers, and with what the emit says.

import { test as check, fc } from "@fast-check/vitest";
import type { ConsumerView, Envelope, Pid, Pressure, RoutingFunction } from "signalbox";
import { describe, expect, expectTypeOf, test } from "vitest";
import { OptionError } from "../../../lib/process/errors.js";
import type { Grouping } from "../../../lib/topology/definition/blueprint.js";
import {
  all,
  direct,
  fields,
  global,
  localOrShuffle,
  none,
  partialKey,
  shuffle,
} from "../../../lib/topology/definition/groupings.js";
import { keyHash } from "../../../lib/topology/definition/key-hash.js";
import { chiSquare, limit } from "../../support/evenness.js";

interface Task extends ConsumerView {
  pressure: Pressure;
  delivered: number;
}

/** Tasks of a bolt `count`, with ids from 3 on. */
function tasks(n: number, node: (index: number) => string = () => "here"): Task[] {
  return Array.from({ length: n }, (_, index) => ({
    id: `count-${index + 3}`,
    pid: undefined as unknown as Pid,
    inFlight: 0,
    maxInFlight: 256,
    bufferDepth: 0,
    maxBuffer: 256,
    pressure: "accept",
    weight: 1,
    tags: { task: index + 3, index, node: node(index) },
    delivered: 0,
  }));
}

interface Emit {
  readonly turn?: number;
  readonly directTask?: number;
  readonly node?: string;
}

/** Id of the task that gets a tuple with these values. */
function ask<V>(
  grouping: RoutingFunction<V>,
  of: readonly ConsumerView[],
  values: V,
  emit: Emit = {},
): unknown {
  const { turn = 0, ...rest } = emit;
  const envelope: Envelope<V> = { id: "e", timestamp: 0, payload: values, ...rest };
  const chosen = grouping(envelope, of, { turn, roll: 0, previous: undefined });
  return typeof chosen === "object" ? chosen.tags.task : chosen;
}

/** Asks `times` times and counts the tuples of each task, on the task and in the result, by place. */
function spread<V>(
  grouping: RoutingFunction<V>,
  of: Task[],
  times: number,
  values: (i: number) => V,
): number[] {
  for (let turn = 0; turn < times; turn++) {
    const task = of.find((one) => one.tags.task === ask(grouping, of, values(turn), { turn, node: "here" }));
    if (task !== undefined) task.delivered++;
  }
  return of.map((one) => one.delivered);
}

const word = fc.oneof(fc.string({ maxLength: 4 }), fc.constantFrom("the", "a", "of"));
const value = fc.oneof(
  word,
  fc.integer({ min: -3, max: 3 }),
  fc.double(),
  fc.boolean(),
  fc.constantFrom(null, undefined, 1n, "1", "null", "true", "[1]", '{"a":1}', -0, 2 ** 32, 2 ** 31),
  fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 2 }),
  fc.record({ a: fc.integer({ min: 0, max: 2 }) }),
);
const row = fc.record({ word: value, file: value });
const pressure = fc.constantFrom<Pressure>("accept", "accept", "defer", "reject");

describe("the properties of a grouping", () => {
  test.each([
    [shuffle(), "shuffle", true, undefined],
    [fields("word", "file"), "fields(word, file)", undefined, undefined],
    [partialKey("word"), "partial key(word)", undefined, undefined],
    [all(), "all", undefined, true],
    [global(), "global", undefined, undefined],
    [direct(), "direct", undefined, undefined],
    [localOrShuffle(), "local or shuffle", true, undefined],
    [none(), "none", true, undefined],
  ] as [Grouping<never>, string, unknown, unknown][])(
    "$1: any task is as good: $2, every task: $3",
    (grouping, label, interchangeable, everyone) => {
      expect(grouping.label).toBe(label);
      expect(grouping.interchangeable).toBe(interchangeable);
      expect(grouping.everyone).toBe(everyone);
    },
  );

  test("is true of every one: no grouping finds a task where there are no tasks", () => {
    for (const grouping of [
      shuffle(),
      fields("word"),
      partialKey("word"),
      global(),
      direct(),
      localOrShuffle(),
    ])
      expect(ask(grouping as RoutingFunction<object>, [], { word: "the" }, { directTask: 3 })).toBe(
        undefined,
      );
  });
});

describe("shuffle", () => {
  test("gives each task its turn", () => {
    const turns = [0, 1, 2, 3].map((turn) => ask(shuffle(), tasks(3), {}, { turn }));
    expect(turns).toEqual([3, 4, 5, 3]);
  });

  check.prop([fc.array(pressure, { minLength: 1, maxLength: 8 }), fc.nat({ max: 100 })])(
    "is even among tasks with room, and gives the others nothing while there are any",
    (pressures, times) => {
      for (const grouping of [shuffle(), none(), localOrShuffle()]) {
        const all = tasks(pressures.length).map((one, i) => ({ ...one, pressure: pressures[i] as Pressure }));
        const counts = spread(grouping, all, times, () => ({}));
        const wanted = pressures.includes("accept") ? "accept" : "defer";
        const chosen = counts.filter((_, i) => pressures[i] === wanted);
        expect(Math.max(0, ...chosen) - Math.min(...(chosen.length > 0 ? chosen : [0]))).toBeLessThanOrEqual(
          1,
        );
        expect(chosen.reduce((sum, n) => sum + n, 0)).toBe(chosen.length > 0 ? times : 0);
        expect(counts.filter((n, i) => n > 0 && pressures[i] !== wanted)).toEqual([]);
      }
    },
  );
});

describe("localOrShuffle", () => {
  const halves = (): Task[] => tasks(4, (index) => (index < 2 ? "here" : "there"));

  test("stays on the node of the emitting task", () => {
    const turns = [0, 1, 2].map((turn) => ask(localOrShuffle(), halves(), {}, { turn, node: "there" }));
    expect(turns).toEqual([5, 6, 5]);
  });

  test("goes elsewhere when no task there has room, or none is there at all", () => {
    const busy = halves().map((one) =>
      one.tags.node === "here" ? { ...one, pressure: "defer" as const } : one,
    );
    expect([0, 1].map((turn) => ask(localOrShuffle(), busy, {}, { turn, node: "here" }))).toEqual([5, 6]);
    const turns = [0, 1, 2, 3].map((turn) => ask(localOrShuffle(), halves(), {}, { turn, node: "nowhere" }));
    expect(turns).toEqual([3, 4, 5, 6]);
  });

  test("stays even so when no task anywhere has room", () => {
    const busy = halves().map((one) => ({ ...one, pressure: "defer" as const }));
    expect([0, 1, 2].map((turn) => ask(localOrShuffle(), busy, {}, { turn, node: "there" }))).toEqual([
      5, 6, 5,
    ]);
  });

  check.prop([fc.integer({ min: 1, max: 8 }), fc.nat({ max: 100 })])(
    "is shuffle when all tasks are on one node",
    (n, turn) => {
      const here = { turn, node: "here" };
      expect(ask(localOrShuffle(), tasks(n), {}, here)).toBe(ask(shuffle(), tasks(n), {}, here));
    },
  );
});

describe("fields", () => {
  check.prop([row, fc.integer({ min: 1, max: 9 }), fc.nat()])(
    "gives the same values to the same task, in whatever order the tasks stand",
    (values, n, by) => {
      const straight = tasks(n);
      const turned = straight.map((_, i) => straight[(i + by) % n] as Task);
      const copy = { ...values, of: "no importance" };
      expect(ask(fields("word", "file"), turned, copy)).toBe(ask(fields("word", "file"), straight, values));
      expect(ask(fields("word"), turned, copy)).toBe(ask(fields("word"), straight, values));
    },
  );

  check.prop([fc.array(row, { maxLength: 20 }), fc.integer({ min: 1, max: 9 })])(
    "moves values to a task that is new, and to no other",
    (rows, n) => {
      for (const values of rows) {
        const before = ask(fields("word", "file"), tasks(n), values);
        const after = ask(fields("word", "file"), tasks(n + 1), values);
        expect([before, n + 3]).toContain(after);
      }
    },
  );

  test.each([
    ["words", 4, (i: number) => ({ word: `word${i}`, file: "a" })],
    ["whole numbers", 7, (i: number) => ({ word: i, file: "a" })],
    ["large numbers", 3, (i: number) => ({ word: 1e12 + i, file: "a" })],
    ["objects", 5, (i: number) => ({ word: { i }, file: "a" })],
    ["pairs", 16, (i: number) => ({ word: i % 64, file: i >> 6 })],
  ])("uses all tasks evenly for different %s", (_name, n, values) => {
    const of = tasks(n);
    const ids = of.map((one) => one.tags.task);
    const spreadOf = (grouping: RoutingFunction<{ word: unknown; file: unknown }>): number =>
      chiSquare(ids, 3_000, (i) => ask(grouping, of, values(i)) as number);
    expect(spreadOf(fields("word", "file"))).toBeLessThan(limit(n));
    if (_name !== "pairs") expect(spreadOf(fields("word"))).toBeLessThan(limit(n));
  });

  test("insists on its task, whatever the state of that", () => {
    const of = tasks(4);
    const chosen = ask(fields("word"), of, { word: "the" });
    const down = of.map((one) => (one.tags.task === chosen ? { ...one, pressure: "reject" as const } : one));
    expect(ask(fields("word"), down, { word: "the" })).toBe(chosen);
  });

  // Written another way: the values as one text, with their types, in which nothing can run together.
  const model = (...values: unknown[]): string =>
    JSON.stringify(values.map((one) => [typeof one, typeof one === "object" ? one : String(one)]));

  check.prop([row, row])("tells different values apart, and no others", (a, b) => {
    const pair = keyHash(["word", "file"]);
    expect(pair(a) === pair(b)).toBe(model(a.word, a.file) === model(b.word, b.file));
    const single = keyHash(["word"]);
    expect(single(a) === single(b)).toBe(model(a.word) === model(b.word));
  });

  test.each([
    ["a", "bc", "ab", "c"],
    ["a", "b", "b", "a"],
    [1, "a", "1", "a"],
    ["", "a", "a", ""],
    [undefined, "a", null, "a"],
    [{ n: 1 }, "a", '{"n":1}', "a"],
  ])("does not take %j and %j for %j and %j", (word, file, otherWord, otherFile) => {
    const key = keyHash(["word", "file"]);
    expect(key({ word, file })).not.toBe(key({ word: otherWord, file: otherFile }));
  });

  test("takes objects of the same JSON for the same, and minus zero for zero", () => {
    const key = keyHash(["word"]);
    expect(key({ word: { at: [1, { n: 2 }] } })).toBe(key({ word: { at: [1, { n: 2 }] } }));
    expect(key({ word: -0 })).toBe(key({ word: 0 }));
  });

  test("refuses a name that is not a text", () => {
    const refused = expect.objectContaining({ code: "ERR_OPTION", path: "a field's name in fields(…)" });
    expect(() => fields("")).toThrow(refused);
    expect(() => fields("word", 7 as never)).toThrow(refused);
    expect(() => fields(undefined as never)).toThrow(OptionError);
    expect(() => partialKey("")).toThrow("a field's name in partialKey(…) must be a text that is not empty");
  });

  test("of fields that the stream does not have is no grouping for it", () => {
    interface Values {
      readonly word: string;
      readonly count: number;
    }
    expectTypeOf(fields("word", "count")).toExtend<Grouping<Values>>();
    expectTypeOf(partialKey("count")).toExtend<Grouping<Values>>();
    const wire = (grouping: Grouping<Values>): string | undefined => grouping.label;
    wire(fields("word"));
    wire(fields("count", "word"));
    // @ts-expect-error: misspelt
    wire(fields("wrod"));
    // @ts-expect-error: misspelt, the second
    wire(fields("word", "cuont"));
    // @ts-expect-error: misspelt
    wire(partialKey("wrod"));
    expect(wire(shuffle())).toBe("shuffle");
  });
});

describe("partialKey", () => {
  check.prop([fc.array(word, { minLength: 1, maxLength: 100 }), fc.integer({ min: 1, max: 9 })])(
    "gives the same values to at most two tasks",
    (words, n) => {
      const of = tasks(n);
      const seen = new Map<string, Set<unknown>>();
      for (const one of words) {
        const chosen = ask(partialKey("word"), of, { word: one });
        const task = of.find(({ tags }) => tags.task === chosen);
        expect(task).toBeDefined();
        if (task !== undefined) task.delivered++;
        seen.set(one, (seen.get(one) ?? new Set()).add(chosen));
      }
      for (const got of seen.values()) expect(got.size).toBeLessThanOrEqual(2);
    },
  );

  check.prop([word, fc.array(fc.nat({ max: 9 }), { minLength: 2, maxLength: 8 })])(
    "chooses one of the same two, the one that was given less, whatever the others were given",
    (one, delivered) => {
      const of = tasks(delivered.length);
      const grouping = partialKey("word");
      const first = ask(grouping, of, { word: one });
      const others = of.map((task) => (task.tags.task === first ? { ...task, delivered: 1 } : task));
      const second = ask(grouping, others, { word: one });
      expect(second).not.toBe(first);
      const given = of.map((task, i) => ({ ...task, delivered: delivered[i] as number }));
      const got = (id: unknown): number =>
        given.find(({ tags }) => tags.task === id)?.delivered ?? Number.NaN;
      expect(ask(grouping, given, { word: one })).toBe(got(second) < got(first) ? second : first);
    },
  );

  test("is more even than fields when some values are frequent", () => {
    // The word of rank r is as frequent as 1/r: Zipf's law. The steps go through all shares without a pattern.
    const words = Array.from({ length: 200 }, (_, rank) => ({ word: `word${rank}`, share: 1 / (rank + 1) }));
    const total = words.reduce((sum, { share }) => sum + share, 0);
    const values = (i: number): { word: string } => {
      let left = ((i * 0.618_033_988_75) % 1) * total;
      for (const one of words) {
        left -= one.share;
        if (left < 0) return one;
      }
      return { word: "word199" };
    };
    for (const n of [4, 5, 8]) {
      const load = (grouping: RoutingFunction<{ word: string }>): number =>
        Math.max(...spread(grouping, tasks(n), 4_000, values)) / (4_000 / n);
      expect(load(partialKey("word"))).toBeLessThan(load(fields("word")));
      expect(load(partialKey("word"))).toBeLessThan(1.05);
    }
  });

  test("gives all to the other while one of the two is down, or has no room", () => {
    const grouping = partialKey("word");
    const of = tasks(5);
    const first = ask(grouping, of, { word: "the" });
    const ofFirst = (pressure: Pressure, others: Pressure): unknown =>
      ask(
        grouping,
        of.map((one) =>
          one.tags.task === first ? { ...one, pressure } : { ...one, pressure: others, delivered: 9 },
        ),
        { word: "the" },
      );
    expect(ofFirst("accept", "accept")).toBe(first);
    expect(ofFirst("reject", "reject")).toBe(first);
    expect(ofFirst("defer", "reject")).toBe(first);
    const second = ofFirst("reject", "accept");
    expect(second).not.toBe(first);
    expect(ofFirst("reject", "defer")).toBe(second);
    expect(ofFirst("defer", "accept")).toBe(second);
  });

  check.prop([word, fc.integer({ min: 2, max: 9 })])(
    "moves values to a task that is new, and to no other",
    (one, n) => {
      const pair = (of: readonly Task[]): unknown[] => {
        const first = ask(partialKey("word"), of, { word: one });
        const others = of.map((task) => (task.tags.task === first ? { ...task, delivered: 1 } : task));
        return [first, ask(partialKey("word"), others, { word: one })];
      };
      for (const task of pair(tasks(n + 1))) expect([...pair(tasks(n)), n + 3]).toContain(task);
    },
  );
});

describe("global", () => {
  check.prop([fc.integer({ min: 1, max: 9 }), fc.nat(), fc.nat()])(
    "chooses the task with the lowest id, wherever it stands and whatever its state",
    (n, by, turn) => {
      const straight = tasks(n).map((one) => ({ ...one, pressure: "reject" as const }));
      const turned = straight.map((_, i) => straight[(i + by) % n] as Task);
      expect(ask(global(), turned, {}, { turn })).toBe(3);
    },
  );

  test("goes by the number: 9 is before 10", () => {
    expect(ask(global(), tasks(8).slice(6).reverse(), {})).toBe(9);
  });
});

describe("direct", () => {
  test("chooses the task that the emit names", () => {
    expect(ask(direct(), tasks(4), {}, { directTask: 5 })).toBe(5);
  });

  test("chooses none when the emit names none, or no task of the bolt", () => {
    expect(ask(direct(), tasks(4), {})).toBe(undefined);
    expect(ask(direct(), tasks(4), {}, { directTask: 2 })).toBe(undefined);
  });
});

describe("all", () => {
  test("chooses none by itself: the topology sends to every task without asking", () => {
    expect(ask(all(), tasks(4), {})).toBe(undefined);
  });
});
