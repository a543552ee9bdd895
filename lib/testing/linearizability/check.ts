// Decides whether one sequential order of the operations explains the answers that the clients of a concurrent object got.
//
//     history.ts  records operations and answers
//     model.ts    specifies the object
//     search.ts   searches for an order; events.ts is its memory
//     view.ts     explains why there is none

import { OptionError, SignalboxError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count } from "../../process/options.js";
import type { AnsweredOperation, Operation, OperationHistory } from "./history.js";
import { Rules, type SequentialModel } from "./model.js";
import { LinearizabilityLimitError, type Misfit, type SearchOutcome, searchOrder } from "./search.js";
import { explain } from "./view.js";

/** An order exists. */
export interface Linearizable<Op, Result> {
  readonly linearizable: true;
  /** Such an order: all answered operations, and those of the others that must have taken effect. */
  readonly order: readonly Operation<Op, Result>[];
}

/** No order exists. */
export interface NotLinearizable<Op, Result> {
  readonly linearizable: false;
  /** The part of the object for which no order exists, if the model has `partition`. */
  readonly partition: string | undefined;
  /** The operation whose answer no order explains. No contradiction was found before this answer. */
  readonly broken: AnsweredOperation<Op, Result>;
  /** A longest order that explains the answers up to that one. */
  readonly prefix: readonly Operation<Op, Result>[];
  /** The operations of which one would have to follow `prefix`; none of them fits. */
  readonly unplaced: readonly AnsweredOperation<Op, Result>[];
  /** The same as text, with a picture. */
  readonly explanation: string;
}

/** The result of {@link checkLinearizable}. */
export type LinearizabilityResult<Op, Result> = Linearizable<Op, Result> | NotLinearizable<Op, Result>;

/** Limits of a check. */
export interface LinearizableOptions {
  /** Most states that the search of each part may visit, from 1 to 10 million. Default: 1 million. */
  readonly most?: number;
}

/**
 * A history is not linearizable. The message explains why, and `result` holds the details.
 *
 * @remedy Read the shortest failing part in the message: no order of its operations gives these answers.
 */
export class NotLinearizableError extends SignalboxError {
  static override readonly name: string = "NotLinearizableError";
  readonly code = "ERR_NOT_LINEARIZABLE";
  /** The result of the check, with the shortest failing part. */
  readonly result: NotLinearizable<unknown, unknown>;
  constructor(verdict: NotLinearizable<unknown, unknown>) {
    super(verdict.explanation);
    this.result = verdict;
  }
}

const DEFAULT_MOST = 1_000_000;
/** Capacity of the search's memory. */
const HIGHEST_MOST = 10_000_000;

/**
 * Checks whether the history is linearizable (Herlihy and Wing 1990): whether the operations can be put in an order, each at one
 * moment between its begin and its answer, so that the model gives the same answers. An operation without an answer may take
 * effect at any moment after its begin, or never.
 *
 * The search is by Wing and Gong (1993), with the memory of Lowe (2017). Several hundred operations take milliseconds. It is slow
 * when many operations overlap and their order shows late or never: writers that fill a long queue before any reader takes from it, or a
 * dozen writes without an answer. Then `partition` and a good `key` help; see {@link SequentialModel}.
 *
 * @throws LinearizabilityLimitError when `most` states were not enough; SequentialModelError when the model is wrong;
 * OptionError
 *
 * @example
 * type Access = { read: true } | { write: number };
 * const history = new OperationHistory<Access, number | undefined>();
 * const write = history.begin("ann", { write: 1 });
 * const read = history.begin("bob", { read: true });
 * read.end(1); // while ann still writes: then the write has taken effect
 * write.end(undefined);
 * const verdict = checkLinearizable(history, {
 *   initial: 0,
 *   apply: (value, access) => ("read" in access ? [value, value] : [access.write, undefined]),
 * });
 * if (verdict.linearizable) console.log(verdict.order.map(({ client }) => client)); // ann, bob
 * else console.log(verdict.explanation);
 */
export function checkLinearizable<State, Op, Result>(
  history: OperationHistory<Op, Result>,
  model: SequentialModel<State, Op, Result>,
  options: LinearizableOptions = {},
): LinearizabilityResult<Op, Result> {
  only("", options, ["most"]);
  only("model", model, MODEL);
  const most = count("most", options.most ?? DEFAULT_MOST, 1);
  if (most > HIGHEST_MOST) throw new OptionError("most", most, `a whole number from 1 to ${HIGHEST_MOST}`);
  const rules = new Rules(model);
  const orders: (readonly Operation<Op, Result>[])[] = [];
  for (const [partition, operations] of partitions(history.operations, rules)) {
    const found = searchOrder(operations, rules, Number.POSITIVE_INFINITY, most);
    if (!found.fits) {
      return refute(operations, rules, most, found, model.partition === undefined ? undefined : partition);
    }
    orders.push(found.order);
  }
  return { linearizable: true, order: merge(orders) };
}

/**
 * Checks that a history is linearizable, like {@link checkLinearizable}, and throws if it is not.
 *
 * @throws NotLinearizableError with a message that shows the operations, how far an order gets, and why it gets no further; and
 * the errors of {@link checkLinearizable}
 *
 * @example
 * const history = new OperationHistory<"next", number>();
 * let count = 0;
 * await Promise.all(["ann", "bob"].map((who) => history.run(who, "next", async () => ++count)));
 * assertLinearizable(history, { initial: 0, apply: (last) => [last + 1, last + 1] });
 */
export function assertLinearizable<State, Op, Result>(
  history: OperationHistory<Op, Result>,
  model: SequentialModel<State, Op, Result>,
  options: LinearizableOptions = {},
): void {
  const verdict = checkLinearizable(history, model, options);
  if (!verdict.linearizable) throw new NotLinearizableError(verdict);
}

const MODEL: readonly (keyof SequentialModel<never, never, never> | "outcomes" | "apply")[] = [
  ...(["initial", "apply", "outcomes", "equal", "key", "partition"] as const),
];

function partitions<State, Op, Result>(
  operations: readonly Operation<Op, Result>[],
  rules: Rules<State, Op, Result>,
): Map<string, Operation<Op, Result>[]> {
  const parts = new Map<string, Operation<Op, Result>[]>();
  for (const operation of operations) {
    const name = rules.partition(operation.op);
    const part = parts.get(name);
    if (part === undefined) parts.set(name, [operation]);
    else part.push(operation);
  }
  return parts;
}

/**
 * Merges the orders of the parts. Each operation gets the earliest moment that its own part allows. That moment is the begin of
 * some operation and precedes the operation's answer, so the moments of all parts respect real time together (the locality
 * theorem of Herlihy and Wing 1990).
 */
function merge<Op, Result>(orders: readonly (readonly Operation<Op, Result>[])[]): Operation<Op, Result>[] {
  const moments = orders.flatMap((order) => {
    let moment = 0;
    return order.map((operation) => {
      moment = Math.max(moment, operation.begin);
      return { moment, operation };
    });
  });
  return moments.sort((a, b) => a.moment - b.moment).map(({ operation }) => operation);
}

/**
 * Explains operations without an order. A history that is linearizable up to some event is linearizable up to each earlier
 * event, so bisection finds the first answer that is impossible. An order exists up to the barrier, and most often the answer
 * at the barrier is the impossible one.
 */
function refute<State, Op, Result>(
  operations: readonly Operation<Op, Result>[],
  rules: Rules<State, Op, Result>,
  most: number,
  whole: Misfit<State, Op, Result>,
  partition: string | undefined,
): NotLinearizable<Op, Result> {
  const answered = operations.filter((one) => one.outcome === "answered").sort((a, b) => a.end - b.end);
  let found = whole;
  let low = answered.indexOf(whole.barrier);
  let high = answered.length - 1;
  for (let middle = low; low < high; middle = (low + high) >> 1) {
    const until = answered[middle]?.end as number;
    const shorter = searchWithin(operations, rules, until, most);
    if (shorter === undefined || shorter.fits) low = middle + 1;
    else {
      found = shorter;
      high = middle;
    }
  }
  const broken = answered[high] as AnsweredOperation<Op, Result>;
  return {
    linearizable: false,
    partition,
    broken,
    prefix: found.order,
    unplaced: found.next,
    explanation: explain({ operations, broken, found, rules, partition }),
  };
}

/** Undefined when the limit is exceeded: a shorter history has more operations without an answer, and can take longer. */
function searchWithin<State, Op, Result>(
  ...given: Parameters<typeof searchOrder<State, Op, Result>>
): SearchOutcome<State, Op, Result> | undefined {
  try {
    return searchOrder(...given);
  } catch (error) {
    if (error instanceof LinearizabilityLimitError) return undefined;
    throw error;
  }
}
