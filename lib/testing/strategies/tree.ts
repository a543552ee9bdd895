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
export function tasksText(tasks: readonly { readonly kind: string; readonly actor: number }[]): string {
  return `a choice of ${tasks.length} tasks (${tasks.map(({ kind, actor }) => `${kind} ${actor}`).join(", ")})`;
}

/** For {@link ExplorationDivergedError}. */
export function drawText(n: number, label: string): string {
  return `a draw of ${n} (${label})`;
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

/** A decision of the present schedule. It stores no task, since tasks belong to one execution. */
export abstract class Fork {
  choice = 0;
  /** The next untried choice after `choice`; undefined when none is left. */
  abstract next(): number | undefined;
  abstract toString(): string;
}

export class TaskFork extends Fork {
  readonly tasks: readonly TaskName[];

  constructor(tasks: readonly TaskName[]) {
    super();
    this.tasks = tasks;
  }

  next(): number | undefined {
    return this.choice + 1 < this.tasks.length ? this.choice + 1 : undefined;
  }

  fits(tasks: readonly PossibleStep[]): boolean {
    return (
      tasks.length === this.tasks.length &&
      this.tasks.every(({ kind, actor }, i) => tasks[i]?.kind === kind && tasks[i]?.actor === actor)
    );
  }

  override toString(): string {
    return tasksText(this.tasks);
  }
}

export class DrawFork extends Fork {
  readonly n: number;
  readonly label: string;

  constructor(n: number, label: string) {
    super();
    this.n = n;
    this.label = label;
  }

  next(): number | undefined {
    return this.choice + 1 < this.n ? this.choice + 1 : undefined;
  }

  override toString(): string {
    return drawText(this.n, this.label);
  }
}

/** The forks of the present schedule, and how many of them the execution has reached. */
export class Path<T extends TaskFork = TaskFork, D extends DrawFork = DrawFork> {
  readonly #forks: (T | D)[] = [];
  #depth = 0;
  #diverged: ExplorationDivergedError | undefined;

  /** The fork that the execution has reached; undefined where the path of the last schedule has ended. */
  atTasks(tasks: readonly PossibleStep[]): T | undefined {
    const fork = this.#forks[this.#depth];
    if (fork === undefined) return undefined;
    if (!(fork instanceof TaskFork && fork.fits(tasks))) throw this.#diverge(fork, tasksText(tasks));
    this.#depth++;
    return fork;
  }

  /** As {@link Path.atTasks}. */
  atDraw(n: number, label: string): D | undefined {
    const fork = this.#forks[this.#depth];
    if (fork === undefined) return undefined;
    if (!(fork instanceof DrawFork && fork.n === n && fork.label === label))
      throw this.#diverge(fork, drawText(n, label));
    this.#depth++;
    return fork;
  }

  add(fork: T | D): void {
    this.#forks.push(fork);
    this.#depth++;
  }

  /** Called at the end of the execution, which must have followed the whole path. */
  close(): void {
    // Code under test may have caught the error of a decision.
    if (this.#diverged !== undefined) throw this.#diverged;
    const fork = this.#forks[this.#depth];
    if (fork !== undefined) throw this.#diverge(fork, END_TEXT);
  }

  /** Advances to the next schedule. Returns the fork with a new choice; undefined when the tree is done. */
  turn(): T | D | undefined {
    this.#depth = 0;
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

  #diverge(fork: Fork, actual: string): ExplorationDivergedError {
    this.#diverged ??= new ExplorationDivergedError(this.#depth + 1, String(fork), actual);
    return this.#diverged;
  }
}

/** A decision that an execution comes to. */
export type Decision =
  | { readonly tasks: readonly TaskName[] }
  | { readonly tasks?: undefined; readonly n: number; readonly label: string };

export function taskDecision(tasks: readonly PossibleStep[]): Decision {
  return { tasks: tasks.map(({ kind, actor }) => ({ kind, actor })) };
}

function isSame(a: Decision, b: Decision): boolean {
  if (a.tasks === undefined) return b.tasks === undefined && a.n === b.n && a.label === b.label;
  return (
    a.tasks.length === b.tasks?.length &&
    a.tasks.every(({ kind, actor }, i) => b.tasks?.[i]?.kind === kind && b.tasks[i]?.actor === actor)
  );
}

function decisionText(decision: Decision): string {
  return decision.tasks === undefined ? drawText(decision.n, decision.label) : tasksText(decision.tasks);
}

/** The decisions of the present schedule. An execution must come to those that an earlier one came to in the same way. */
export class Decisions {
  readonly #met: Decision[] = [];
  /** Number of decisions of the present execution. */
  depth = 0;
  #diverged: ExplorationDivergedError | undefined;

  meet(decision: Decision): void {
    const expected = this.#met[this.depth];
    if (expected === undefined) this.#met.push(decision);
    else if (!isSame(expected, decision)) throw this.#diverge(expected, decisionText(decision));
    this.depth++;
  }

  /** Called at the end of the execution, which must have come to all expected decisions. */
  close(): void {
    // Code under test may have caught the error of a decision.
    if (this.#diverged !== undefined) throw this.#diverged;
    const expected = this.#met[this.depth];
    if (expected !== undefined) throw this.#diverge(expected, END_TEXT);
  }

  /** Starts an execution that must come to the first decisions of the last one, and then to others that are known. */
  turn(length: number, expected: readonly Decision[]): void {
    this.#met.length = length;
    this.#met.push(...expected);
    this.depth = 0;
  }

  #diverge(expected: Decision, actual: string): ExplorationDivergedError {
    this.#diverged ??= new ExplorationDivergedError(this.depth + 1, decisionText(expected), actual);
    return this.#diverged;
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
    return (
      this.#path.atTasks(tasks) ??
      this.#enter(new TaskFork(tasks.map(({ kind, actor }) => ({ kind, actor }))))
    ).choice;
  }

  draw(n: number, label: string): number {
    if (!isEnumerated(label)) return 0;
    return (this.#path.atDraw(n, label) ?? this.#enter(new DrawFork(n, label))).choice;
  }

  #enter<F extends TaskFork | DrawFork>(fork: F): F {
    this.#path.add(fork);
    return fork;
  }
}
