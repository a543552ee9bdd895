// The search for an order: by Wing and Gong (1993), with Lowe's (2017) memory of visited configurations.
//
// Time is a list of events: begins and answers. Every begin before the first answer belongs to an operation that may be next in the
// order. The search picks one, applies it to the model, and removes its begin and answer from the list. When no begin before the
// first answer fits, the last pick was wrong and is undone. The same set of placed operations with the same state is never
// tried twice.

import { SignalboxError } from "../../process/errors.js";
import { structuralText } from "../report/structural-text.js";
import { Events, Visited } from "./events.js";
import type { AnsweredOperation, Operation } from "./history.js";
import type { KnownState, Rules } from "./model.js";

/**
 * The search for a linear order visited as many states as it may and found no answer. The history may be
 * right or wrong.
 *
 * @remedy Record fewer operations, or fewer without an answer; give the model `partition`, or raise `most`.
 */
export class LinearizabilityLimitError extends SignalboxError {
  static override readonly name: string = "LinearizabilityLimitError";
  readonly code = "ERR_LINEARIZABILITY_LIMIT";
  /** The limit of the check: states that the search of one part may visit. */
  readonly most: number;
  constructor(most: number) {
    super(
      `whether the history is linearizable was not decided within ${most} states; record fewer operations or fewer without an answer, give the model \`partition\`, or raise \`most\``,
    );
    this.most = most;
  }
}

/** An order of all answered operations, with the other operations that it needs. */
export interface Fit<Op, Result> {
  readonly fits: true;
  readonly order: readonly Operation<Op, Result>[];
}

/** No order exists. */
export interface Misfit<State, Op, Result> {
  readonly fits: false;
  /** The first answer that no order gets past. */
  readonly barrier: AnsweredOperation<Op, Result>;
  /** Of the orders that get to the barrier, one with the most answered operations. */
  readonly order: readonly Operation<Op, Result>[];
  /** The state after it. */
  readonly stand: KnownState<State>;
  /** The answered operations of which one would have to be next; none fits. */
  readonly next: readonly AnsweredOperation<Op, Result>[];
}

export type SearchOutcome<State, Op, Result> = Fit<Op, Result> | Misfit<State, Op, Result>;

/** Whether the operation had its answer when the event `until` happened. */
export function answeredBy<Op, Result>(
  operation: Operation<Op, Result>,
  until: number,
): operation is AnsweredOperation<Op, Result> {
  return operation.outcome === "answered" && operation.end <= until;
}

/**
 * Searches for an order of `operations`, given in the order of their begins, as they were when the event `until` happened:
 * later answers are ignored.
 *
 * @throws LinearizabilityLimitError when the search would visit more than `most` states
 */
export function searchOrder<State, Op, Result>(
  operations: readonly Operation<Op, Result>[],
  rules: Rules<State, Op, Result>,
  until: number,
  most: number,
): SearchOutcome<State, Op, Result> {
  return new Search(operations, rules, until, most).run();
}

interface Choice<State> {
  /** The entry of the begin. */
  readonly at: number;
  readonly from: KnownState<State>;
  /** The possible next states. */
  readonly steps: readonly KnownState<State>[];
  /** Number of these that were tried. */
  readonly tried: number;
}

class Search<State, Op, Result> {
  readonly #rules: Rules<State, Op, Result>;
  readonly #most: number;
  /** Answered operations first: then the set of placed ones has few gaps, and a short key. */
  readonly #operations: readonly Operation<Op, Result>[];
  readonly #answered: number;
  readonly #twins: readonly (number | undefined)[];
  readonly #events: Events;
  readonly #visited: Visited;
  readonly #choices: Choice<State>[] = [];
  #stand: KnownState<State>;
  /** Number of answered operations that are placed. */
  #placed = 0;
  #best: (Misfit<State, Op, Result> & { readonly reached: readonly number[] }) | undefined;

  constructor(
    operations: readonly Operation<Op, Result>[],
    rules: Rules<State, Op, Result>,
    until: number,
    most: number,
  ) {
    const answered = operations.filter((one) => answeredBy(one, until));
    const open = operations.filter((one) => !answeredBy(one, until));
    this.#rules = rules;
    this.#most = most;
    this.#operations = [...answered, ...open];
    this.#answered = answered.length;
    this.#twins = earlierTwins(this.#operations, answered.length);
    this.#events = new Events([
      ...answered,
      ...open.map(({ begin }) => ({ begin, end: Number.POSITIVE_INFINITY })),
    ]);
    this.#visited = new Visited(this.#operations.length);
    this.#stand = rules.start();
  }

  run(): SearchOutcome<State, Op, Result> {
    let at = this.#events.first();
    while (this.#placed < this.#answered) {
      const index = this.#events.whose(at);
      if (index >= 0) {
        at = this.#choose(at, this.#steps(index), 0);
        continue;
      }
      this.#remember(at);
      const last = this.#choices.pop();
      if (last === undefined) return this.#best as Misfit<State, Op, Result>;
      at = this.#undo(last);
    }
    return { fits: true, order: this.#order() };
  }

  /** Places the operation that begins at the entry, if that leads to a new configuration. Returns the next entry to look at. */
  #choose(at: number, steps: readonly KnownState<State>[], tried: number): number {
    const index = this.#events.whose(at);
    for (let step = tried; step < steps.length; step++) {
      const to = steps[step] as KnownState<State>;
      if (!this.#visited.place(index, to.id)) continue;
      if (this.#visited.size > this.#most) throw new LinearizabilityLimitError(this.#most);
      this.#choices.push({ at, from: this.#stand, steps, tried: step + 1 });
      this.#events.lift(index);
      this.#stand = to;
      if (index < this.#answered) this.#placed++;
      return this.#events.first();
    }
    return this.#events.after(at);
  }

  #undo({ at, from, steps, tried }: Choice<State>): number {
    const index = this.#events.whose(at);
    this.#visited.remove(index);
    this.#events.restore(index);
    this.#stand = from;
    if (index < this.#answered) this.#placed--;
    return this.#choose(at, steps, tried);
  }

  #steps(index: number): readonly KnownState<State>[] {
    const operation = this.#operations[index] as Operation<Op, Result>;
    const twin = this.#twins[index];
    if (twin !== undefined && !this.#visited.has(twin)) return [];
    const isAnswered = index < this.#answered && operation.outcome === "answered";
    return this.#rules.steps(this.#stand, operation.op, isAnswered ? operation : undefined);
  }

  #order(): Operation<Op, Result>[] {
    return this.#choices.map(({ at }) => this.#operation(this.#events.whose(at)));
  }

  #operation(index: number): Operation<Op, Result> {
    return this.#operations[index] as Operation<Op, Result>;
  }

  /** Keeps the dead end that got furthest: in time, then by placed operations, then with the fewest unanswered ones. */
  #remember(at: number): void {
    const here = [at, this.#placed, -this.#choices.length] as const;
    if (this.#best !== undefined && !isFurther(here, this.#best.reached)) return;
    const next = this.#events.open().filter((index) => index < this.#answered);
    this.#best = {
      fits: false,
      reached: here,
      barrier: this.#operation(~this.#events.whose(at)) as AnsweredOperation<Op, Result>,
      order: this.#order(),
      stand: this.#stand,
      next: next.map((index) => this.#operation(index) as AnsweredOperation<Op, Result>),
    };
  }
}

function isFurther(here: readonly number[], there: readonly number[]): boolean {
  const differs = here.findIndex((one, index) => one !== there[index]);
  return differs >= 0 && (here[differs] as number) > (there[differs] as number);
}

/**
 * For each unanswered operation, which are those from index `from` on: the latest earlier one with the same content. The two
 * can swap places in any order, so the later one is placed only after the earlier: n such operations give n sets instead of 2^n.
 */
function earlierTwins(
  operations: readonly Operation<unknown, unknown>[],
  from: number,
): (number | undefined)[] {
  const latest = new Map<string, number>();
  return operations.map(({ op }, index) => {
    if (index < from) return undefined;
    let text: string;
    try {
      text = structuralText(op, true);
    } catch {
      return undefined;
    }
    const twin = latest.get(text);
    latest.set(text, index);
    return twin;
  });
}
