// Partial-order reduction: of the schedules that differ only in the order of independent steps, one is enough.
//
// Races: a step that ran before another it conflicts with, when the other could have come first, is the reason, and the
// only one, to run another task in its place (dynamic partial-order reduction: Flanagan and Godefroid 2005; which task,
// by the source sets of Abdulla, Aronsson, Jonsson and Sagonas 2014). Sleep: what has been explored from a fork need not
// be run behind its siblings until a step conflicts with it (Godefroid 1996). Both rules are of steps that touch the
// same whatever comes before them. Those of actors do not, so where a task turns out to have another footprint than
// in its sleep, the forks that relied on that try everything.

import type { Chooser, Footprint, PossibleStep } from "./strategy.js";
import { DrawFork, isEnumerated, kindOf, Path, TaskFork, type TaskName } from "./tree.js";

/**
 * Faults that strike between two steps, whose effects are in no footprint: kinds of draws, or whole labels. Whether one
 * can strike depends on the state of what it strikes, never on which step came last.
 */
const BETWEEN_STEPS: readonly string[] = ["crash", "pause", "start", "rush", "drop:connection"];

const NOTHING: ReadonlySet<string> = new Set();

/** A task from when it becomes possible until it runs. */
interface Offer extends TaskName {
  /** Index of the step that made it possible; -1 for the beginning. */
  readonly enabler: number;
}

/** What a task did. */
interface Deed {
  /** Undefined for a fault between steps. */
  readonly task: TaskName | undefined;
  readonly reads: ReadonlySet<string>;
  readonly writes: ReadonlySet<string>;
  /** It cannot change places with anything. */
  readonly barrier: boolean;
}

/** A deed at its place in the schedule. */
interface Step {
  readonly deed: Deed;
  readonly offer: Offer | undefined;
  /** Where it was picked; undefined when there was no choice. */
  readonly fork: ReducedTaskFork | undefined;
  /** What else was possible. */
  readonly others: readonly Offer[];
  /** What sleeps after it. */
  readonly sleep: Sleep;
  /** 1 for each earlier step that happens before it: no equivalent schedule has the two in another order. */
  readonly past: Uint8Array;
}

/** Tasks that were explored from an earlier fork, and would do the same here: with each what it did, for all draws. */
type Sleep = ReadonlyMap<Offer, readonly Deed[]>;

const AWAKE: Sleep = new Map();

function isBetweenSteps(label: string): boolean {
  return BETWEEN_STEPS.includes(label) || BETWEEN_STEPS.includes(kindOf(label));
}

/** Two steps in this order may not change places: of one actor, or one writes what the other reads or writes. */
function conflict(a: Deed, b: Deed): boolean {
  if (a.barrier || b.barrier) return true;
  if (a.task !== undefined && b.task !== undefined && sameActor(a.task, b.task)) return true;
  return meet(a.writes, b.writes) || meet(a.writes, b.reads) || meet(a.reads, b.writes);
}

/** A delivery has the number of a pair, which is another's than the same number of a process. */
function sameActor(a: TaskName, b: TaskName): boolean {
  return a.actor === b.actor && (a.kind === "deliver") === (b.kind === "deliver");
}

function meet(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  for (const key of a) if (b.has(key)) return true;
  return false;
}

/** What still sleeps after `deed`. */
function after(sleep: Sleep, deed: Deed): Sleep {
  const left = new Map<Offer, readonly Deed[]>();
  for (const [offer, deeds] of sleep) if (!deeds.some((one) => conflict(one, deed))) left.set(offer, deeds);
  return left;
}

/** A choice of tasks of which only those are tried that a race asks for. */
class ReducedTaskFork extends TaskFork {
  readonly offers: readonly Offer[];
  /** Steps before it. */
  readonly steps: number;
  sleep: Sleep;
  /** Deeds of the present choice: one for each list of draws. */
  readonly deeds: Deed[] = [];
  private readonly wanted = new Set<number>();

  constructor(offers: readonly Offer[], steps: number, sleep: Sleep) {
    super(offers);
    this.offers = offers;
    this.steps = steps;
    this.sleep = sleep;
  }

  sleeps(place: number): boolean {
    return this.sleep.has(this.offers[place] as Offer);
  }

  want(place: number): void {
    this.wanted.add(place);
  }

  wantAll(): void {
    for (const place of this.offers.keys()) this.want(place);
  }

  wants(place: number): boolean {
    return this.wanted.has(place);
  }

  override next(): number | undefined {
    this.sleep = new Map(this.sleep).set(this.offers[this.choice] as Offer, this.deeds.splice(0));
    for (const place of this.wanted) if (!this.sleeps(place)) return place;
    return undefined;
  }
}

class ReducedDrawFork extends DrawFork {
  /** Steps before it. */
  readonly steps: number;

  constructor(n: number, label: string, steps: number) {
    super(n, label);
    this.steps = steps;
  }
}

/** Walks through the tree that leave out what is equivalent to a walk before. */
export class ReducedWalk implements Chooser {
  redundant = false;
  private readonly path = new Path<ReducedTaskFork, ReducedDrawFork>();
  private readonly steps: Step[] = [];
  /** Steps of the present execution. */
  private ranSteps = 0;
  /** Where the step that is under way was picked. */
  private picked: ReducedTaskFork | undefined = undefined;
  /** A fault could have struck since the last step. */
  private spared = false;

  /** Whether there is a schedule left. The first one is there from the start. */
  turn(): boolean {
    this.path.close();
    this.end();
    const fork = this.path.turn();
    this.redundant = false;
    this.ranSteps = 0;
    this.picked = undefined;
    this.spared = false;
    this.steps.length = fork?.steps ?? 0;
    return fork !== undefined;
  }

  pick(tasks: readonly PossibleStep[]): number {
    if (this.redundant) return 0;
    this.picked = this.path.atTasks(tasks) ?? this.fork(tasks);
    return this.picked?.choice ?? 0;
  }

  draw(n: number, label: string): number {
    if (this.redundant || !isEnumerated(label)) return 0;
    let fork = this.path.atDraw(n, label);
    if (fork === undefined) {
      fork = new ReducedDrawFork(n, label, this.steps.length);
      this.path.add(fork);
    }
    if (isBetweenSteps(label)) {
      this.spared = fork.choice === 0;
      if (!this.spared) this.strike();
    }
    return fork.choice;
  }

  ran(task: PossibleStep, footprint: Footprint | undefined): void {
    if (this.redundant) return;
    const { picked } = this;
    this.picked = undefined;
    this.spared = false;
    if (this.ranSteps < this.steps.length) this.ranSteps++;
    else if (picked !== undefined) this.ranPicked(picked, footprint);
    else {
      const [offer] = this.offers([task]) as [Offer];
      if (this.sleep.has(offer)) this.redundant = true;
      else this.add({ deed: deedOf(offer, footprint), offer, fork: undefined, others: [] });
    }
  }

  private ranPicked(fork: ReducedTaskFork, footprint: Footprint | undefined): void {
    const offer = fork.offers[fork.choice] as Offer;
    const deed = deedOf(offer, footprint);
    fork.deeds.push(deed);
    this.add({ deed, offer, fork, others: fork.offers.filter((other) => other !== offer) });
  }

  /** A fault is a step too. Everything before happened before it, and whatever is possible after it is as if new. */
  private strike(): void {
    if (this.ranSteps < this.steps.length) {
      this.ranSteps++;
      return;
    }
    const deed: Deed = { task: undefined, reads: NOTHING, writes: NOTHING, barrier: true };
    this.add({ deed, offer: undefined, fork: undefined, others: [] });
  }

  /** What sleeps now. */
  private get sleep(): Sleep {
    return this.steps.at(-1)?.sleep ?? AWAKE;
  }

  /** New ground: a fork of tasks; undefined when all of them sleep. */
  private fork(tasks: readonly PossibleStep[]): ReducedTaskFork | undefined {
    const fork = new ReducedTaskFork(this.offers(tasks), this.steps.length, this.sleep);
    fork.choice = fork.offers.findIndex((_, place) => !fork.sleeps(place));
    if (fork.choice < 0) {
      this.redundant = true;
      return undefined;
    }
    // A fault that spared this place may strike after any of the tasks, and conflicts with all of them.
    if (this.spared) fork.wantAll();
    fork.want(fork.choice);
    this.path.add(fork);
    return fork;
  }

  /** The tasks, those of before recognised. */
  private offers(tasks: readonly PossibleStep[]): Offer[] {
    const last = this.steps.at(-1);
    const before = [...(last?.others ?? [])];
    const enabler = this.steps.length - 1;
    const offers = tasks.map(({ kind, actor }): Offer => {
      const known = before.findIndex((offer) => offer.kind === kind && offer.actor === actor);
      return known < 0 ? { kind, actor, enabler } : (before.splice(known, 1)[0] as Offer);
    });
    // What the last step made impossible conflicts with it, and could have run in its place.
    for (const gone of before) {
      last?.fork?.want(last.fork.offers.indexOf(gone));
      this.otherwise(gone, undefined);
    }
    return offers;
  }

  private add(ran: Omit<Step, "sleep" | "past">): void {
    const { deed, offer, fork } = ran;
    if (offer !== undefined) this.otherwise(offer, deed);
    const past = this.findRaces(ran);
    this.steps.push({ ...ran, sleep: after(fork?.sleep ?? this.sleep, deed), past });
    this.ranSteps++;
  }

  /** The schedule is over. If it ended early, by a failure, what was left could have run before. */
  private end(): void {
    if (this.picked !== undefined) this.ranPicked(this.picked, undefined);
    const last = this.steps.at(-1);
    for (const offer of last?.others ?? []) last?.fork?.want(last.fork.offers.indexOf(offer));
  }

  /**
   * A task that slept has done something else than what it did when it was explored. What conflicts with that, but not
   * with this, has raised no race, so that a fork at which it slept has to try everything.
   */
  private otherwise(offer: Offer, deed: Deed | undefined): void {
    for (const { fork } of this.steps) {
      const dreamt = fork?.sleep.get(offer);
      if (dreamt?.some((one) => deed === undefined || !alike(one, deed)) === true) fork?.wantAll();
    }
  }

  /** Orders a new step among those before it, and has each race that it ends tried the other way round. */
  private findRaces(step: Omit<Step, "sleep" | "past">): Uint8Array {
    const past = new Uint8Array(this.steps.length);
    for (let i = past.length - 1; i >= 0; i--) {
      if (past[i] === 1) continue;
      const earlier = this.steps[i] as Step;
      const enables = step.offer?.enabler === i;
      if (!enables && !conflict(earlier.deed, step.deed)) continue;
      if (!enables) this.reverse(i, step.offer, past);
      past[i] = 1;
      for (let before = 0; before < i; before++) if (earlier.past[before] === 1) past[before] = 1;
    }
    return past;
  }

  /**
   * Has the new step tried before the one at `early`: together with the steps between them that do not depend on the
   * early one. Any of these that can come first will do; what sleeps there has been tried.
   */
  private reverse(early: number, late: Offer | undefined, past: Uint8Array): void {
    const { fork } = this.steps[early] as Step;
    if (fork === undefined) return;
    const free: number[] = [];
    let candidate: number | undefined;
    for (let i = early + 1; i <= this.steps.length; i++) {
      const step = this.steps[i];
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

/** They touched the same. */
function alike(a: Deed, b: Deed): boolean {
  return same(a.reads, b.reads) && same(a.writes, b.writes);
}

function same(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && [...a].every((key) => b.has(key));
}

/** Without a footprint, a step may have touched anything. Footprints are copied: they may be used again. */
function deedOf({ kind, actor }: Offer, footprint: Footprint | undefined): Deed {
  return {
    task: { kind, actor },
    reads: new Set(footprint?.reads),
    writes: new Set(footprint?.writes),
    barrier: footprint === undefined,
  };
}
