// Makes a failing schedule as simple as possible, as long as it fails with the same bug.
//
// First the large parts go: the tail, faults, random numbers, whole processes, then halves, quarters, … of the order of the constraints.
// A long schedule is then searched for a shorter one that begins alike. In the end, no single deviation from the ordinary
// schedule is left that the failure does not need.

import { Random } from "../kit/random.js";
import { host } from "../simulator/host.js";
import { Script } from "../simulator/oracle.js";
import { randomWalk } from "../strategies/random-walk.js";
import type { Chooser } from "../strategies/strategy.js";
import { type Constraint, ConstraintWriter, Follower } from "./constraints.js";
import { identityOf } from "./failure-identity.js";
import { kindOf, type Runs } from "./runs.js";
import type { ScheduleResult } from "./schedule.js";
import { shrinkChoices } from "./shrink.js";

/** Schedules of fewer steps are short enough to read. */
const LONG = 60;
/** Most other failures that are listed. */
const MOST_OTHERS = 10;
/** The part of all tries after which no more parts are left out. */
const PARTS_SHARE = 0.25;
/** Schedules to try before the deviations of the shortest one are dropped. */
const SEARCH_TRIES = 300;

/** A failure met on the way that is not of the same bug. */
export interface OtherFailing {
  readonly error: unknown;
  readonly result: ScheduleResult;
}

export interface Minimized {
  readonly choices: readonly number[];
  /** Schedules that were run. */
  readonly tried: number;
  readonly others: readonly OtherFailing[];
}

/** Runs candidates, and keeps the best one. */
class Candidates {
  tried = 0;
  best: ScheduleResult;
  readonly others = new Map<string, OtherFailing>();
  readonly #runs: Runs;
  readonly #bug: (result: ScheduleResult) => string | undefined;
  readonly #wanted: string | undefined;
  readonly #deadline: number;

  /** @param again - a second run of the failing schedule */
  constructor(runs: Runs, found: ScheduleResult, again: ScheduleResult) {
    this.#runs = runs;
    this.best = again;
    // Where even the same choices give another text, texts tell nothing.
    this.#bug = bugOf(found) === bugOf(again) ? bugOf : kindOf;
    this.#wanted = this.#bug(again);
    this.others.set(String(this.#wanted), { error: undefined, result: again });
    this.#deadline = host.now() + runs.plan.shrinkMs;
  }

  isOver(share = 1): boolean {
    return this.tried >= this.#runs.plan.shrink * share || host.now() > this.#deadline;
  }

  /** Runs one; returns its result if it fails with the same bug. */
  async fails(chooser: Chooser, maxSteps?: number): Promise<ScheduleResult | undefined> {
    if (this.isOver()) return undefined;
    this.tried++;
    const result = await this.#runs.under(chooser, { maxSteps });
    // The bug shows before a schedule is cut off.
    if (result.failure === undefined || result.bounded) return undefined;
    const bug = String(this.#bug(result));
    if (bug === this.#wanted) return result;
    if (this.others.size <= MOST_OTHERS && !this.others.has(bug))
      this.others.set(bug, { error: result.failure.error, result });
    return undefined;
  }

  /** Takes a candidate as the best one if it fails with the same bug, and is shorter or has fewer deviations. */
  async improve(chooser: Chooser, maxSteps?: number): Promise<boolean> {
    const result = await this.fails(chooser, maxSteps);
    if (result === undefined || !isSimpler(result, this.best)) return false;
    this.best = result;
    return true;
  }

  /** Takes a failing list of choices as the best one. */
  async take(choices: readonly number[]): Promise<void> {
    const result = await this.#runs.of(choices);
    if (result.failure !== undefined) this.best = result;
  }

  /** The steps and draws of the best schedule. */
  async constraints(): Promise<readonly Constraint[]> {
    const writer = new ConstraintWriter(new Script(this.best.choices));
    this.tried++;
    await this.#runs.under(writer);
    return writer.constraints;
  }
}

function bugOf({ failure }: ScheduleResult): string | undefined {
  return failure === undefined ? undefined : identityOf(failure.error);
}

function deviationsOf({ choices }: ScheduleResult): number {
  let deviations = 0;
  for (const choice of choices) if (choice > 0) deviations++;
  return deviations;
}

function isSimpler(one: ScheduleResult, other: ScheduleResult): boolean {
  if (one.steps !== other.steps) return one.steps < other.steps;
  return deviationsOf(one) < deviationsOf(other);
}

/**
 * @param found - the failing schedule
 * @param again - a second run of it
 */
export async function minimize(runs: Runs, found: ScheduleResult, again: ScheduleResult): Promise<Minimized> {
  const candidates = new Candidates(runs, found, again);
  const isLong = (): boolean => candidates.best.steps > LONG;
  if (isLong()) await dropParts(candidates);
  await dropDeviations(candidates);
  const random = new Random(runs.plan.seed);
  while (isLong() && !candidates.isOver()) {
    const minimal = candidates.best;
    await searchShorter(candidates, random);
    await dropDeviations(candidates);
    if (candidates.best.steps >= minimal.steps) candidates.best = minimal;
  }
  const others = [...candidates.others.values()].slice(1);
  return { choices: candidates.best.choices, tried: candidates.tried, others };
}

/** Takes back deviations from the ordinary schedule, until the failure needs all that are left. */
async function dropDeviations(candidates: Candidates): Promise<void> {
  let size = Math.max(1, deviationsOf(candidates.best) >> 1);
  for (let dropped = true; dropped; size = Math.max(1, size >> 1))
    dropped = (await dropGroups(candidates, size)) || size > 1;
  if (candidates.best.steps > LONG) return;
  const choices = await shrinkChoices(
    candidates.best.choices,
    async (choices) => (await candidates.fails(new Script(choices))) !== undefined,
    Number.POSITIVE_INFINITY,
  );
  await candidates.take(choices);
}

/** Takes back so many deviations at a time. Returns whether it could. */
async function dropGroups(candidates: Candidates, size: number): Promise<boolean> {
  let dropped = false;
  // The last deviations first: those after the cause of the failure are the likeliest to be irrelevant.
  for (let end = candidates.best.choices.length; !candidates.isOver(); ) {
    const { choices } = candidates.best;
    const places = placesBefore(choices, end, size);
    if (places.length === 0) return dropped;
    end = places.at(-1) as number;
    const gone = new Set(places);
    const result = await candidates.fails(
      new Script(choices.map((choice, place) => (gone.has(place) ? 0 : choice))),
    );
    if (result === undefined) continue;
    candidates.best = result;
    dropped = true;
  }
  return false;
}

/** The places of the last `size` deviations before `end`, the last first. */
function placesBefore(choices: readonly number[], end: number, size: number): readonly number[] {
  const places: number[] = [];
  for (let place = end - 1; place >= 0 && places.length < size; place--)
    if ((choices[place] ?? 0) > 0) places.push(place);
  return places;
}

/** Leaves out parts of the schedule, the largest first, until none can be left out. */
async function dropParts(candidates: Candidates): Promise<void> {
  for (let again = true; again && !candidates.isOver(PARTS_SHARE); ) {
    again = false;
    for (const part of parts) {
      let constraints = await candidates.constraints();
      for (const drops of part(constraints)) {
        if (candidates.isOver(PARTS_SHARE)) return;
        if (!(await candidates.improve(drops(constraints)))) continue;
        again = true;
        constraints = await candidates.constraints();
      }
    }
  }
}

/** A schedule that follows some of the constraints. */
type Drop = (constraints: readonly Constraint[]) => Chooser;

/** Ways to leave something out, the largest parts first. */
const parts: readonly ((constraints: readonly Constraint[]) => Iterable<Drop>)[] = [
  tails,
  faults,
  randomNumbers,
  processes,
  chunks,
];

function without(drops: (constraint: Constraint, index: number) => boolean): Drop {
  return (constraints) => new Follower(constraints.filter((constraint, index) => !drops(constraint, index)));
}

function* tails({ length }: readonly Constraint[]): Generator<Drop> {
  for (let kept = 0; kept < 8; kept++) yield without((_, index) => index >= (length * kept) / 8);
}

function* faults(constraints: readonly Constraint[]): Generator<Drop> {
  yield without(({ draw }) => draw?.isFault === true);
  const all = constraints.filter(({ draw }) => draw?.isFault === true);
  for (const label of new Set(all.map(({ draw }) => draw?.label)))
    yield without(({ draw }) => draw?.label === label);
  for (const { address } of all.reverse()) yield without((constraint) => constraint.address === address);
}

function* randomNumbers(constraints: readonly Constraint[]): Generator<Drop> {
  const isPlain = ({ draw }: Constraint): boolean => draw?.isFault === false;
  yield without(isPlain);
  for (const actor of actorsOf(constraints))
    yield without((constraint) => isPlain(constraint) && constraint.actor === actor);
}

function* processes(constraints: readonly Constraint[]): Generator<Drop> {
  for (const actor of actorsOf(constraints)) {
    yield (given) => new Follower(given, new Set([actor]));
    yield without((constraint) => constraint.actor === actor);
  }
}

function* chunks({ length }: readonly Constraint[]): Generator<Drop> {
  for (let size = length >> 1; size >= 8; size >>= 1)
    for (let from = 0; from < length; from += size)
      yield without((_, index) => index >= from && index < from + size);
}

function actorsOf(constraints: readonly Constraint[]): readonly number[] {
  return [...new Set(constraints.flatMap(({ actor }) => (actor === undefined ? [] : [actor])))];
}

/** Follows a list of choices up to a place, and another chooser from there. */
class Branch implements Chooser {
  #next = 0;
  readonly #choices: readonly number[];
  readonly #rest: Chooser;

  constructor(choices: readonly number[], rest: Chooser) {
    this.#choices = choices;
    this.#rest = rest;
  }

  pick(tasks: readonly { readonly actor: number }[]): number {
    const choice = this.#choices[this.#next++];
    if (choice === undefined) return this.#rest.pick(tasks as never);
    return choice < tasks.length ? choice : 0;
  }

  draw(n: number, label: string, probability?: number, actor?: number): number {
    const choice = this.#choices[this.#next++];
    if (choice === undefined) return this.#rest.draw(n, label, probability, actor);
    return choice < n ? choice : 0;
  }
}

/** Looks for a schedule with the same bug that ends sooner, among variants of the best one. */
async function searchShorter(candidates: Candidates, random: Random): Promise<void> {
  for (let index = 0; index < SEARCH_TRIES && !candidates.isOver(); index++)
    await candidates.improve(variant(candidates.best, random), candidates.best.steps - 1);
}

const WALK = randomWalk();

/** A schedule that begins alike, or lacks a part, or has other values in a few places. */
function variant({ choices, sizes, steps, actors }: ScheduleResult, random: Random): Chooser {
  const way = random.below(3);
  const from = random.below(choices.length);
  if (way === 0) {
    const rest = WALK.begin(0, random, { longest: steps, actors }) as Chooser;
    return new Branch(choices.slice(0, random.below(4) === 0 ? 0 : from), rest);
  }
  if (way === 1) {
    const length = 1 + random.below(1 << (1 + random.below(8)));
    return new Script([...choices.slice(0, from), ...choices.slice(from + length)]);
  }
  const changed = [...choices];
  for (let n = 1 + random.below(3); n > 0; n--) {
    const place = random.below(choices.length);
    changed[place] = random.below(sizes[place] as number);
  }
  return new Script(changed);
}
