// Records the operations of clients and the answers, in the order of these events. There is no clock, only before and after.

import { SignalboxError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { text } from "../../process/options.js";

interface Begun<Op> {
  /** Position in the order of begins, from 1. */
  readonly number: number;
  /** The client. Only a label: operations of one client may overlap. */
  readonly client: string;
  /** The operation, as it was recorded. */
  readonly op: Op;
  /** Number of the event at which it began. */
  readonly begin: number;
}

/** An operation with an answer. */
export interface AnsweredOperation<Op, Result> extends Begun<Op> {
  readonly outcome: "answered";
  /** Number of the event at which it was answered. */
  readonly end: number;
  /** The answer, as it was recorded. */
  readonly result: Result;
}

/** An operation without an answer so far. It takes effect once, at any time after its begin, or never. */
export interface UnansweredOperation<Op> extends Begun<Op> {
  readonly outcome: "unknown";
}

/** An operation of a history. Events are numbered from 1; each begin is an event, and each answer. */
export type Operation<Op, Result> = AnsweredOperation<Op, Result> | UnansweredOperation<Op>;

/** An operation in flight. End it at most once. An operation that is never ended counts as unknown. */
export interface OpenOperation<Result> {
  /** Position in the order of begins, from 1. */
  readonly number: number;
  /** Records the answer. @throws OperationEndedError when the operation has ended already */
  end(result: Result): void;
  /** There will be no answer: the operation may take effect at any later time, or never. @throws OperationEndedError */
  unknown(): void;
  /** The operation had no effect and never will have one: it is removed from the history. @throws OperationEndedError */
  refused(): void;
}

/** Options of a history. */
export interface OperationHistoryOptions<Op> {
  /**
   * Whether a call that rejected with this error certainly had no effect. By default no error is certain: a call that failed may
   * have done its work and lost only the answer.
   */
  readonly refused?: (error: unknown) => boolean;
  /**
   * Called when an event is recorded. An exhaustive search needs to know: swapping a begin and an end changes the history, while
   * swapping two begins or two ends does not.
   */
  readonly onEvent?: (event: "begin" | "end", client: string, op: Op) => void;
}

/**
 * The same operation of a history was ended twice.
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
 * Records operations as their calls begin and end, for {@link checkLinearizable}. Two operations are ordered only when one ended
 * before the other began (Herlihy and Wing 1990); otherwise they overlap.
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

  /** An empty history. */
  constructor(options: OperationHistoryOptions<Op> = {}) {
    only("", options, ["refused", "onEvent"]);
    this.#options = options;
  }

  /** The operations so far, in the order of their begins, without refused ones. */
  get operations(): readonly Operation<Op, Result>[] {
    return [...this.#operations.values()];
  }

  /**
   * Records the begin of a call. Call it before the operation can have any effect.
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
   * Makes a call and records it. The resolved value is the answer. After a rejection it is unknown whether the operation took
   * effect, unless {@link OperationHistoryOptions.refused} says that it did not. If an error is an answer ("out of stock"), catch it
   * within `call` and return it as a result. Settles as the call does.
   */
  async run(client: string, op: Op, call: () => Promise<Result>): Promise<Result> {
    const open = this.begin(client, op);
    let result: Result;
    try {
      result = await call();
    } catch (error) {
      // Any other operation stays without an answer.
      if (this.#options.refused?.(error) === true) open.refused();
      throw error;
    }
    open.end(result);
    return result;
  }
}
