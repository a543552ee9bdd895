// Optimal dynamic partial-order reduction: of the schedules that differ only in the order of independent steps, one is enough.
//
// A schedule runs to its end. Then each race in it, two dependent steps that nothing between orders, is a reason for one more
// schedule: the later step before the earlier one, after the steps that do not depend on the earlier one. That beginning is
// planned in the wakeup tree of the state before the earlier step, unless an explored or planned schedule is equivalent to it.
//
// Where a plan cannot be followed, because a footprint did not tell all, the search tries another task in that place as well.
//
// A step does one thing here: with draws or faults, the outcomes of a step are many, and plans would miss some. So the first draw
// ends this search, and another begins anew, with cautious-walk.ts.

import { chainOf, type Deed, deedOf } from "./dependence.js";
import { HappensBefore, type StepOrder } from "./happens-before.js";
import { Knowledge } from "./knowledge.js";
import { type Sleep, sleepAfter } from "./sleep.js";
import { type Offer, State } from "./state.js";
import type { Chooser, Footprint, PossibleStep } from "./strategy.js";
import { Decisions, isEnumerated, taskDecision } from "./tree.js";
import { anyOf, type Following, isApart, isInitial, type Movable, plan } from "./wakeup-tree.js";

/** What happens when nothing can run. */
const QUIET = "quiet";

const AWAKE: Sleep<Offer> = new Map();

const ANYTHING: Following = { after: [], isFree: true, isGuess: false };

/** What did not run, though it could have. It may depend on everything. */
interface Missed extends Movable {
  readonly offer: Offer;
}

interface ReducedStep extends Missed {
  readonly deed: Deed;
  readonly place: StepOrder;
  /** The tasks that sleep after it. */
  readonly sleep: Sleep<Offer>;
  /** Earlier steps that it races with, as long as the race can be a reason for another schedule. */
  races: readonly number[];
}

function keyOf({ kind, actor, key }: PossibleStep): string {
  return `${kind} ${key ?? actor}`;
}

/** Walks through the tree of schedules, with one walk for each class of equivalent ones. */
export class ReducedWalk implements Chooser {
  redundant = false;
  readonly knowledge: Knowledge;
  readonly tracesCauses = true;
  /** See {@link Chooser.isAnew}. */
  isAnew: boolean;
  /** A schedule has draws or faults: plans could miss outcomes. */
  isUnsure = false;
  readonly #decisions = new Decisions();
  readonly #order = new HappensBefore();
  readonly #precedes = (early: number, late: number): boolean =>
    late >= this.#steps.length || this.#order.precedes(early, late);
  /** The state before each step, and the one at the end. */
  readonly #states: State[] = [];
  readonly #steps: ReducedStep[] = [];
  /** Number of steps of the present execution. */
  #ranSteps = 0;
  /** The state in which the next step is chosen or running; undefined after a step. */
  #state: State | undefined = undefined;
  /** The step has begun. */
  #isRunning = false;
  /** The plan of the last step. */
  #follow: Following = ANYTHING;

  /** @param isAnew - it takes the place of another search */
  constructor(knowledge: Knowledge = new Knowledge(), isAnew = false) {
    this.knowledge = knowledge;
    this.isAnew = isAnew;
  }

  /** Whether a schedule is left. Not needed before the first schedule. */
  turn(): boolean {
    this.isAnew = false;
    this.#decisions.close();
    if (!this.redundant) this.#end();
    this.redundant = false;
    this.#ranSteps = 0;
    this.#leave();
    for (let state = this.#states.at(-1); state !== undefined; state = this.#states.at(-1)) {
      const step = this.#steps[state.steps];
      if (step !== undefined) state.explored(step.offer, step.deed);
      this.#steps.length = Math.min(this.#steps.length, state.steps);
      if (state.turn()) {
        this.#order.truncate(this.#steps.length);
        this.#decisions.turn(state.decisions, state.decision === undefined ? [] : [state.decision]);
        return true;
      }
      this.#states.pop();
    }
    return false;
  }

  // ── the decisions of an execution ─────────────────────────────────────────────────────────────────────────────

  offered(tasks: readonly PossibleStep[]): void {
    if (this.redundant) return;
    this.#finish();
    const state = this.#enter();
    state.tasks ??= this.#offersOf(tasks);
    if (tasks.length > 0) this.#choose(state);
  }

  pick(tasks: readonly PossibleStep[]): number {
    if (this.redundant) return 0;
    if (this.#isRunning) this.#finish();
    const state = this.#enter();
    state.decision ??= taskDecision(tasks);
    this.#decisions.meet(taskDecision(tasks));
    state.tasks ??= this.#offersOf(tasks);
    this.#choose(state);
    this.#isRunning = !this.redundant;
    return Math.max(0, state.tasks.indexOf(state.branch?.offer as Offer));
  }

  draw(_n: number, label: string): number {
    if (isEnumerated(label)) this.isUnsure = this.redundant = true;
    return 0;
  }

  ran(task: PossibleStep, footprint: Footprint | undefined): void {
    if (this.redundant) return;
    const state = this.#enter();
    state.tasks ??= this.#offersOf([task]);
    if (!this.#isRunning) this.#choose(state);
    if (!this.redundant) this.#complete(state, footprint);
  }

  // ── steps ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #enter(): State {
    if (this.#state !== undefined) return this.#state;
    this.#state = this.#states[this.#ranSteps];
    if (this.#state === undefined) {
      this.#state = new State(this.#ranSteps, this.#decisions.depth, this.#steps.at(-1)?.sleep ?? AWAKE);
      this.#states.push(this.#state);
    }
    return this.#state;
  }

  #leave(): void {
    this.#state = undefined;
    this.#isRunning = false;
  }

  /** Ends a step whose end is not told: the passing of time, which comes after all others. */
  #finish(): void {
    const state = this.#state;
    if (state === undefined) return;
    if (state.tasks?.length === 0) {
      const quiet = { key: QUIET, chain: QUIET, enabler: state.steps - 1 };
      state.branch ??= { offer: quiet, plan: anyOf(QUIET) };
      this.#isRunning = true;
    }
    if (this.#isRunning) this.#complete(state, undefined);
  }

  /** Decides on the next task, if that is not decided yet: the planned task, else any. */
  #choose(state: State): void {
    if (state.branch !== undefined) return;
    const { after, isFree } = this.#follow;
    let isLost = false;
    for (const one of after)
      if (state.offerOf(one.key) === undefined) isLost = true;
      else state.plans.push(one);
    if (isLost || isFree) state.plansAny();
    if (!state.turn()) this.redundant = true;
  }

  #complete(state: State, footprint: Footprint | undefined): void {
    const { branch } = state;
    this.#leave();
    if (branch === undefined || this.#ranSteps++ < this.#steps.length) return;
    const { offer } = branch;
    this.#follow = branch.plan;
    const deed = deedOf(offer.chain, footprint);
    const place = this.#order.add(offer.key, deed, offer.enabler, offer.key !== QUIET);
    const index = this.#steps.length;
    const sleep = sleepAfter(state.sleep, deed);
    this.#steps.push({ key: offer.key, offer, deed, index, place, races: place.races, sleep });
  }

  /** The possible tasks; those that were possible before keep their identity. */
  #offersOf(tasks: readonly PossibleStep[]): Offer[] {
    const before = this.#states[this.#ranSteps - 1];
    const known = (before?.tasks ?? []).filter((offer) => offer !== before?.branch?.offer);
    const keys = new Set<string>();
    return tasks.map((task): Offer => {
      const name = keyOf(task);
      const index = known.findIndex(({ key }) => key === name || key.startsWith(`${name}#`));
      if (index >= 0) return known.splice(index, 1)[0] as Offer;
      const key = keys.has(name) ? `${name}#${this.#ranSteps}.${keys.size}` : name;
      keys.add(key);
      return { key, chain: chainOf(task), enabler: this.#ranSteps - 1 };
    });
  }

  // ── the end of a schedule ─────────────────────────────────────────────────────────────────────────────────────

  #end(): void {
    if (this.#isRunning) this.#finish();
    // A step that ended the schedule without a word.
    else if (this.#state?.tasks?.length === 1) this.#complete(this.#state, undefined);
    const last = this.#steps.at(-1);
    // The last step has ended the schedule, if something is left that could run.
    const left = this.#states.at(-1)?.tasks?.length ?? 0;
    if (last !== undefined && this.#states.length === this.#steps.length && left > 1)
      this.#steps[last.index] = { ...last, deed: deedOf(last.offer.chain, undefined) };
    this.#findMissed();
    for (const step of this.#steps)
      if (step.races.length > 0) step.races = step.races.filter((early) => !this.#reverse(early, step));
  }

  /** A task that was possible until a step made it impossible could have come before. So could what is left at the end. */
  #findMissed(): void {
    for (const [i, state] of this.#states.entries()) {
      const next = this.#states[i + 1];
      const ran = this.#steps[i]?.offer;
      if (ran === undefined || (next !== undefined && next.tasks === undefined)) continue;
      for (const task of state.tasks ?? [])
        if (task !== ran && next?.has(task) !== true) this.#insert(state, task);
    }
  }

  /** Plans a schedule in which a task that did not run comes before the step that made it impossible. */
  #insert(state: State, offer: Offer): void {
    const index = this.#steps.length;
    const late: Missed = { key: offer.key, offer, deed: undefined, index, isGuess: true };
    this.#planBefore(state, late, late.index);
  }

  /**
   * Plans a schedule in which the later step of a race comes before the earlier one. Returns whether nothing is left to do about
   * the race in other schedules that begin with the two steps.
   */
  #reverse(early: number, late: ReducedStep): boolean {
    const state = this.#states[early] as State;
    return state.isForced || this.#planBefore(state, { ...late, isGuess: !late.deed.isFixed }, late.index);
  }

  /**
   * Plans a schedule in which a step comes before the one that ran in a state, after the steps that do not depend on that one.
   * Returns whether the steps from `end` on made no difference.
   */
  #planBefore(state: State, late: Missed, end: number): boolean {
    const sequence = this.#possible(state, this.#independentOf(state.steps, end, late));
    if (sequence.pop() !== late) return true;
    const asleep = state.sleep.get(late.offer);
    if (asleep !== undefined && isApart(sequence, asleep)) return false;
    for (const [{ key }, deed] of state.sleep) {
      if (key === late.key) continue;
      const place = sequence.findIndex((step) => step.key === key);
      const first = sequence[place];
      if (first === undefined) {
        if (isApart(sequence, deed) && isApart([late], deed)) return false;
      } else if (isInitial(sequence, place, this.#precedes)) return first.index <= end;
    }
    sequence.push(late);
    return plan(state.plans, sequence, this.#precedes, end);
  }

  /** The steps after an early one that do not depend on it, and the late one at the end. */
  #independentOf(early: number, same: number, late: Missed): Missed[] {
    const sequence: Missed[] = [];
    for (let i = early + 1; i < this.#steps.length; i++)
      if (i !== same && !this.#order.precedes(early, i)) sequence.push(this.#steps[i] as ReducedStep);
    sequence.push(late);
    return sequence;
  }

  /** The steps that can run from a state in this order. Others depend on what they were moved over, though no footprint says so. */
  #possible(state: State, sequence: Missed[]): Missed[] {
    if (state.has((sequence[0] as Missed).offer)) return sequence;
    const steps: Missed[] = [];
    const dropped: Missed[] = [];
    for (const step of sequence) {
      const after = (one: Missed): boolean => this.#precedes(one.index, step.index);
      if (dropped.some(after) || !(steps.some(after) || state.has(step.offer))) dropped.push(step);
      else steps.push(step);
    }
    return steps;
  }
}
