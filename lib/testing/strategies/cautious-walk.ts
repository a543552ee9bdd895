// A search with reduction that takes nothing for granted: the fallback of reduced-walk.ts.
//
// Races. Step A ran before step B, the two conflict, and B could have come first: only this is a reason to run another task in
// A's place (dynamic partial-order reduction, Flanagan and Godefroid 2005; the source sets of Abdulla, Aronsson, Jonsson and
// Sagonas 2014 say which task). Sleep. A task that was explored from a fork need not run behind its siblings until a step
// conflicts with it (Godefroid 1996). Where a task has another footprint than it had when it was put to sleep, the forks that
// relied on the footprint try everything. So no outcome is lost, with any draws and any faults, at the price of
// many redundant schedules.

import { chainOf, type Deed, deedOf, dependent } from "./dependence.js";
import type { Knowledge } from "./knowledge.js";
import type { Chooser, Footprint, PossibleStep } from "./strategy.js";
import { Fork, isEnumerated, kindOf, Path, type TaskName, taskDecision } from "./tree.js";

/**
 * Faults that strike between two steps, whose effects are in no footprint: kinds of draws, or whole labels. Whether such a fault
 * can strike depends on the state of its target, never on the last step.
 */
const BETWEEN_STEPS: readonly string[] = [
  "crash",
  "pause",
  "start",
  "rush",
  "node",
  "clock",
  "drop:connection",
];

/** A task from the moment it becomes possible until it runs. */
interface Offer extends TaskName {
  /** Index of the step that made it possible; -1 for the beginning. */
  readonly enabler: number;
}

/** A deed at its position in the schedule. */
interface CautiousStep {
  readonly deed: Deed;
  readonly offer: Offer | undefined;
  /** The fork at which it was picked; undefined when there was no choice. */
  readonly fork: ReducedTaskFork | undefined;
  /** The other possible tasks. */
  readonly others: readonly Offer[];
  /** The tasks that sleep after it. */
  readonly sleep: Sleep;
  /** 1 for each earlier step that happens before it: no equivalent schedule has the two in the other order. */
  readonly past: Uint8Array;
}

/** Tasks that were explored from an earlier fork and would do the same here, with their deeds for all draws. */
type Sleep = ReadonlyMap<Offer, readonly Deed[]>;

const AWAKE: Sleep = new Map();

function isBetweenSteps(label: string): boolean {
  return BETWEEN_STEPS.includes(label) || BETWEEN_STEPS.includes(kindOf(label));
}

/** The tasks that still sleep after `deed`. */
function after(sleep: Sleep, deed: Deed): Sleep {
  const left = new Map<Offer, readonly Deed[]>();
  for (const [offer, deeds] of sleep) if (!deeds.some((one) => dependent(one, deed))) left.set(offer, deeds);
  return left;
}

/** A choice of tasks. Only the tasks that a race asks for are tried. */
class ReducedTaskFork extends Fork {
  readonly offers: readonly Offer[];
  /** Number of steps before it. */
  readonly steps: number;
  sleep: Sleep;
  /** Deeds of the present choice, one for each list of draws. */
  readonly deeds: Deed[] = [];
  readonly #wanted = new Set<number>();

  constructor(offers: readonly Offer[], steps: number, sleep: Sleep) {
    super(taskDecision(offers));
    this.offers = offers;
    this.steps = steps;
    this.sleep = sleep;
  }

  sleeps(place: number): boolean {
    return this.sleep.has(this.offers[place] as Offer);
  }

  want(place: number): void {
    this.#wanted.add(place);
  }

  wantAll(): void {
    for (const place of this.offers.keys()) this.want(place);
  }

  wants(place: number): boolean {
    return this.#wanted.has(place);
  }

  override next(): number | undefined {
    this.sleep = new Map(this.sleep).set(this.offers[this.choice] as Offer, this.deeds.splice(0));
    for (const place of this.#wanted) if (!this.sleeps(place)) return place;
    return undefined;
  }
}

class ReducedDrawFork extends Fork {
  /** Number of steps before it. */
  readonly steps: number;

  constructor(n: number, label: string, steps: number) {
    super({ n, label });
    this.steps = steps;
  }
}

/** Walks through the tree, without walks equivalent to an earlier one. */
export class CautiousWalk implements Chooser {
  redundant = false;
  readonly knowledge: Knowledge;
  readonly tracesCauses = true;
  /** It always takes the place of another search. */
  isAnew = true;
  readonly #path = new Path<ReducedTaskFork | ReducedDrawFork>();
  readonly #steps: CautiousStep[] = [];
  /** Steps of the present execution. */
  #ranSteps = 0;
  /** The fork at which the present step was picked. */
  #picked: ReducedTaskFork | undefined = undefined;
  /** A fault could have struck since the last step. */
  #spared = false;

  constructor(knowledge: Knowledge) {
    this.knowledge = knowledge;
  }

  /** Whether a schedule is left. Not needed before the first schedule. */
  turn(): boolean {
    this.isAnew = false;
    this.#path.close();
    this.#end();
    const fork = this.#path.turn();
    this.redundant = false;
    this.#ranSteps = 0;
    this.#picked = undefined;
    this.#spared = false;
    this.#steps.length = fork?.steps ?? 0;
    return fork !== undefined;
  }

  pick(tasks: readonly PossibleStep[]): number {
    if (this.redundant) return 0;
    this.#picked = (this.#path.at({ tasks }) as ReducedTaskFork | undefined) ?? this.#fork(tasks);
    return this.#picked?.choice ?? 0;
  }

  draw(n: number, label: string): number {
    if (this.redundant || !isEnumerated(label)) return 0;
    let fork = this.#path.at({ n, label });
    if (fork === undefined) {
      fork = new ReducedDrawFork(n, label, this.#steps.length);
      this.#path.add(fork);
    }
    if (isBetweenSteps(label)) {
      this.#spared = fork.choice === 0;
      if (!this.#spared) this.#strike();
    }
    return fork.choice;
  }

  ran(task: PossibleStep, footprint: Footprint | undefined): void {
    if (this.redundant) return;
    const picked = this.#picked;
    this.#picked = undefined;
    this.#spared = false;
    if (this.#ranSteps < this.#steps.length) this.#ranSteps++;
    else if (picked !== undefined) this.#ranPicked(picked, footprint);
    else {
      const [offer] = this.#offers([task]) as [Offer];
      if (this.#sleep.has(offer)) this.redundant = true;
      else this.#add({ deed: deedOf(chainOf(offer), footprint), offer, fork: undefined, others: [] });
    }
  }

  #ranPicked(fork: ReducedTaskFork, footprint: Footprint | undefined): void {
    const offer = fork.offers[fork.choice] as Offer;
    const deed = deedOf(chainOf(offer), footprint);
    fork.deeds.push(deed);
    this.#add({ deed, offer, fork, others: fork.offers.filter((other) => other !== offer) });
  }

  /** A fault counts as a step: everything earlier happens before it, and every task possible after it counts as new. */
  #strike(): void {
    if (this.#ranSteps < this.#steps.length) {
      this.#ranSteps++;
      return;
    }
    this.#add({ deed: deedOf("a fault", undefined), offer: undefined, fork: undefined, others: [] });
  }

  /** The tasks that sleep at present. */
  get #sleep(): Sleep {
    return this.#steps.at(-1)?.sleep ?? AWAKE;
  }

  /** A new fork of tasks; undefined when all of them sleep. */
  #fork(tasks: readonly PossibleStep[]): ReducedTaskFork | undefined {
    const fork = new ReducedTaskFork(this.#offers(tasks), this.#steps.length, this.#sleep);
    fork.choice = fork.offers.findIndex((_, place) => !fork.sleeps(place));
    if (fork.choice < 0) {
      this.redundant = true;
      return undefined;
    }
    // A fault that did not strike here may strike after any of the tasks, and conflicts with all of them.
    if (this.#spared) fork.wantAll();
    fork.want(fork.choice);
    this.#path.add(fork);
    return fork;
  }

  /** The possible tasks; those that were possible before keep their identity. */
  #offers(tasks: readonly PossibleStep[]): Offer[] {
    const last = this.#steps.at(-1);
    const before = [...(last?.others ?? [])];
    const enabler = this.#steps.length - 1;
    const offers = tasks.map(({ kind, actor }): Offer => {
      const known = before.findIndex((offer) => offer.kind === kind && offer.actor === actor);
      return known < 0 ? { kind, actor, enabler } : (before.splice(known, 1)[0] as Offer);
    });
    // A task that the last step made impossible conflicts with that step, and could have run in its place.
    for (const gone of before) {
      last?.fork?.want(last.fork.offers.indexOf(gone));
      this.#otherwise(gone, undefined);
    }
    return offers;
  }

  #add(ran: Omit<CautiousStep, "sleep" | "past">): void {
    const { deed, offer, fork } = ran;
    if (offer !== undefined) this.#otherwise(offer, deed);
    const past = this.#findRaces(ran);
    this.#steps.push({ ...ran, sleep: after(fork?.sleep ?? this.#sleep, deed), past });
    this.#ranSteps++;
  }

  /** The schedule is over. If it ended early with a failure, the remaining tasks could have run before. */
  #end(): void {
    if (this.#picked !== undefined) this.#ranPicked(this.#picked, undefined);
    const last = this.#steps.at(-1);
    for (const offer of last?.others ?? []) last?.fork?.want(last.fork.offers.indexOf(offer));
  }

  /**
   * A sleeping task ran with another footprint than when it was explored. A step that conflicts with the new footprint but not
   * with the old one has raised no race, so the forks at which the task slept must try everything.
   */
  #otherwise(offer: Offer, deed: Deed | undefined): void {
    for (const { fork } of this.#steps) {
      const dreamt = fork?.sleep.get(offer);
      if (dreamt?.some((one) => deed === undefined || !alike(one, deed)) === true) fork?.wantAll();
    }
  }

  /** Orders a new step after earlier ones, and schedules the reversal of each race that it ends. */
  #findRaces(step: Omit<CautiousStep, "sleep" | "past">): Uint8Array {
    const past = new Uint8Array(this.#steps.length);
    for (let i = past.length - 1; i >= 0; i--) {
      if (past[i] === 1) continue;
      const earlier = this.#steps[i] as CautiousStep;
      const enables = step.offer?.enabler === i;
      if (!enables && !dependent(earlier.deed, step.deed)) continue;
      if (!enables) this.#reverse(i, step.offer, past);
      past[i] = 1;
      for (let before = 0; before < i; before++) if (earlier.past[before] === 1) past[before] = 1;
    }
    return past;
  }

  /**
   * Schedules the new step before the step at `early`, together with the steps between that do not depend on the early one. Any
   * of these that can come first will do; a sleeping task was tried already.
   */
  #reverse(early: number, late: Offer | undefined, past: Uint8Array): void {
    const { fork } = this.#steps[early] as CautiousStep;
    if (fork === undefined) return;
    const free: number[] = [];
    let candidate: number | undefined;
    for (let i = early + 1; i <= this.#steps.length; i++) {
      const step = this.#steps[i];
      if (step?.past[early] === 1) continue;
      const begins = free.every((other) => (step?.past ?? past)[other] !== 1);
      free.push(i);
      const offer = step === undefined ? late : step.offer;
      const place = offer === undefined || !begins ? -1 : fork.offers.indexOf(offer);
      if (place < 0) continue;
      if (fork.wants(place)) return;
      candidate = place;
    }
    if (candidate !== undefined) fork.want(candidate);
  }
}

/** Whether two deeds touched the same things. */
function alike(a: Deed, b: Deed): boolean {
  return same(a.reads, b.reads) && same(a.writes, b.writes);
}

function same(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && [...a].every((key) => b.has(key));
}
