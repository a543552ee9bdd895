// Whether what clients saw of a concurrent object can be explained by an order of their operations, one at a time.
//
//     history.ts  records what was asked and answered
//     model.ts    what the object ought to do
//     search.ts   searches an order; events.ts is its memory
//     view.ts     tells a person why there is none

import { OptionError, SignalboxError } from "../../process/errors.js";
import { count } from "../../process/options.js";
import type { AnsweredOperation, Operation, OperationHistory } from "./history.js";
import { Rules, type SequentialModel } from "./model.js";
import { LinearizabilityLimitError, type Misfit, type SearchOutcome, searchOrder } from "./search.js";
import { explain } from "./view.js";

/** There is an order. */
export interface Linearizable<Op, Result> {
  readonly linearizable: true;
  /** The operations in such an order: the answered ones, and of the others those that must have taken effect. */
  readonly order: readonly Operation<Op, Result>[];
}

/** There is no order. */
export interface NotLinearizable<Op, Result> {
  readonly linearizable: false;
  /** The part of the object that failed, when the model has `partition`. */
  readonly partition: string | undefined;
  /** The operation whose answer made it impossible. Up to that answer no contradiction was found. */
  readonly broken: AnsweredOperation<Op, Result>;
  /** A longest order that fits the answers up to that one. */
  readonly prefix: readonly Operation<Op, Result>[];
  /** The operations of which one would have to come after `prefix`; none fits there. */
  readonly unplaced: readonly AnsweredOperation<Op, Result>[];
  /** All of this for a person, with a picture. */
  readonly explanation: string;
}

/** What {@link checkLinearizable} found. */
export type LinearizabilityResult<Op, Result> = Linearizable<Op, Result> | NotLinearizable<Op, Result>;

/** Limits of a check. */
export interface LinearizableOptions {
  /** States that the search of each part may visit, from 1 to 10 million. Default: 1 million. */
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
  readonly result: NotLinearizable<unknown, unknown>;
  constructor(verdict: NotLinearizable<unknown, unknown>) {
    super(verdict.explanation);
    this.result = verdict;
  }
}

const DEFAULT_MOST = 1_000_000;
/** What the memory of the search can hold. */
const HIGHEST_MOST = 10_000_000;

/**
 * Whether the history is linearizable (Herlihy and Wing 1990): whether there is an order of its operations, each at one
 * moment between its beginning and its answer, in which the model gives the same answers. An operation without an
 * answer may have its moment at any time after its beginning, or none.
 *
 * The search is that of Wing and Gong (1993) with the memory of Lowe (2017). Several hundred operations take
 * milliseconds, unless many overlap whose order shows late or never: writers that fill a long queue before anybody takes
 * from it, or a dozen writes without an answer. There `partition` and a good `key` help; see {@link SequentialModel}.
 *
 * @throws LinearizabilityLimitError when `most` states did not suffice; SequentialModelError when the model is at fault;
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
 * Checks that a history is linearizable, as {@link checkLinearizable} does.
 *
 * @throws NotLinearizableError when it is not: its message shows the operations, how far an order goes and why no
 * further; and what {@link checkLinearizable} throws
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
 * One order from those of the parts. Each operation gets the earliest moment that its own part allows, which is the
 * beginning of some operation and before its answer; so the moments of all parts respect time together (the locality
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
 * The verdict on operations for which there is no order. What is linearizable up to some event is so up to each event
 * before it, so the first impossible answer is found by halving. Up to the barrier there was an order, and most often
 * it is the barrier's own answer that is impossible.
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

/** Undefined when the limit did not suffice: a shorter history has more without an answer, and can take longer. */
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
