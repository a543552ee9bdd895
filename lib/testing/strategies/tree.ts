// The tree of decisions, searched depth first and without stored states: each schedule runs from the beginning, along the path
// to the deepest fork that has an untried choice.

import { SignalboxError } from "../../process/errors.js";
import type { Chooser, PossibleStep } from "./strategy.js";

/**
 * The same choices led to another step than before, so that no search of all schedules can be complete.
 *
 * @remedy Remove what is outside of the simulator's control: real time, real randomness, state that
 * outlives a schedule.
 */
export class ExplorationDivergedError extends SignalboxError {
  static override readonly name: string = "ExplorationDivergedError";
  readonly code = "ERR_SIM_DIVERGED";
  /** Number of the choice that differs, from 1. */
  readonly depth: number;
  /** The choice that an earlier schedule had at this point, as a text. */
  readonly expected: string;
  /** The choice that this schedule had, or that it ended here, as a text. */
  readonly actual: string;
  constructor(depth: number, expected: string, actual: string) {
    super(
      `the same choices led to something else: choice ${depth} was ${expected}, and now there is ${actual}. Something ` +
        "in the scenario is not under the simulator's control, such as state that is shared between schedules, real " +
        "time or real randomness: an exhaustive search needs the same choices to have the same consequences",
    );
    this.depth = depth;
    this.expected = expected;
    this.actual = actual;
  }
}

/** For {@link ExplorationDivergedError}. */
export const END_TEXT = "the end of the schedule";

/** The part before the ":" of a draw's label. */
export function kindOf(label: string): string {
  const colon = label.indexOf(":");
  return colon < 0 ? label : label.slice(0, colon);
}

/** Random numbers are not enumerated: each would multiply the schedules, and few programs branch on them. */
export function isEnumerated(label: string): boolean {
  return kindOf(label) !== "random";
}

/** Identifies a task in every execution of the same choices. */
export interface TaskName {
  readonly kind: PossibleStep["kind"];
  readonly actor: number;
}

/** A decision that an execution comes to. It stores no task, since tasks belong to one execution. */
export type Decision =
  | { readonly tasks: readonly TaskName[] }
  | { readonly tasks?: undefined; readonly n: number; readonly label: string };

export function taskDecision(tasks: readonly TaskName[]): Decision {
  return { tasks: tasks.map(({ kind, actor }) => ({ kind, actor })) };
}

function isSame(a: Decision, b: Decision): boolean {
  if (a.tasks === undefined) return b.tasks === undefined && a.n === b.n && a.label === b.label;
  return (
    a.tasks.length === b.tasks?.length &&
    a.tasks.every(({ kind, actor }, i) => b.tasks?.[i]?.kind === kind && b.tasks[i]?.actor === actor)
  );
}

function decisionText(decision: Decision | undefined): string {
  if (decision === undefined) return END_TEXT;
  const { tasks } = decision;
  if (tasks === undefined) return `a draw of ${decision.n} (${decision.label})`;
  return `a choice of ${tasks.length} tasks (${tasks.map(({ kind, actor }) => `${kind} ${actor}`).join(", ")})`;
}

/** An execution that must come to the decisions of an earlier one. */
class Followed {
  /** Number of decisions of the present execution. */
  depth = 0;
  #diverged: ExplorationDivergedError | undefined;

  /** @throws ExplorationDivergedError unless the execution has come to the decision that is expected, if there is one */
  protected expect(expected: Decision | undefined, actual: Decision | undefined): void {
    if (expected === undefined || (actual !== undefined && isSame(expected, actual))) return;
    this.#diverged ??= new ExplorationDivergedError(
      this.depth + 1,
      decisionText(expected),
      decisionText(actual),
    );
    throw this.#diverged;
  }

  /** The execution has ended, where the decision is expected. */
  protected ended(expected: Decision | undefined): void {
    // Code under test may have caught the error of a decision.
    if (this.#diverged !== undefined) throw this.#diverged;
    this.expect(expected, undefined);
  }
}

/** A decision of the present schedule, with its choice. */
export class Fork {
  choice = 0;
  readonly decision: Decision;

  constructor(decision: Decision) {
    this.decision = decision;
  }

  /** The next untried choice after `choice`; undefined when none is left. */
  next(): number | undefined {
    const { decision } = this;
    const size = decision.tasks === undefined ? decision.n : decision.tasks.length;
    return this.choice + 1 < size ? this.choice + 1 : undefined;
  }
}

/** The forks of the present schedule, and how many of them the execution has reached. */
export class Path<F extends Fork = Fork> extends Followed {
  readonly #forks: F[] = [];

  /** The fork that the execution has reached; undefined where the path of the last schedule has ended. */
  at(decision: Decision): F | undefined {
    const fork = this.#forks[this.depth];
    this.expect(fork?.decision, decision);
    if (fork !== undefined) this.depth++;
    return fork;
  }

  add(fork: F): void {
    this.#forks.push(fork);
    this.depth++;
  }

  /** Called at the end of the execution, which must have followed the whole path. */
  close(): void {
    this.ended(this.#forks[this.depth]?.decision);
  }

  /** Advances to the next schedule. Returns the fork with a new choice; undefined when the tree is done. */
  turn(): F | undefined {
    this.depth = 0;
    for (let fork = this.#forks.at(-1); fork !== undefined; fork = this.#forks.at(-1)) {
      const next = fork.next();
      if (next !== undefined) {
        fork.choice = next;
        return fork;
      }
      this.#forks.pop();
    }
    return undefined;
  }
}

/** The decisions of the present schedule. */
export class Decisions extends Followed {
  readonly #met: Decision[] = [];

  meet(decision: Decision): void {
    const expected = this.#met[this.depth];
    if (expected === undefined) this.#met.push(decision);
    this.expect(expected, decision);
    this.depth++;
  }

  /** Called at the end of the execution, which must have come to all expected decisions. */
  close(): void {
    this.ended(this.#met[this.depth]);
  }

  /** Starts an execution that must come to the first decisions of the last one, and then to others that are known. */
  turn(length: number, expected: readonly Decision[]): void {
    this.#met.length = length;
    this.#met.push(...expected);
    this.depth = 0;
  }
}

/** Walks through the whole tree, one schedule after another. */
export class Walk implements Chooser {
  readonly #path = new Path();

  /** Whether a schedule is left. Not needed before the first schedule. */
  turn(): boolean {
    this.#path.close();
    return this.#path.turn() !== undefined;
  }

  pick(tasks: readonly PossibleStep[]): number {
    return (this.#path.at({ tasks }) ?? this.#enter(taskDecision(tasks))).choice;
  }

  draw(n: number, label: string): number {
    if (!isEnumerated(label)) return 0;
    return (this.#path.at({ n, label }) ?? this.#enter({ n, label })).choice;
  }

  #enter(decision: Decision): Fork {
    const fork = new Fork(decision);
    this.#path.add(fork);
    return fork;
  }
}
