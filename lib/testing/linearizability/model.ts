// The sequential specification of an object, and checks that a specification behaves while it is used.

import { SignalboxError } from "../../process/errors.js";
import { brief } from "../report/brief.js";
import { structuralText } from "../report/structural-text.js";

/** The common part of both kinds of model. States are never changed, only replaced. */
interface ModelBase<State, Op, Result> {
  /** The state of the object before the first operation. */
  readonly initial: State;
  /** Whether a recorded result equals the model's. Default: structural equality. */
  readonly equal?: (recorded: Result, modelled: Result) => boolean;
  /**
   * A text for a state. Two states may share a text only if the model treats them alike; fewer texts make the search faster.
   * Default: the whole structure of plain data, in which the order of a Map or Set counts.
   */
  readonly key?: (state: State) => string;
  /**
   * The part of the object that an operation belongs to, for an object of independent parts, such as the keys of a store. Each part
   * starts at `initial` and is checked alone, which is far faster (P-compositionality, Horn and Kroening 2015).
   */
  readonly partition?: (op: Op) => string;
}

/**
 * A sequential specification: the state of the object, and the effect of each operation when it runs alone. `apply` returns the
 * next state and the answer. For an object with a choice, `outcomes` returns all allowed pairs; an empty list means that the
 * operation cannot happen in this state (it blocks).
 */
export type SequentialModel<State, Op, Result> = ModelBase<State, Op, Result> &
  (
    | {
        /** Returns the next state and the answer of an operation in a state. Does not change the state. */
        readonly apply: (state: State, op: Op) => readonly [State, Result];
        /** Absent: the model has `apply`. */
        readonly outcomes?: never;
      }
    | {
        /** Returns all pairs of a next state and an answer that are allowed. Does not change the state. */
        readonly outcomes: (state: State, op: Op) => readonly (readonly [State, Result])[];
        /** Absent: the model has `outcomes`. */
        readonly apply?: never;
      }
  );

/**
 * A sequential model threw, or broke its contract. `op` is the operation, and `cause` the error.
 *
 * @remedy Mend the model: it must be pure and must know every operation of the history.
 */
export class SequentialModelError extends SignalboxError {
  static override readonly name: string = "SequentialModelError";
  readonly code = "ERR_MODEL";
  /** The operation that the model was given; undefined when the error is about the initial state. */
  readonly op: unknown;
  constructor(what: string, op: unknown, cause?: unknown) {
    super(
      cause === undefined ? what : `${what}: ${cause instanceof Error ? cause.message : brief(cause)}`,
      cause === undefined ? undefined : { cause },
    );
    this.op = op;
  }
}

/** A state, with the number that all states of its key share. */
export interface KnownState<State> {
  readonly state: State;
  readonly key: string;
  readonly id: number;
}

/** Stands for an operation where the initial state is meant. */
const INITIAL: unique symbol = Symbol("the initial state");

/** A model in use: numbers its states, and turns every mistake of the model into a SequentialModelError. */
export class Rules<State, Op, Result> {
  readonly #model: SequentialModel<State, Op, Result>;
  readonly #ids = new Map<string, number>();

  constructor(model: SequentialModel<State, Op, Result>) {
    this.#model = model;
  }

  start(): KnownState<State> {
    return this.#stand(this.#model.initial, INITIAL);
  }

  partition(op: Op): string {
    const { partition } = this.#model;
    return partition === undefined ? "" : guarded("partition", op, undefined, () => partition(op));
  }

  /** The allowed next states and answers of the operation. */
  outcomes(from: KnownState<State>, op: Op): readonly (readonly [State, Result])[] {
    const { apply, outcomes } = this.#model;
    const called = apply === undefined ? "outcomes" : "apply";
    const all: unknown = guarded(called, op, from, () =>
      apply === undefined ? outcomes(from.state, op) : [apply(from.state, op)],
    );
    if (!Array.isArray(all) || !all.every((one) => Array.isArray(one) && one.length === 2)) {
      const due = apply === undefined ? "a list of pairs [state, result]" : "a pair [state, result]";
      throw new SequentialModelError(
        `the model's ${called} must return ${due}; for ${brief(op)} it did not`,
        op,
      );
    }
    // A model that changes its state in place would corrupt the search.
    if (typeof from.state === "object" && this.#key(from.state, op) !== from.key) {
      throw new SequentialModelError(
        `the model's ${called} changed the state that it was given for ${brief(op)}; it must return a new one`,
        op,
      );
    }
    return all as readonly (readonly [State, Result])[];
  }

  /** The next states of the operation. Without an answer, all results fit, and staying in the state is pointless. */
  steps(
    from: KnownState<State>,
    op: Op,
    answer: { readonly result: Result } | undefined,
  ): readonly KnownState<State>[] {
    const stands: KnownState<State>[] = [];
    for (const [state, result] of this.outcomes(from, op)) {
      if (answer !== undefined && !this.#equal(answer.result, result, op)) continue;
      const to = this.#stand(state, op);
      if (answer !== undefined || to.id !== from.id) stands.push(to);
    }
    return stands;
  }

  #equal(recorded: Result, modelled: Result, op: Op): boolean {
    const { equal } = this.#model;
    if (equal !== undefined) return guarded("equal", op, undefined, () => equal(recorded, modelled));
    if (recorded === modelled) return true;
    if (!isObject(recorded) || !isObject(modelled)) return Number.isNaN(recorded) && Number.isNaN(modelled);
    try {
      return structuralText(recorded, false) === structuralText(modelled, false);
    } catch (cause) {
      throw new SequentialModelError(
        `results of ${brief(op)} cannot be compared; give the model \`equal\``,
        op,
        cause,
      );
    }
  }

  #stand(state: State, op: Op | typeof INITIAL): KnownState<State> {
    const key = this.#key(state, op);
    const known = this.#ids.get(key);
    if (known !== undefined) return { state, key, id: known };
    const id = this.#ids.size;
    this.#ids.set(key, id);
    return { state, key, id };
  }

  #key(state: State, op: Op | typeof INITIAL): string {
    const { key } = this.#model;
    return guarded("key", op, undefined, () => (key === undefined ? defaultKey(state, op) : key(state)));
  }
}

function defaultKey(state: unknown, op: unknown): string {
  try {
    return structuralText(state, true);
  } catch (cause) {
    const what = "the states of the model cannot be told apart; give it `key`, a text for each state";
    throw new SequentialModelError(what, op === INITIAL ? undefined : op, cause);
  }
}

function guarded<T>(part: string, op: unknown, from: KnownState<unknown> | undefined, call: () => T): T {
  try {
    return call();
  } catch (cause) {
    if (cause instanceof SequentialModelError) throw cause;
    if (op === INITIAL)
      throw new SequentialModelError(`the model's ${part} threw for its initial state`, undefined, cause);
    const where = from === undefined ? "" : ` in state ${brief(from.state)}`;
    throw new SequentialModelError(`the model's ${part} threw for ${brief(op)}${where}`, op, cause);
  }
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}
