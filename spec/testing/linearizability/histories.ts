// Histories told line by line, in operations of words, and the objects that they are about.

import { OperationHistory } from "../../../lib/testing/linearizability/history.js";
import type { SequentialModel } from "../../../lib/testing/linearizability/model.js";

export type TextHistory = OperationHistory<string, string>;

/**
 * A history from its events: "A asks enq x" begins an operation, "A hears ok" ends it, and after "A hears nothing" the
 * client may ask again. This is the notation of Herlihy and Wing, in English.
 */
export function historyOf(...events: readonly string[]): TextHistory {
  const history: TextHistory = new OperationHistory();
  const open = new Map<string, ReturnType<TextHistory["begin"]>>();
  for (const event of events) {
    const [, client, verb, what] = /^(\w+) (asks|hears) (.+)$/.exec(event) as unknown as [
      string,
      string,
      string,
      string,
    ];
    const call = open.get(client);
    if (verb === "asks" && call === undefined) open.set(client, history.begin(client, what));
    else if (verb === "hears" && call !== undefined) {
      open.delete(client);
      if (what === "nothing") call.unknown();
      else call.end(what);
    } else throw new Error(`out of turn: ${event}`);
  }
  return history;
}

/** "write 1" is answered "ok", "read" with what was written last, at first "0". */
export const register: SequentialModel<string, string, string> = {
  initial: "0",
  apply: (held, op) => (op === "read" ? [held, held] : [op.slice("write ".length), "ok"]),
};

/** "inc" is answered with how many there have been. */
export const counter: SequentialModel<number, string, string> = {
  initial: 0,
  apply: (count) => [count + 1, String(count + 1)],
};

/** "enq x" is answered "ok", "deq" with the first item, or "empty". */
export const queue: SequentialModel<readonly string[], string, string> = {
  initial: [],
  apply: (items, op) => {
    if (op !== "deq") return [[...items, op.slice("enq ".length)], "ok"];
    const [first, ...rest] = items;
    return first === undefined ? [items, "empty"] : [rest, first];
  },
};

/** A queue like Herlihy and Wing's, whose "deq" waits while there is nothing. */
export const waitingQueue: SequentialModel<readonly string[], string, string> = {
  initial: [],
  outcomes: (items, op) => {
    if (op !== "deq") return [[[...items, op.slice("enq ".length)], "ok"]];
    const [first, ...rest] = items;
    return first === undefined ? [] : [[rest, first]];
  },
};

/** "put x" is answered "ok", "take" with any of the items, or "none". */
export const bag: SequentialModel<readonly string[], string, string> = {
  initial: [],
  outcomes: (items, op) => {
    if (op !== "take") return [[[...items, op.slice("put ".length)].sort(), "ok"]];
    if (items.length === 0) return [[items, "none"]];
    return items.map((item, index) => [items.toSpliced(index, 1), item] as const);
  },
};

/** One register for each name: "x write 1", "x read". */
export const store: SequentialModel<{ readonly [name: string]: string }, string, string> = {
  initial: {},
  apply: (held, line) => {
    const [name, verb, value] = line.split(" ") as [string, string, string];
    return verb === "read" ? [held, held[name] ?? "0"] : [{ ...held, [name]: value }, "ok"];
  },
};

/** The same, each register on its own. */
export const partitionedStore: SequentialModel<string, string, string> = {
  initial: "0",
  apply: (held, line) => register.apply?.(held, line.slice(2)) ?? [held, ""],
  partition: (line) => line.slice(0, 1),
};
