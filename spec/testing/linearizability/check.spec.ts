// Linearizability: what clients saw of an object is explained by an order of their operations, one at a time.

import { describe, expect, it } from "vitest";
import { OptionError } from "../../../lib/process/errors.js";
import {
  assertLinearizable,
  checkLinearizable,
  NotLinearizableError,
} from "../../../lib/testing/linearizability/check.js";
import { OperationHistory } from "../../../lib/testing/linearizability/history.js";
import { type SequentialModel, SequentialModelError } from "../../../lib/testing/linearizability/model.js";
import { LinearizabilityLimitError } from "../../../lib/testing/linearizability/search.js";
import {
  bag,
  counter,
  historyOf,
  partitionedStore,
  queue,
  register,
  store,
  waitingQueue,
} from "./histories.js";

type Model = SequentialModel<never, string, string>;

/** The order that was found, as words; or the answer that no order explains. */
function verdict(history: OperationHistory<string, string>, model: unknown): string {
  const found = checkLinearizable(history, model as Model);
  return found.linearizable
    ? found.order.map(({ client, op }) => `${client} ${op}`).join(", ")
    : `${found.broken.client} ${found.broken.op} → ${found.broken.result} is impossible`;
}

describe("a history is linearizable", () => {
  it("when one operation after the other was answered as the model answers", () => {
    const history = historyOf("A asks write 1", "A hears ok", "B asks read", "B hears 1");
    expect(verdict(history, register)).toBe("A write 1, B read");
  });

  it("when operations that overlap have an order that explains the answers", () => {
    const history = historyOf(
      "A asks write 1",
      "B asks read",
      "C asks read",
      "B hears 1",
      "C hears 0",
      "A hears ok",
    );
    expect(verdict(history, register)).toBe("C read, A write 1, B read");
  });

  it("when it is empty, or nothing was answered", () => {
    expect(verdict(historyOf(), register)).toBe("");
    expect(verdict(historyOf("A asks write 1", "B asks read"), register)).toBe("");
  });

  it("not when a read misses a write that had ended before it began", () => {
    const history = historyOf("A asks write 1", "A hears ok", "B asks read", "B hears 0");
    expect(verdict(history, register)).toBe("B read → 0 is impossible");
  });

  it("not when of two reads the later one sees the older value", () => {
    const history = historyOf(
      "A asks write 1",
      "B asks read",
      "B hears 1",
      "B asks read",
      "B hears 0",
      "A hears ok",
    );
    expect(verdict(history, register)).toBe("B read → 0 is impossible");
  });

  it("not when two increments that overlap count the same", () => {
    const history = historyOf("A asks inc", "B asks inc", "A hears 1", "B hears 1");
    expect(verdict(history, counter)).toBe("B inc → 1 is impossible");
  });
});

describe("the queues of Herlihy and Wing (1990)", () => {
  it("may take items in another order than their enqueues began in, if those overlap", () => {
    const history = historyOf(
      ...["A asks enq x", "B asks enq y", "B hears ok", "A hears ok", "B asks deq", "B hears x"],
      ...["A asks deq", "A hears y", "A asks enq z"],
    );
    expect(verdict(history, waitingQueue)).toBe("A enq x, B enq y, B deq, A deq");
    const reversed = historyOf(
      ...["A asks enq x", "B asks enq y", "B hears ok", "A hears ok", "B asks deq", "B hears y"],
      ...["A asks deq", "A hears x"],
    );
    expect(verdict(reversed, waitingQueue)).toBe("B enq y, A enq x, B deq, A deq");
  });

  it("may not take the second item first, when the first was there before", () => {
    const history = historyOf(
      ...["A asks enq x", "A hears ok", "B asks enq y", "A asks deq", "B hears ok", "A hears y"],
    );
    expect(verdict(history, waitingQueue)).toBe("A deq → y is impossible");
  });

  it("may give an item whose enqueue has not been answered", () => {
    const history = historyOf("A asks enq x", "B asks deq", "B hears x");
    expect(verdict(history, waitingQueue)).toBe("A enq x, B deq");
  });

  it("may not give the same item twice", () => {
    const history = historyOf(
      ...["A asks enq x", "B asks enq y", "A hears ok", "B hears ok"],
      ...["A asks deq", "C asks deq", "A hears y", "C hears y"],
    );
    expect(verdict(history, waitingQueue)).toBe("C deq → y is impossible");
  });

  it("may say that they are empty only when they can be", () => {
    const before = historyOf("A asks enq x", "B asks deq", "B hears empty", "A hears ok");
    expect(verdict(before, queue)).toBe("B deq, A enq x");
    const after = historyOf("A asks enq x", "A hears ok", "B asks deq", "B hears empty");
    expect(verdict(after, queue)).toBe("B deq → empty is impossible");
  });
});

describe("an operation without an answer", () => {
  it("may have taken effect", () => {
    const history = historyOf("A asks write 1", "A hears nothing", "B asks read", "B hears 1");
    expect(verdict(history, register)).toBe("A write 1, B read");
  });

  it("may have taken none", () => {
    const history = historyOf("A asks write 1", "A hears nothing", "B asks read", "B hears 0");
    expect(verdict(history, register)).toBe("B read");
  });

  it("may take effect late, after other operations of the same client", () => {
    const history = historyOf(
      ...["A asks write 1", "A hears nothing", "A asks read", "A hears 0"],
      ...["A asks write 2", "A hears ok", "A asks read", "A hears 1"],
    );
    expect(verdict(history, register)).toBe("A read, A write 2, A write 1, A read");
  });

  it("takes effect once at most", () => {
    const history = historyOf(
      ...["A asks write 1", "A hears nothing", "B asks read", "B hears 1"],
      ...["B asks write 2", "B hears ok", "B asks read", "B hears 1"],
    );
    expect(verdict(history, register)).toBe("B read → 1 is impossible");
  });

  it("takes no effect before it begins", () => {
    const history = historyOf("B asks read", "B hears 1", "A asks write 1", "A hears nothing");
    expect(verdict(history, register)).toBe("B read → 1 is impossible");
  });

  it("counts as often as it was asked", () => {
    const lost = (times: number) =>
      Array.from({ length: times }, (_, i) => [`C${i} asks inc`, `C${i} hears nothing`]).flat();
    expect(verdict(historyOf(...lost(3), "B asks inc", "B hears 4"), counter)).toBe(
      "C0 inc, C1 inc, C2 inc, B inc",
    );
    expect(verdict(historyOf(...lost(3), "B asks inc", "B hears 5"), counter)).toBe(
      "B inc → 5 is impossible",
    );
  });
});

describe("a model", () => {
  it("may leave the object a choice", () => {
    const put = ["A asks put x", "A hears ok", "A asks put y", "A hears ok"];
    expect(verdict(historyOf(...put, "B asks take", "B hears y", "B asks take", "B hears x"), bag)).toBe(
      "A put x, A put y, B take, B take",
    );
    expect(verdict(historyOf(...put, "B asks take", "B hears y", "B asks take", "B hears y"), bag)).toBe(
      "B take → y is impossible",
    );
  });

  it("may leave a choice that shows only later", () => {
    const history = historyOf(
      ...["A asks put x", "A hears ok", "A asks put y", "A hears ok"],
      ...["B asks take", "B hears nothing", "C asks take", "C hears x", "C asks take", "C hears none"],
    );
    expect(verdict(history, bag)).toBe("A put x, A put y, B take, C take, C take");
  });

  it("may be made of parts, each of which is checked alone", () => {
    const history = historyOf(
      ...["A asks x write 1", "B asks y write 2", "C asks y read", "C hears 2", "A hears ok"],
      ...["C asks x read", "C hears 1", "B hears ok"],
    );
    const order = "A x write 1, B y write 2, C y read, C x read";
    expect(verdict(history, store)).toBe(order);
    expect(verdict(history, partitionedStore)).toBe(order);
  });

  it("says in which part the answer is impossible", () => {
    const history = historyOf(
      "A asks x write 1",
      "A hears ok",
      "C asks y read",
      "C hears 0",
      "C asks x read",
      "C hears 0",
    );
    const found = checkLinearizable(history, partitionedStore);
    expect(found).toMatchObject({ linearizable: false, partition: "x", broken: { op: "x read" } });
    expect(checkLinearizable(history, store)).toMatchObject({ linearizable: false, partition: undefined });
  });

  it("compares answers by structure, unless it has its own way", () => {
    const history = new OperationHistory<
      "get",
      { readonly at: number; readonly tags: ReadonlySet<string> }
    >();
    history.begin("A", "get").end({ tags: new Set(["b", "a"]), at: 0 });
    const answer = { at: -0, tags: new Set(["a", "b"]) };
    expect(checkLinearizable(history, { initial: 0, apply: () => [0, answer] }).linearizable).toBe(true);
    const later = { ...answer, at: 1 };
    expect(checkLinearizable(history, { initial: 0, apply: () => [0, later] }).linearizable).toBe(false);
    const equal = () => true;
    expect(checkLinearizable(history, { initial: 0, apply: () => [0, later], equal }).linearizable).toBe(
      true,
    );
  });

  it.each([
    [Number.NaN, Number.NaN, true],
    [0, -0, true],
    [1, "1", false],
    [null, undefined, false],
    [null, {}, false],
    [[1, [2]], [1, [2]], true],
    [[1, [2]], [1, [3]], false],
  ])("takes %j for the answer %j: %s", (recorded, modelled, same) => {
    const history = new OperationHistory<string, unknown>();
    history.begin("A", "get").end(recorded);
    expect(checkLinearizable(history, { initial: 0, apply: () => [0, modelled] }).linearizable).toBe(same);
  });

  it("may answer with a value that has hidden parts, which never equals plain data", () => {
    class Pid {}
    for (const [recorded, modelled] of [
      [new Pid(), undefined],
      [null, new Pid()],
    ]) {
      const history = new OperationHistory<string, unknown>();
      history.begin("A", "whereis").end(recorded);
      expect(checkLinearizable(history, { initial: 0, apply: () => [0, modelled] }).linearizable).toBe(false);
      expect(checkLinearizable(history, { initial: 0, apply: () => [0, recorded] }).linearizable).toBe(true);
    }
  });

  it("may hold a Map or a Set whose order matters, as that of an LRU cache does", () => {
    const cache: SequentialModel<ReadonlySet<string>, string, string> = {
      initial: new Set(),
      apply: (used, op) => {
        const [oldest = "none"] = used;
        if (op === "oldest") return [used, oldest];
        return [new Set([...[...used].filter((one) => one !== op), op]), "ok"];
      },
    };
    const both = ["A asks x", "B asks y", "A hears ok", "B hears ok"];
    expect(verdict(historyOf(...both, "C asks oldest", "C hears x"), cache)).toBe("A x, B y, C oldest");
    expect(verdict(historyOf(...both, "C asks oldest", "C hears y"), cache)).toBe("B y, A x, C oldest");
  });

  it("may have its own key for states", () => {
    class Held {
      readonly #value: string;
      constructor(value: string) {
        this.#value = value;
      }
      get value(): string {
        return this.#value;
      }
    }
    const model: SequentialModel<Held, string, string> = {
      initial: new Held("0"),
      apply: (held, op) => (op === "read" ? [held, held.value] : [new Held(op.slice(6)), "ok"]),
    };
    const history = historyOf(
      "A asks write 1",
      "B asks write 2",
      "C asks read",
      "C hears 1",
      "A hears ok",
      "B hears ok",
    );
    expect(() => checkLinearizable(history, model)).toThrow(
      /^the states of the model cannot be told apart; give it `key`.*Held/,
    );
    expect(verdict(history, { ...model, key: (held: Held) => held.value })).toBe(
      "A write 1, C read, B write 2",
    );
  });
});

describe("a wrong model", () => {
  const history = historyOf("A asks write 1", "A hears ok");
  const initial: string[] = [];
  const caught = (model: unknown): SequentialModelError => {
    try {
      checkLinearizable(history, model as Model);
    } catch (error) {
      expect(error).toBeInstanceOf(SequentialModelError);
      return error as SequentialModelError;
    }
    throw new Error("no error");
  };
  const broken = new Error("broken");
  const fail = (): never => {
    throw broken;
  };

  it("gives an error that names the operation and has a cause", () => {
    expect(caught({ initial, apply: fail })).toMatchObject({
      code: "ERR_MODEL",
      message: `the model's apply threw for "write 1" in state []: broken`,
      op: "write 1",
      cause: broken,
    });
    expect(caught({ initial, outcomes: fail }).message).toContain("the model's outcomes threw");
    const apply = () => [initial, "ok"];
    expect(caught({ initial, apply, equal: fail })).toMatchObject({
      message: `the model's equal threw for "write 1": broken`,
    });
    expect(caught({ initial, apply, partition: fail }).message).toContain(`partition threw for "write 1"`);
    expect(caught({ initial, apply, key: fail })).toMatchObject({
      message: "the model's key threw for its initial state: broken",
      op: undefined,
    });
    const key = (state: string[]) => (state === initial ? "" : fail());
    expect(caught({ initial, apply: () => [["1"], "ok"], key }).op).toBe("write 1");
  });

  it("answers with something that is not a state and a result", () => {
    for (const answer of [undefined, "ok", [], [initial]]) {
      expect(caught({ initial, apply: () => answer }).message).toContain(
        "apply must return a pair [state, result]",
      );
    }
    for (const answer of [undefined, [initial, "ok"], [[initial]]]) {
      expect(caught({ initial, outcomes: () => answer }).message).toContain(
        "outcomes must return a list of pairs",
      );
    }
  });

  it("changes the state in place, and would be asked about states that never were", () => {
    const model = {
      initial: [] as string[],
      apply: (items: string[], op: string) => [items, String(items.push(op))],
    };
    expect(caught(model).message).toBe(
      `the model's apply changed the state that it was given for "write 1"; it must return a new one`,
    );
    expect(
      caught({
        ...model,
        initial: new Map(),
        apply: (map: Map<string, string>) => [map.set("a", "b"), "ok"],
      }),
    ).toMatchObject({ op: "write 1" });
  });

  it("begins with a state that has no text", () => {
    expect(caught({ initial: new (class Held {})(), apply: fail })).toMatchObject({
      message: expect.stringMatching(/^the states of the model cannot be told apart/),
      op: undefined,
    });
  });

  it("has answers that cannot be compared", () => {
    const pids = new OperationHistory<string, unknown>();
    pids.begin("A", "whereis").end(new (class Pid {})());
    const model = { initial: 0, apply: () => [0, new (class Pid {})()] as const };
    expect(() => checkLinearizable(pids, model)).toThrow(
      /results of "whereis" cannot be compared; give.*`equal`/,
    );
  });
});

describe("the search", () => {
  /** So many clients ask at once, and are answered when all have asked. */
  const atOnce = (ops: readonly string[], answer: string) => [
    ...ops.map((op, i) => `C${i} asks ${op}`),
    ...ops.map((_, i) => `C${i} hears ${answer}`),
  ];

  it("tries the same operations with the same state once", () => {
    const writes = Array.from({ length: 12 }, (_, i) => `write ${i % 2}`);
    const history = historyOf(...atOnce(writes, "ok"), "B asks read", "B hears 7");
    // 2^12 sets of operations, with one of two values: of the 12! orders no more is tried.
    expect(checkLinearizable(history, register, { most: 2 ** 13 }).linearizable).toBe(false);
  });

  it("takes equal operations without an answer in one order only", () => {
    const lost = Array.from({ length: 20 }, (_, i) => [`C${i} asks inc`, `C${i} hears nothing`]).flat();
    const history = historyOf(...lost, "B asks inc", "B hears 30");
    expect(checkLinearizable(history, counter, { most: 20 }).linearizable).toBe(false);
  });

  it("leaves out operations without an answer that change nothing", () => {
    const lost = Array.from({ length: 20 }, (_, i) => [`C${i} asks ${i} read`, `C${i} hears nothing`]).flat();
    const history = historyOf(...lost, "B asks 0 read", "B hears 1");
    expect(checkLinearizable(history, store, { most: 1 }).linearizable).toBe(false);
  });

  it("checks parts one after the other: their orders do not multiply", () => {
    const at = (name: string) =>
      atOnce(
        ["write 1", "write 2", "write 3"].map((op) => `${name} ${op}`),
        "ok",
      );
    const names = ["t", "u", "v", "w", "x", "y", "z"];
    const reads = names.flatMap((name) => [`B asks ${name} read`, `B hears 3`]);
    expect(
      checkLinearizable(historyOf(...names.flatMap(at), ...reads), partitionedStore, { most: 20 })
        .linearizable,
    ).toBe(true);
  });

  it("gives up at its limit without a verdict", () => {
    const history = historyOf(...atOnce(["write 1", "write 2", "write 3"], "ok"), "B asks read", "B hears 7");
    expect(() => checkLinearizable(history, register, { most: 5 })).toThrow(LinearizabilityLimitError);
    expect(() => checkLinearizable(history, register, { most: 5 })).toThrow(/not decided within 5 states/);
  });

  it("needs a state for each set of operations placed, with each value that it can lead to", () => {
    const writes = Array.from({ length: 6 }, (_, i) => `write ${i + 1}`);
    const history = historyOf(...atOnce(writes, "ok"), "B asks read", "B hears 7");
    const states = 6 * 2 ** 5;
    expect(() => checkLinearizable(history, register, { most: states - 1 })).toThrow(
      LinearizabilityLimitError,
    );
    expect(checkLinearizable(history, register, { most: states }).linearizable).toBe(false);
  });

  it.each([0, -1, 1.5, Number.NaN, 10_000_001, Number.POSITIVE_INFINITY])(
    "has no limit of %d states",
    (most) => {
      expect(() => checkLinearizable(historyOf(), register, { most })).toThrow(OptionError);
    },
  );

  it("places hundreds of operations", () => {
    const events = Array.from({ length: 400 }, (_, i) => [
      ...[`A asks write ${i}`, "B asks read", "C asks read", "C hears nothing"],
      ...["A hears ok", `B hears ${i % 3 === 0 ? i : Math.max(0, i - 1)}`],
    ]).flat();
    expect(checkLinearizable(historyOf(...events), register).linearizable).toBe(true);
  });
});

describe("the explanation", () => {
  const stale = () =>
    historyOf(
      ...["ann asks write 1", "ann hears ok", "bob asks write 2", "cat asks read", "cat hears 2"],
      ...["dan asks write 3", "dan hears nothing", "cat asks read", "cat hears 1", "bob hears ok"],
      ...["ann asks read", "ann hears 2"],
    );

  it("shows the operations up to the impossible answer, how far an order gets, and which operations do not fit", () => {
    const found = checkLinearizable(stale(), register);
    expect(found).toMatchObject({
      linearizable: false,
      broken: { number: 5 },
      prefix: [{ number: 1 }, { number: 2 }, { number: 3 }],
      unplaced: [{ number: 5 }],
    });
    expect(found.linearizable ? "" : found.explanation).toBe(
      [
        "The history is not linearizable: no order explains the answer to #5.",
        "Up to that answer no contradiction was found.",
        "",
        `    #1 ann ||        "write 1" → "ok"`,
        `    #2 bob   |-----> "write 2" (answered later)`,
        `    #3 cat    ||     "read" → "2"`,
        `    #4 dan      |--> "write 3" (no answer)`,
        `  > #5 cat       ||  "read" → "1"`,
        "",
        `A longest order that fits: #1, #2, #3. It leads to the state "2".`,
        "Next would have to come:",
        `    #5 "read": the answer was "1", the model's is "2"`,
        "It does not help to place what had no answer: #4.",
      ].join("\n"),
    );
  });

  it("is the message of the error", () => {
    const found = checkLinearizable(stale(), register);
    try {
      assertLinearizable(stale(), register);
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(NotLinearizableError);
      expect(error).toMatchObject({ code: "ERR_NOT_LINEARIZABLE", result: found });
      expect((error as Error).message).toBe(found.linearizable ? "" : found.explanation);
    }
    expect(() => assertLinearizable(historyOf("A asks read", "A hears 0"), register)).not.toThrow();
    expect(() => assertLinearizable(stale(), register, { most: 1 })).toThrow(LinearizabilityLimitError);
  });

  const explanation = (history: OperationHistory<string, string>, model: unknown): string => {
    const found = checkLinearizable(history, model as Model);
    return found.linearizable ? "" : found.explanation;
  };

  it("says when nothing can come first, and in which part", () => {
    const text = explanation(historyOf("A asks x read", "A hears 1"), partitionedStore);
    expect(text).toContain(`The history of "x" is not linearizable: no order explains the answer to #1.`);
    expect(text).toContain(`Nothing can come first, in the state "0".`);
  });

  it("says when the model allows nothing, or one of several answers", () => {
    expect(explanation(historyOf("A asks deq", "A hears x"), waitingQueue)).toContain(
      `#1 "deq": the model does not allow it there`,
    );
    const put = (n: number) => Array.from({ length: n }, (_, i) => [`A asks put ${i}`, "A hears ok"]).flat();
    expect(explanation(historyOf(...put(2), "A asks take", "A hears x"), bag)).toContain(
      `the answer was "x", the model's is "0" or "1"`,
    );
    const same = ["A asks put x", "A hears ok", "A asks put x", "A hears ok", "A asks take", "A hears y"];
    expect(explanation(historyOf(...same), bag)).toMatch(/the model's is "x"$/);
    expect(explanation(historyOf(...put(7), "A asks take", "A hears x"), bag)).toMatch(
      /the model's is "0" or "1" or "2" or "3" or "4", or 2 other answers$/,
    );
  });

  it("omits irrelevant operations of a long history", () => {
    const writes = Array.from({ length: 50 }, (_, i) => [`A asks write ${i}`, "A hears ok"]).flat();
    const text = explanation(historyOf(...writes, "B asks read", "B hears 3"), register);
    expect(text).toContain("    and 31 more");
    expect(text).not.toContain(`"write 30"`);
    expect(text).toContain(`    #32 A ||`);
    expect(text).toContain(`  > #51 B ${" ".repeat(38)}||  "read" → "3"`);
    expect(text).toContain("A longest order that fits: …, #31, #32,");
    expect(text).toContain(`It leads to the state "49".`);
  });

  it("names some of the many that could come next", () => {
    const readers = Array.from({ length: 25 }, (_, i) => `C${i}`);
    const history = historyOf(
      ...[...readers.map((name) => `${name} asks read`), "A asks write 1"],
      ...[...readers.map((name) => `${name} hears 1`), "A hears no"],
    );
    const lines = explanation(history, register).split("\n");
    expect(lines[0]).toContain("no order explains the answer to #26.");
    expect(lines).toContain("Next would have to come one of:");
    expect(
      lines.filter((line) => /^ +#\d+ "read": the answer was "1", the model's is "0"$/.test(line)),
    ).toHaveLength(20);
    expect(lines.filter((line) => line.startsWith("  > #26"))).toHaveLength(1);
    expect(lines.filter((line) => line === "    and 6 more")).toHaveLength(2);
  });

  it("names the last operations without an answer", () => {
    const lost = Array.from({ length: 25 }, (_, i) => [`C${i} asks read`, `C${i} hears nothing`]).flat();
    const last = Array.from({ length: 20 }, (_, i) => `#${i + 6}`).join(", ");
    expect(explanation(historyOf(...lost, "A asks read", "A hears 9"), register)).toContain(
      `It does not help to place what had no answer: …, ${last}.`,
    );
  });

  it("stays with more of the history when the limit does not suffice for less", () => {
    const writers = ["A", "B", "C", "D"];
    const history = historyOf(
      ...[...writers.map((name) => `${name} asks write ${name}`), "E asks read", "E hears 9"],
      ...writers.map((name) => `${name} hears no`),
    );
    // As long as a write has no answer it may have been or not; once it heard "no", it cannot have been.
    expect(checkLinearizable(history, register)).toMatchObject({ broken: { client: "E" } });
    expect(checkLinearizable(history, register, { most: 5 })).toMatchObject({ broken: { client: "B" } });
  });
});
