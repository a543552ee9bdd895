// What clients asked of an object and what it answered, in the order of these events: no clock, only before and after.

import { SignalboxError } from "../../process/errors.js";
import { text } from "../../process/options.js";

interface Begun<Op> {
  /** From 1, in the order of beginning. */
  readonly number: number;
  /** Who asked. Only a label: operations of one client may overlap. */
  readonly client: string;
  readonly op: Op;
  /** The event of its beginning. */
  readonly begin: number;
}

/** An operation that was answered. */
export interface AnsweredOperation<Op, Result> extends Begun<Op> {
  readonly outcome: "answered";
  /** The event of its answer. */
  readonly end: number;
  readonly result: Result;
}

/** An operation without an answer, or without one yet: it takes effect once, at any time from its begin on, or never. */
export interface UnansweredOperation<Op> extends Begun<Op> {
  readonly outcome: "unknown";
}

/** One operation of a history. Events are counted from 1: each begin is one, and each answer. */
export type Operation<Op, Result> = AnsweredOperation<Op, Result> | UnansweredOperation<Op>;

/** An operation that has begun. It is ended at most once; one that never is counts as unknown. */
export interface OpenOperation<Result> {
  readonly number: number;
  /** It was answered. @throws OperationEndedError when it has ended already */
  end(result: Result): void;
  /** There will be no answer: it may take effect at any time from now on, or never. @throws OperationEndedError */
  unknown(): void;
  /** It certainly did not take effect, and never will: it is struck from the history. @throws OperationEndedError */
  refused(): void;
}

/** How a history records. */
export interface OperationHistoryOptions<Op> {
  /**
   * Whether a call that was rejected with this error certainly had no effect. By default no error means that: a call
   * that failed may have done its work and lost only the answer.
   */
  readonly refused?: (error: unknown) => boolean;
  /**
   * Told of each event when it is recorded. Whoever reorders steps has to know of them: a begin and an end cannot change
   * places without changing the history, two begins or two ends can.
   */
  readonly onEvent?: (event: "begin" | "end", client: string, op: Op) => void;
}

/**
 * A history was told twice that the same operation ended.
 *
 * @remedy Call `end` of an operation once.
 */
export class OperationEndedError extends SignalboxError {
  static override readonly name: string = "OperationEndedError";
  readonly code = "ERR_OPERATION_ENDED";
  constructor(number: number, client: string, was: string, again: string) {
    super(
      `operation ${number} of ${client} was ended as "${was}" and cannot be ended again as "${again}"; one call has one end`,
    );
  }
}

/**
 * Records operations as their calls begin and end, for {@link checkLinearizable}. The order of two operations is known
 * only when one ended before the other began (Herlihy and Wing 1990); otherwise they overlap.
 *
 * @example
 * const history = new OperationHistory<string, number>({ refused: (error) => error instanceof RangeError });
 * let count = 0;
 * const next = await history.run("ann", "next", async () => ++count);
 * const call = history.begin("bob", "next");
 * call.unknown(); // the line went dead
 * console.log(next, history.operations.length); // 1 2
 */
export class OperationHistory<Op, Result> {
  readonly #options: OperationHistoryOptions<Op>;
  readonly #operations = new Map<number, Operation<Op, Result>>();
  #begun = 0;
  #events = 0;

  constructor(options: OperationHistoryOptions<Op> = {}) {
    this.#options = options;
  }

  /** The operations so far, in the order of beginning, without those that were refused. */
  get operations(): readonly Operation<Op, Result>[] {
    return [...this.#operations.values()];
  }

  /**
   * A call begins: say so before it can have any effect.
   *
   * @throws OptionError when the client has no name
   */
  begin(client: string, op: Op): OpenOperation<Result> {
    text("client", client);
    const number = ++this.#begun;
    const operation = { number, client, op, begin: ++this.#events };
    this.#operations.set(number, { ...operation, outcome: "unknown" });
    this.#options.onEvent?.("begin", client, op);

    let was: string | undefined;
    const ends = (as: string): void => {
      if (was !== undefined) throw new OperationEndedError(number, client, was, as);
      was = as;
    };
    return {
      number,
      end: (result) => {
        ends("answered");
        this.#operations.set(number, { ...operation, outcome: "answered", end: ++this.#events, result });
        this.#options.onEvent?.("end", client, op);
      },
      unknown: () => ends("unknown"),
      refused: () => {
        ends("refused");
        this.#operations.delete(number);
      },
    };
  }

  /**
   * Makes a call and records it: what it resolves to is the answer. A rejection leaves it unknown whether the operation
   * took effect, unless {@link OperationHistoryOptions.refused} says that it did not. An error that is an answer ("out of stock")
   * is caught within `call` and returned as a result. Resolves and rejects as the call does.
   */
  async run(client: string, op: Op, call: () => Promise<Result>): Promise<Result> {
    const open = this.begin(client, op);
    let result: Result;
    try {
      result = await call();
    } catch (error) {
      // Anything else stays without an answer.
      if (this.#options.refused?.(error) === true) open.refused();
      throw error;
    }
    open.end(result);
    return result;
  }
}
