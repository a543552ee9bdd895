// Who is accused of the ends of a program, from the rules of decisions 120, 148 and 166: by looks at its whole past, where the library keeps a
// state. Searches by halves are not in it: a test says who the culprit is, and no search may name another one.

import {
  CALM_STOPS,
  type EvidenceKind,
  SEARCH_AFTER,
  SHORT_LIFE_MS,
  STANDING_LIVES,
  UNNAMED_LIVES,
  WATCH_MS,
} from "../../lib/host/evidence/evidence-machine.js";

/** A life of a program that has ended. */
export interface PastLife {
  /**
   * - `stop`: its hosts stopped
   * - `left`: by code of no subject
   * - `word`: the program says that code ended it, how, and of which subject, if that is known
   * - `silence`: no word, by what code does or by a kill
   */
  readonly end: "stop" | "left" | "word" | "silence";
  /** Whose code ran at the end. */
  readonly by?: string;
  /** Of a word. */
  readonly kind?: EvidenceKind;
  readonly ageMs: number;
  /** Who committed progress in it. */
  readonly progressed: readonly string[];
}

/** A mark that a subject gets for the end of a life. */
export interface ModelMark {
  /** From 1. */
  readonly life: number;
  readonly subject: string;
  readonly kind: EvidenceKind;
}

const isShort = ({ ageMs }: PastLife): boolean => ageMs < SHORT_LIFE_MS;
const isInOrder = ({ end }: PastLife): boolean => end === "stop" || end === "left";

/** Whether it is noted who runs in a life: from an end without a word on, until it was calm for long, or three times in a row. */
export function isWatched(past: readonly PastLife[], life: number): boolean {
  const before = past.slice(0, life - 1);
  const silence = before.findLastIndex(({ end }) => end === "silence");
  return silence >= 0 && before.every((_, at) => at <= silence || !isCalm(before, at));
}

/** Whether names reach timers and callbacks in a life: an end asked for it, and since then no life lasted for a minute or ended in order. */
export function carriesNames(past: readonly PastLife[], life: number): boolean {
  // Of each life up to this one.
  const carried = [false];
  for (let at = 0; at < life - 1; at++) {
    const one = past[at] as PastLife;
    const isOver = !isShort(one) || one.end === "left" || isCalm(past, at);
    carried.push(asksForNames(past, at, carried) || (carried[at] === true && !isOver));
  }
  return carried[life - 1] === true;
}

/** Code without a name ended a life, or may have ended some in a row that carried no names. */
function asksForNames(past: readonly PastLife[], at: number, carried: readonly boolean[]): boolean {
  const { end, by } = past[at] as PastLife;
  if (end === "word") return by === undefined;
  if (end !== "silence") return false;
  let unnamed = 0;
  for (let i = at; i >= 0 && unnamed < UNNAMED_LIVES; i--) {
    const one = past[i] as PastLife;
    // Where names were carried, an end without one is no subject's, and the count starts anew.
    if (!isShort(one) || isCalm(past, i) || carried[i] === true) return false;
    if (one.end !== "silence") continue;
    if (one.by !== undefined) return false;
    if (isWatched(past, i + 1)) unnamed++;
  }
  return unnamed >= UNNAMED_LIVES;
}

/** Short lives in a row, without a word and without progress: a search by halves looks into them. */
export function isLoop(past: readonly PastLife[]): boolean {
  let silent = 0;
  for (const one of past) {
    silent = one.end === "silence" && isShort(one) && one.progressed.length === 0 ? silent + 1 : 0;
    if (silent >= SEARCH_AFTER) return true;
  }
  return false;
}

/** Nothing is looked for any more after it. */
function isCalm(past: readonly PastLife[], at: number): boolean {
  const one = past[at] as PastLife;
  if (!isInOrder(one)) return one.ageMs >= WATCH_MS;
  const row = past.slice(Math.max(0, at + 1 - CALM_STOPS), at + 1);
  return !isShort(one) || (row.length === CALM_STOPS && row.every(isInOrder));
}

/** Every mark that is due for these lives, in their order. */
export function marksOf(past: readonly PastLife[]): readonly ModelMark[] {
  return past.flatMap((one, index): readonly ModelMark[] => {
    const { end, by, kind = "standing" } = one;
    const life = index + 1;
    if (by === undefined || isInOrder(one)) return [];
    if (end === "word") return [{ life, subject: by, kind }];
    return timesStood(past, life, by) >= STANDING_LIVES ? [{ life, subject: by, kind: "standing" }] : [];
  });
}

/** How many lives up to this one, without another one between them, ended without a word while this subject's code ran. */
function timesStood(past: readonly PastLife[], life: number, subject: string): number {
  let times = 0;
  for (let at = life; at > 0; at--) {
    const one = past[at - 1] as PastLife;
    const isNoted = one.end === "silence" && one.by !== undefined && isWatched(past, at);
    if (!isShort(one) || isCalm(past, at - 1) || (isNoted && one.by !== subject)) return times;
    if (isNoted) times++;
    if (one.progressed.includes(subject)) return times;
  }
  return times;
}
