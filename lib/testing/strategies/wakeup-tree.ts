// Wakeup trees: Abdulla, Aronsson, Jonsson and Sagonas, "Source Sets: A Foundation for Optimal Dynamic Partial Order Reduction",
// 2017. A branch is the beginning of a schedule that is not equivalent to any explored one.

import { type Deed, dependent } from "./dependence.js";

/** A step that is to be run. */
export interface Planned {
  /** Names its task. */
  readonly key: string;
  /** Unknown if the task has not run yet. */
  readonly deed: Deed | undefined;
  /** The steps that are to follow, each in a schedule of its own. */
  readonly after: Planned[];
  /** Any task may follow. */
  isFree: boolean;
  /** It was not known what the step does: no other plan counts as equivalent. */
  isGuess: boolean;
}

/** What may follow a step. */
export type Following = Pick<Planned, "after" | "isFree" | "isGuess">;

/** A step that can run in another place than that in which it ran. */
export interface Movable {
  readonly key: string;
  /** Unknown for a task that did not run. It may depend on everything. */
  readonly deed: Deed | undefined;
  /** Its index in the schedule in which it ran. */
  readonly index: number;
  /** It may do something else in the new place. */
  readonly isGuess?: boolean;
}

export type Precedes = (early: number, late: number) => boolean;

/** Whether a step can come first of a sequence. */
export function isInitial(sequence: readonly Movable[], place: number, precedes: Precedes): boolean {
  const { index } = sequence[place] as Movable;
  for (let i = 0; i < place; i++) if (precedes((sequence[i] as Movable).index, index)) return false;
  return true;
}

/** Whether a step is independent of a whole sequence. */
export function isApart(sequence: readonly Movable[], deed: Deed): boolean {
  return sequence.every((step) => step.deed !== undefined && !dependent(step.deed, deed));
}

/**
 * Whether a planned step can come first of every continuation of a sequence (a weak initial): it is a step of the sequence that
 * nothing precedes, or a task that is independent of the sequence and has to run at some time. Returns its place in the sequence, or -1 if it is no step of it; undefined if it cannot come first.
 */
function weakInitial(sequence: readonly Movable[], one: Planned, precedes: Precedes): number | undefined {
  const place = sequence.findIndex(({ key }) => key === one.key);
  if (place >= 0) {
    // Before the others it might do something else.
    if ((sequence[place] as Movable).isGuess === true && place > 0) return undefined;
    return isInitial(sequence, place, precedes) ? place : undefined;
  }
  return one.deed !== undefined && isApart(sequence, one.deed) ? -1 : undefined;
}

/** Whether the search from a planned state is complete in itself: something goes on that each schedule has to run. */
function isSolid({ isFree, isGuess, after }: Following): boolean {
  return (isFree && !isGuess) || after.some(isSolid);
}

/**
 * Adds a sequence to the plans of a state, unless a planned one is the beginning of an equivalent sequence. Returns whether the
 * result would be the same without the steps after `end`.
 */
export function plan(
  plans: Planned[],
  sequence: readonly Movable[],
  precedes: Precedes,
  end: number,
): boolean {
  let level: Following = { after: plans, isFree: false, isGuess: false };
  let left = sequence;
  let isSame = true;
  // Whether nothing that is planned before the sequence can be independent of it.
  let isSure = sequence.at(-1)?.deed !== undefined;
  while (left.length > 0) {
    if (level.isFree && !level.isGuess) return isSame;
    let next: Planned | undefined;
    for (const one of level.after) {
      const found = weakInitial(left, one, precedes);
      if (found === undefined) {
        isSure &&= !mayBeApart(left, one);
        continue;
      }
      next = one;
      isSame &&= found >= 0 && (left[found] as Movable).index <= end;
      if (found >= 0) left = left.filter((_, i) => i !== found);
      break;
    }
    if (next === undefined) {
      add(level.after, chained(left, !isSure));
      return isSame && left.every(({ index }) => index <= end);
    }
    level = next;
  }
  if (!isSolid(level)) {
    level.isFree = true;
    level.isGuess = !isSure;
  }
  return isSame;
}

/**
 * Adds a plan. A plan with a known step of a task goes in front of the task's plan whose step is unknown, the guess. If the guess is free,
 * each known plan of the task becomes free and a guess too, unless it is solid.
 */
function add(plans: Planned[], one: Planned): void {
  const place = plans.findIndex(({ key, deed }) => key === one.key && deed === undefined);
  const guess = one.deed === undefined ? one : plans[place];
  plans.splice(place < 0 ? plans.length : place, 0, one);
  if (guess === undefined || !guess.isFree) return;
  for (const known of plans) {
    if (known.key !== one.key || known.deed === undefined || isSolid(known)) continue;
    known.isFree = true;
    known.isGuess = true;
  }
}

/** Whether a planned task can turn out to be independent of a sequence. */
function mayBeApart(sequence: readonly Movable[], { key, deed }: Planned): boolean {
  if (sequence.some((step) => step.key === key)) return false;
  return deed === undefined || isApart(sequence, deed);
}

/** A plan to run a task, with anything after it. */
export function anyOf(key: string): Planned {
  return { key, deed: undefined, after: [], isFree: true, isGuess: false };
}

/** A plan of one sequence. */
function chained(sequence: readonly Movable[], isGuess: boolean): Planned {
  let next: Planned | undefined;
  for (let i = sequence.length - 1; i >= 0; i--) {
    const { key, deed } = sequence[i] as Movable;
    const isLast = next === undefined;
    next = {
      key,
      deed,
      after: next === undefined ? [] : [next],
      isFree: isLast,
      isGuess: isLast && isGuess,
    };
  }
  return next as Planned;
}
