// The verdict on any history: held against every order there is, and against objects that are linearizable.

import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { checkLinearizable } from "../../../lib/testing/linearizability/check.js";
import { type Operation, OperationHistory } from "../../../lib/testing/linearizability/history.js";
import type { SequentialModel } from "../../../lib/testing/linearizability/model.js";
import { sized } from "../../support/proof.js";
import { counter, partitionedStore, queue, register, store, type TextHistory } from "./histories.js";

type Call = Operation<string, string>;
/** An object of the ordinary kind, which changes as it answers. */
type Thing = (op: string) => string;

interface Kind {
  readonly model: SequentialModel<never, string, string>;
  readonly make: () => Thing;
  readonly ops: readonly string[];
  /** What it can be thought to answer. */
  readonly results: readonly string[];
}

const kinds = {
  register: {
    model: register as unknown as Kind["model"],
    make: () => {
      let held = "0";
      return (op) => {
        if (op === "read") return held;
        held = op.split(" ")[1] as string;
        return "ok";
      };
    },
    ops: ["read", "read", "write 1", "write 2"],
    results: ["0", "1", "2", "ok", "ok"],
  },
  counter: {
    model: counter as unknown as Kind["model"],
    make: () => {
      let count = 0;
      return () => String(++count);
    },
    ops: ["inc"],
    results: ["1", "2", "3", "4"],
  },
  queue: {
    model: queue as unknown as Kind["model"],
    make: () => {
      const items: string[] = [];
      return (op) => {
        if (op === "deq") return items.shift() ?? "empty";
        items.push(op.split(" ")[1] as string);
        return "ok";
      };
    },
    ops: ["enq x", "enq y", "deq", "deq"],
    results: ["x", "y", "empty", "ok", "ok"],
  },
  store: {
    model: store as unknown as Kind["model"],
    make: () => {
      const held = new Map<string, string>();
      return (op) => {
        const [name, verb, value] = op.split(" ") as [string, string, string];
        if (verb === "read") return held.get(name) ?? "0";
        held.set(name, value);
        return "ok";
      };
    },
    ops: ["x read", "y read", "x write 1", "y write 1", "x write 2"],
    results: ["0", "1", "2", "ok", "ok"],
  },
} satisfies { readonly [name: string]: Kind };

// ── every order ─────────────────────────────────────────────────────────────────────────────────────────────────────

const isBefore = (a: Call, b: Call): boolean => a.outcome === "answered" && a.end < b.begin;

function* subsets<T>(of: readonly T[]): Generator<T[]> {
  for (let bits = 0; bits < 2 ** of.length; bits++) yield of.filter((_, i) => (bits & (1 << i)) !== 0);
}

function* orders(of: readonly Call[]): Generator<Call[]> {
  if (of.length === 0) yield [];
  for (const first of of) {
    const rest = of.filter((one) => one !== first);
    if (!rest.some((one) => isBefore(one, first))) for (const order of orders(rest)) yield [first, ...order];
  }
}

/** The object itself gives these answers when asked in this order. */
function answersSo(make: () => Thing, order: readonly Call[]): boolean {
  const thing = make();
  return order.every((one) => {
    const answer = thing(one.op);
    return one.outcome === "unknown" || one.result === answer;
  });
}

/** Whether any order of the answered operations and any of the others explains the answers. */
function isExplained(make: () => Thing, operations: readonly Call[]): boolean {
  const answered = operations.filter(({ outcome }) => outcome === "answered");
  for (const lost of subsets(operations.filter(({ outcome }) => outcome === "unknown"))) {
    for (const order of orders([...answered, ...lost])) if (answersSo(make, order)) return true;
  }
  return false;
}

/** The history as it was just before an answer, or just after. */
function upTo(operations: readonly Call[], event: number): Call[] {
  return operations
    .filter(({ begin }) => begin <= event)
    .map((one) => (one.outcome === "answered" && one.end > event ? { ...one, outcome: "unknown" } : one));
}

function respectsTime(order: readonly Call[]): boolean {
  return order.every((later, i) => order.slice(0, i).every((earlier) => !isBefore(later, earlier)));
}

// ── histories ───────────────────────────────────────────────────────────────────────────────────────────────────────

const number = fc.nat({ max: 59 });
const kind = fc.constantFrom<Kind>(...Object.values(kinds));

/** Any history at all: what is asked and answered has nothing to do with any object. */
function wild({ ops, results }: Kind, choices: readonly number[], most: number): TextHistory {
  const history: TextHistory = new OperationHistory();
  const open = new Map<number, ReturnType<TextHistory["begin"]>>();
  for (const choice of choices) {
    const client = choice % 3;
    const call = open.get(client);
    if (call === undefined) {
      if (history.operations.length === most) continue;
      open.set(client, history.begin(`C${client}`, ops[(choice >> 2) % ops.length] as string));
    } else {
      open.delete(client);
      if (choice % 5 === 0) call.unknown();
      else call.end(results[(choice >> 2) % results.length] as string);
    }
  }
  return history;
}

interface Asked {
  readonly op: string;
  readonly call: ReturnType<TextHistory["begin"]>;
  answer: string | undefined;
}

/**
 * What clients see of one object that does one operation after the other, each at some moment after it was asked. Some
 * answers are lost; and so are some requests, of which some take effect much later all the same. With `lies`, of so many
 * moments one lets it answer "1" whatever it should.
 */
function tame(
  { ops, make }: Kind,
  choices: readonly number[],
  clients: number,
  lies = Number.NaN,
): TextHistory {
  const history: TextHistory = new OperationHistory();
  const thing = make();
  const open = new Map<number, Asked>();
  const astray: string[] = [];
  for (const [step, choice] of choices.entries()) {
    const client = choice % clients;
    const asked = open.get(client);
    const late = choice % 11 === 0 ? astray.shift() : undefined;
    if (late !== undefined) thing(late);
    if (asked === undefined) {
      const op = ops[(choice >> 2) % ops.length] as string;
      open.set(client, { op, call: history.begin(`C${client}`, op), answer: undefined });
    } else if (choice % 7 === 0) {
      open.delete(client);
      asked.call.unknown();
      if (asked.answer === undefined) astray.push(asked.op);
    } else if (asked.answer === undefined) asked.answer = thing(asked.op);
    else {
      open.delete(client);
      asked.call.end(step % lies === 0 ? "1" : asked.answer);
    }
  }
  return history;
}

// ── held ────────────────────────────────────────────────────────────────────────────────────────────────────────────

describe("the verdict", () => {
  test.prop([kind, fc.array(number, { maxLength: 16 })], { numRuns: sized(100, 1 / 25, 400) })(
    "on any small history is that of trying every order [T10]",
    (given, choices) => {
      const history = wild(given, choices, 7);
      expect(checkLinearizable(history, given.model).linearizable).toBe(
        isExplained(given.make, history.operations),
      );
    },
  );

  test.prop([kind, fc.array(number, { minLength: 8, maxLength: 18 }), fc.integer({ min: 2, max: 9 })], {
    numRuns: sized(100, 1 / 25, 400),
  })("is so, too, when an object gives a wrong answer now and then", (given, choices, lies) => {
    const history = tame(given, choices, 3, lies);
    fc.pre(history.operations.length <= 7);
    expect(checkLinearizable(history, given.model).linearizable).toBe(
      isExplained(given.make, history.operations),
    );
  });

  test.prop([kind, fc.array(number, { maxLength: 150 }), fc.integer({ min: 1, max: 5 })])(
    "on what an object answered that does one operation after the other is always yes, with an order that shows it",
    (given, choices, clients) => {
      const history = tame(given, choices, clients);
      const verdict = checkLinearizable(history, given.model);
      expect(verdict.linearizable).toBe(true);
      const order = verdict.linearizable ? verdict.order : [];
      expect(new Set(order).size).toBe(order.length);
      expect(order).toEqual(
        expect.arrayContaining(history.operations.filter((one) => one.outcome === "answered")),
      );
      expect(respectsTime(order)).toBe(true);
      expect(answersSo(given.make, order)).toBe(true);
    },
  );

  test.prop([kind, fc.array(number, { maxLength: 16 })], { numRuns: sized(100, 1 / 25, 400) })(
    "names the first answer that is impossible, and an order that nothing extends",
    (given, choices) => {
      const { operations } = wild(given, choices, 7);
      const verdict = checkLinearizable(wild(given, choices, 7), given.model);
      if (verdict.linearizable) return;
      const { broken, prefix, unplaced } = verdict;
      expect(isExplained(given.make, upTo(operations, broken.end - 1))).toBe(true);
      expect(isExplained(given.make, upTo(operations, broken.end))).toBe(false);

      const known = upTo(operations, broken.end);
      const asKnown = (one: Call): Call =>
        known[operations.findIndex(({ number }) => number === one.number)] as Call;
      const order = prefix.map(asKnown);
      expect(respectsTime(order)).toBe(true);
      expect(answersSo(given.make, order)).toBe(true);
      const left = known.filter((one) => one.outcome === "answered" && !order.includes(one));
      const next = left.filter((one) => !left.some((other) => isBefore(other, one)));
      expect(unplaced.map(asKnown)).toEqual(next);
      expect(next.length).toBeGreaterThan(0);
      for (const one of next) expect(answersSo(given.make, [...order, one])).toBe(false);
    },
  );

  test.prop([fc.array(number, { minLength: 25, maxLength: 80 }), fc.integer({ min: 2, max: 40 })])(
    "is the same for the parts and for the whole, and the parts have an order together",
    (choices, lies) => {
      const given = kinds.store;
      const history = tame(given, choices, 3, lies);
      const verdict = checkLinearizable(history, partitionedStore);
      expect(verdict.linearizable).toBe(checkLinearizable(history, given.model).linearizable);
      if (!verdict.linearizable) return;
      expect(respectsTime(verdict.order)).toBe(true);
      expect(answersSo(given.make, verdict.order)).toBe(true);
    },
  );
});
