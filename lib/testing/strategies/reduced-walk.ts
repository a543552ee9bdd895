// Optimal dynamic partial-order reduction: of the schedules that differ only in the order of independent steps, one is enough.
//
// A schedule runs to its end. Then each race in it, two dependent steps that nothing between orders, is a reason for one more
// schedule: the later step before the earlier one, after the steps that do not depend on the earlier one. That beginning is
// planned in the wakeup tree of the state before the earlier step, unless an explored or planned schedule is equivalent to it.
//
// Two things differ from the published algorithm. A step has draws, so it is one step for each list of their values. And a fault
// can strike, but need not: it is planned where it could strike last, and its races move it to earlier places.
//
// Where a plan cannot be followed, because a footprint did not tell all, the search tries another task in that place as well.
//
// With draws and faults, plans can miss outcomes: random programs have shown it. So the first of them makes the search begin anew,
// with cautious-walk.ts.

import { chainOf, type Deed, deedOf, faultKey, isFault } from "./dependence.js";
import { HappensBefore, type Place } from "./happens-before.js";
import { type Draw, isAllAsleep, type Sleep, sameDraws, sleepAfter } from "./sleep.js";
import { type Offer, State } from "./state.js";
import type { Chooser, Footprint, PossibleStep } from "./strategy.js";
import { Decisions, drawDecision, isEnumerated, kindOf, taskDecision } from "./tree.js";
import {
  anyOf,
  type Following,
  isApart,
  isInitial,
  type Movable,
  type Planned,
  plan,
} from "./wakeup-tree.js";

/** Faults that strike between two steps: kinds of draws, or whole labels. */
const BETWEEN_STEPS: readonly string[] = [
  "crash",
  "pause",
  "start",
  "rush",
  "node",
  "clock",
  "drop:connection",
];

/** What happens when nothing can run. */
const QUIET = "quiet";

const AWAKE: Sleep<Offer> = new Map();

const ANYTHING: Following = { after: [], isFree: true, isGuess: false };

/** What did not run, though it could have. It may depend on everything. */
interface Missed extends Movable {
  readonly offer: Offer;
}

interface Step extends Missed {
  readonly deed: Deed;
  readonly place: Place;
  /** The outcomes that sleep after it. */
  readonly sleep: Sleep<Offer>;
  /** Earlier steps that it races with, as long as the race can be a reason for another schedule. */
  races: readonly number[];
}

function isBetweenSteps(label: string): boolean {
  return BETWEEN_STEPS.includes(label) || BETWEEN_STEPS.includes(kindOf(label));
}

function keyOf({ kind, actor, key }: PossibleStep): string {
  return `${kind} ${key ?? actor}`;
}

/** Walks through the tree of schedules, with one walk for each class of equivalent ones. */
export class ReducedWalk implements Chooser {
  redundant = false;
  readonly ordersSpawns: boolean;
  readonly tracesCauses = true;
  /** See {@link Chooser.isAnew}. */
  isAnew: boolean;
  /** See {@link Chooser.sawSpawnOrder}. */
  sawOrder = false;
  /** The schedules have draws or faults: plans can miss outcomes. */
  isUnsure = false;
  private readonly decisions = new Decisions();
  private readonly order = new HappensBefore();
  private readonly precedes = (early: number, late: number): boolean =>
    late >= this.steps.length || this.order.precedes(early, late);
  /** The state before each step, and the one at the end. */
  private readonly states: State[] = [];
  private readonly steps: Step[] = [];
  /** Number of steps of the present execution. */
  private ranSteps = 0;
  /** The state in which the next step is chosen or running; undefined after a step. */
  private state: State | undefined = undefined;
  /** Number of decisions before the next step. */
  private lead = 0;
  /** The step has begun: draws belong to it. */
  private isRunning = false;
  private drawn: Draw[] = [];
  /** The plan of the last step. */
  private follow: Following = ANYTHING;

  /** @param isAnew - it takes the place of another search */
  constructor(ordersSpawns = false, isAnew = false) {
    this.ordersSpawns = ordersSpawns;
    this.isAnew = isAnew;
  }

  sawSpawnOrder(): void {
    this.sawOrder = true;
  }

  /** Whether a schedule is left. Not needed before the first schedule. */
  turn(): boolean {
    this.isAnew = false;
    this.decisions.close();
    if (!this.redundant) this.end();
    this.redundant = false;
    this.ranSteps = 0;
    this.leave();
    for (let state = this.states.at(-1); state !== undefined; state = this.states.at(-1)) {
      const step = this.steps[state.steps];
      if (step !== undefined) state.explored(step.offer, step);
      this.steps.length = Math.min(this.steps.length, state.steps);
      if (state.turn()) {
        this.order.truncate(this.steps.length);
        this.decisions.turn(state.decisions, state.way);
        return true;
      }
      this.states.pop();
    }
    return false;
  }

  // ── the decisions of an execution ─────────────────────────────────────────────────────────────────────────────

  offered(tasks: readonly PossibleStep[]): void {
    if (this.redundant) return;
    this.finish();
    const state = this.enter();
    if (state.tasks !== undefined) return;
    state.tasks = this.offersOf(tasks);
    if (state.branch !== undefined || tasks.length === 0) return;
    // A planned fault strikes as soon as it is offered, unless a planned task comes first.
    const isNext = this.follow.after.some(({ key }) => {
      const offer = state.offerOf(key);
      return offer !== undefined && !state.isAsleep(offer);
    });
    if (isNext || !this.follow.after.some(({ key }) => isFault(key))) this.choose(state);
  }

  pick(tasks: readonly PossibleStep[]): number {
    if (this.redundant) return 0;
    if (this.isRunning) this.finish();
    const state = this.enter();
    this.leadBy(state, taskDecision(tasks), []);
    state.tasks ??= this.offersOf(tasks);
    this.choose(state);
    this.isRunning = !this.redundant;
    return Math.max(0, state.tasks.indexOf(state.branch?.offer as Offer));
  }

  draw(n: number, label: string, _probability?: number, _actor?: number, names?: readonly string[]): number {
    if (this.redundant || !isEnumerated(label)) return 0;
    this.isUnsure = true;
    return isBetweenSteps(label) ? this.drawFault(n, label, names) : this.drawWithin(n, label);
  }

  ran(task: PossibleStep, footprint: Footprint | undefined): void {
    if (this.redundant) return;
    const state = this.enter();
    state.tasks ??= this.offersOf([task]);
    if (state.tasks.length === 0) this.finish();
    else {
      if (!this.isRunning) this.choose(state);
      if (!this.redundant) this.complete(state, footprint);
    }
  }

  struck(footprint: Footprint | undefined): void {
    if (!this.redundant && this.state !== undefined && this.isRunning) this.complete(this.state, footprint);
  }

  private drawFault(n: number, label: string, names: readonly string[] | undefined): number {
    if (this.isRunning) this.finish();
    const state = this.enter();
    const keys = Array.from({ length: n - 1 }, (_, i) => faultKey(label, names?.[i] ?? i + 1));
    if (this.leadBy(state, drawDecision(n, label), keys)) {
      for (const key of keys)
        if (state.offerOf(key) === undefined) state.faults.push(this.faultOf(key, names !== undefined));
      if (state.branch === undefined && this.follow.after.some(({ key }) => keys.includes(key)))
        this.choose(state, keys);
    }
    const choice = keys.indexOf(state.branch?.offer.key ?? "") + 1;
    if (choice > 0) this.isRunning = true;
    return choice;
  }

  private drawWithin(n: number, label: string): number {
    const state = this.enter();
    if (!this.isRunning) {
      // Nothing can run, so time passes; or only one task can run, and nobody said so.
      state.tasks ??= [];
      if (state.tasks.length === 0) this.pass(state);
      else this.choose(state);
      if (this.redundant) return 0;
      this.isRunning = true;
    }
    const { branch } = state;
    const index = this.drawn.length;
    const known = this.steps[this.ranSteps]?.draws[index]?.value ?? branch?.plan.draws[index]?.value;
    let value = known ?? 0;
    if (known === undefined && branch !== undefined) {
      const values = this.drawn.map((one) => one.value);
      while (value < n - 1 && state.sleeps(branch.offer, [...values, value])) value++;
    }
    if (value >= n) value = 0;
    this.decisions.meet(drawDecision(n, label));
    this.drawn.push({ n, label, value });
    return value;
  }

  // ── steps ─────────────────────────────────────────────────────────────────────────────────────────────────────

  private enter(): State {
    if (this.state !== undefined) return this.state;
    this.lead = 0;
    this.state = this.states[this.ranSteps];
    if (this.state === undefined) {
      this.state = new State(this.ranSteps, this.decisions.depth, this.steps.at(-1)?.sleep ?? AWAKE);
      this.states.push(this.state);
    }
    return this.state;
  }

  private leave(): void {
    this.state = undefined;
    this.isRunning = false;
    this.drawn = [];
  }

  /** Comes to a decision before the next step. Returns whether it is new in this state. */
  private leadBy(
    state: State,
    decision: ReturnType<typeof drawDecision>,
    faults: readonly string[],
  ): boolean {
    this.decisions.meet(decision);
    const isNew = this.lead++ === state.lead.length;
    if (isNew) state.lead.push({ decision, faults });
    return isNew;
  }

  /** Ends a step whose end is not told: a fault, or the passing of time. */
  private finish(): void {
    const { state } = this;
    if (state === undefined) return;
    if (!this.isRunning && state.tasks?.length === 0) this.pass(state);
    if (this.isRunning) this.complete(state, undefined);
  }

  /** Nothing can run, so that time passes: a step that comes after all others. */
  private pass(state: State): void {
    state.quiet ??= { key: QUIET, chain: QUIET, enabler: state.steps - 1 };
    state.branch ??= { offer: state.quiet, plan: anyOf(QUIET) };
    this.isRunning = true;
  }

  /**
   * Decides what comes next, if that is not decided yet: what is planned, else any task.
   *
   * @param faults - those that can strike now, if nothing else is to be chosen
   */
  private choose(state: State, faults?: readonly string[]): void {
    const { tasks = [], branch } = state;
    if (branch !== undefined && (tasks.includes(branch.offer) || faults !== undefined)) return;
    // The planned fault cannot strike.
    let isLost = branch !== undefined;
    if (branch === undefined) {
      const last: Planned[] = [];
      if (faults !== undefined)
        for (const { key } of this.follow.after)
          if (isFault(key) && state.offerOf(key) === undefined) state.faults.push(this.faultOf(key, true));
      for (const one of this.follow.after) {
        if (faults?.includes(one.key) === true) state.plans.unshift(one);
        else if (isFault(one.key)) last.push(one);
        else if (state.offerOf(one.key) === undefined) isLost = true;
        else state.plans.push(one);
      }
      state.plans.push(...last);
    }
    const { isFree, isGuess } = this.follow;
    if (isLost || (isFree && !(isGuess && tasks.some((offer) => state.isAsleep(offer))))) state.plansAny();
    if (!state.turn()) this.redundant = true;
  }

  private complete(state: State, footprint: Footprint | undefined): void {
    const { branch } = state;
    const { drawn } = this;
    this.leave();
    if (branch === undefined || this.ranSteps++ < this.steps.length) return;
    const { offer, plan } = branch;
    for (let i = plan.draws.length; i < drawn.length; i++) {
      const { n, label, value } = drawn[i] as Draw;
      for (let other = n - 1; other > value; other--)
        state.plans.unshift(
          anyOf(offer.key, [...drawn.slice(0, i), { n, label, value: other }], plan.isGuess),
        );
    }
    const values = drawn.map(({ value }) => value);
    if (state.sleeps(offer, values)) {
      this.redundant = true;
      return;
    }
    const isMet = plan.deed === undefined || sameDraws(plan.draws, drawn);
    this.follow = isMet ? plan : anyOf(offer.key);
    const deed = deedOf(offer.chain, footprint);
    const place = this.order.add(offer.key, deed, offer.enabler, offer.key !== QUIET);
    const index = this.steps.length;
    const sleep = sleepAfter(state.sleep, deed);
    this.steps.push({ key: offer.key, offer, draws: drawn, deed, index, place, races: place.races, sleep });
  }

  /** The possible tasks; those that were possible before keep their identity. */
  private offersOf(tasks: readonly PossibleStep[]): Offer[] {
    const before = this.states[this.ranSteps - 1];
    const known = (before?.tasks ?? []).filter((offer) => offer !== before?.branch?.offer);
    const keys = new Set<string>();
    return tasks.map((task): Offer => {
      const name = keyOf(task);
      const index = known.findIndex(({ key }) => key === name || key.startsWith(`${name}#`));
      if (index >= 0) return known.splice(index, 1)[0] as Offer;
      const key = keys.has(name) ? `${name}#${this.ranSteps}.${keys.size}` : name;
      keys.add(key);
      return { key, chain: chainOf(task), enabler: this.ranSteps - 1 };
    });
  }

  /** @param isNamed - else several steps can make it possible */
  private faultOf(key: string, isNamed: boolean): Offer {
    const before = this.states[this.ranSteps - 1];
    const known = before?.faults.find((offer) => offer.key === key);
    if (known !== undefined && known !== before?.branch?.offer) return known;
    return { key, chain: key, enabler: isNamed ? this.ranSteps - 1 : -1 };
  }

  // ── the end of a schedule ─────────────────────────────────────────────────────────────────────────────────────

  private end(): void {
    if (this.isRunning) this.finish();
    // A step that ended the schedule without a word.
    else if (this.state?.tasks?.length === 1) this.complete(this.state, undefined);
    const last = this.steps.at(-1);
    // The last step has ended the schedule, if something is left that could run.
    const left = this.states.at(-1)?.tasks?.length ?? 0;
    if (last !== undefined && this.states.length === this.steps.length && left > 1)
      this.steps[last.index] = { ...last, deed: deedOf(last.offer.chain, undefined) };
    const lastFault = this.steps.findLastIndex(({ key }) => isFault(key));
    this.findMissed(lastFault + 1);
    for (const step of this.steps)
      if (step.races.length > 0 && step.index >= lastFault)
        step.races = step.races.filter((early) => !this.reverse(early, step));
  }

  /**
   * A task or fault that was possible until a step made it impossible could have come before that step. So could what is left
   * when a step ends the schedule.
   *
   * Of a schedule with faults, only what comes after the last fault matters, since another schedule has all but that fault.
   */
  private findMissed(first: number): void {
    for (let i = first; i < this.states.length; i++) {
      const state = this.states[i] as State;
      const next = this.states[i + 1];
      const ran = this.steps[i]?.offer;
      const isMissed = (offer: Offer): boolean => offer !== ran && next?.has(offer) !== true;
      if (ran !== undefined && (next === undefined || next.tasks !== undefined))
        for (const task of state.tasks ?? []) if (isMissed(task)) this.insert(state, task);
      for (const fault of state.faults) if (isMissed(fault)) this.insert(state, fault);
    }
  }

  /** Plans a schedule in which a task or fault that did not run comes before the step that made it impossible. */
  private insert(state: State, offer: Offer): void {
    const index = this.steps.length;
    const late: Missed = { key: offer.key, offer, draws: [], deed: undefined, index, isGuess: true };
    this.planBefore(state, late, late.index);
  }

  /**
   * Plans a schedule in which the later step of a race comes before the earlier one. Returns whether nothing is left to do about
   * the race in other schedules that begin with the two steps.
   */
  private reverse(early: number, late: Step): boolean {
    const state = this.states[early] as State;
    if (state.isForced || isFault((this.steps[early] as Step).key)) return true;
    // It need not draw the same without the earlier step.
    const moved: Missed =
      late.draws.length > 0
        ? { ...late, draws: [], deed: undefined, isGuess: true }
        : { ...late, isGuess: !late.deed.isFixed };
    return this.planBefore(state, moved, late.index);
  }

  /**
   * Plans a schedule in which a step comes before the one that ran in a state, after the steps that do not depend on that one.
   * Returns whether the steps from `end` on made no difference.
   */
  private planBefore(state: State, late: Missed, end: number): boolean {
    const sequence = this.possible(state, this.independentOf(state.steps, end, late));
    if (sequence.pop() !== late) return true;
    const asleep = state.sleep.get(late.offer);
    if (isAllAsleep(asleep?.filter(({ deed }) => isApart(sequence, deed)))) return false;
    for (const [{ key }, outcomes] of state.sleep) {
      if (key === late.key) continue;
      const place = sequence.findIndex((step) => step.key === key);
      const first = sequence[place];
      if (first === undefined) {
        const isMoved = (deed: Deed): boolean => isApart(sequence, deed) && isApart([late], deed);
        if (!isFault(key) && isAllAsleep(outcomes.filter(({ deed }) => isMoved(deed)))) return false;
      } else if (
        outcomes.some(({ draws }) => sameDraws(draws, first.draws)) &&
        isInitial(sequence, place, this.precedes)
      )
        return first.index <= end;
    }
    sequence.push(late);
    return plan(state.plans, sequence, this.precedes, end);
  }

  /** The steps after an early one that do not depend on it, and the late one at the end. */
  private independentOf(early: number, same: number, late: Missed): Missed[] {
    const sequence: Missed[] = [];
    for (let i = early + 1; i < this.steps.length; i++)
      if (i !== same && !this.order.precedes(early, i)) sequence.push(this.steps[i] as Step);
    sequence.push(late);
    return sequence;
  }

  /** The steps that can run from a state in this order. Others depend on what they were moved over, though no footprint says so. */
  private possible(state: State, sequence: Missed[]): Missed[] {
    if (state.has((sequence[0] as Missed).offer)) return sequence;
    const steps: Missed[] = [];
    const dropped: Missed[] = [];
    for (const step of sequence) {
      const after = (one: Missed): boolean => this.precedes(one.index, step.index);
      if (dropped.some(after) || !(steps.some(after) || state.has(step.offer))) dropped.push(step);
      else steps.push(step);
    }
    return steps;
  }
}
