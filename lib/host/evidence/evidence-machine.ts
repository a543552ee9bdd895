// Finds the culprit when the program of a durable host dies again and again: pure. A program has *lives*, one after the other. A
// *subject* is a unit of work that may be blamed, such as `flow:7` or `message:orders/3`.
//
//     a life that left evidence (exit, uncaught, spin)    one mark for the subject that ran, and for no other
//     a life that code without a name ended               no mark; the next life carries names further
//     a life that left none (SIGKILL, power, a deploy)    no mark; the next life is *watched*: it notes the subject that runs, at each switch
//     two watched lives in a row whose ends have no name  no mark; the next life carries names further
//     three watched lives that end at the same subject    that and each further one is a mark: `standing` (native abort, memory)
//     a life that ended otherwise, between two of those   no matter: a stop, evidence against another, a kill while no code ran
//     a loop of short lives without progress              a search by halves: one half of the interrupted subjects runs, one waits
//
// The search is an experiment with a control. It narrows only when one half runs and the life is short, and then the other half runs
// and the life goes on. If both halves die, the cause is outside, and the search ends without a culprit. Progress clears a
// subject at once. The state is plain data: it is stored after each change, because the next life goes on from it.

import { hash } from "../../process/stable-hash.js";

/**
 * The kind of evidence for the subject that ran when a life ended:
 *
 * - `exit`: the code of the subject called `process.exit`
 * - `uncaught`: an uncaught error of its code ended the program
 * - `spin`: its code kept the thread for more than a second, until the program was killed
 * - `standing`: three lives or more in a row that ended without a word, while code of a subject ran, ended while its code ran: a native abort,
 *   memory, a native stack
 * - `search`: alone among the interrupted ones it made lives short, and lives without it went on
 */
export type EvidenceKind = "exit" | "uncaught" | "spin" | "standing" | "search";

/** Every kind of evidence. */
export const EVIDENCE_KINDS: readonly EvidenceKind[] = ["exit", "uncaught", "spin", "standing", "search"];

/** Evidence against a subject. */
export interface EvidenceMark {
  readonly subject: string;
  readonly kind: EvidenceKind;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The number of the life that ended so. */
  readonly life: number;
  /** So many ends of programs it stands for. Default: one. */
  readonly ends?: number;
}

/** How a life ended, as far as the next one can tell. */
export type LifeEnd =
  /** The host was stopped, or code of no subject ended the program. No subject is to blame. */
  | { readonly type: "clean" }
  | {
      readonly type: "evidence";
      readonly subject: string;
      readonly kind: "exit" | "uncaught" | "spin";
      readonly at: number;
    }
  /** An exit or an uncaught error whose code has no known name: a timer's or a callback's, where names are not carried so far. */
  | { readonly type: "nameless" }
  /** No evidence. `standing`: the subject whose code ran, if the life was watched and some subject's code did. */
  | { readonly type: "unknown"; readonly standing?: string; readonly at: number };

/** A search by halves among the interrupted subjects, by their hashes. */
export interface EvidenceSearch {
  /** The culprit's hash, if there is one, is `from` or more, and less than `to`. */
  readonly from: number;
  readonly to: number;
  /** The second half runs, and the first one waits. */
  readonly isSecond: boolean;
  /** Subjects of the half that runs: the first two that were let in and have not progressed. */
  readonly tested: readonly string[];
  /** Those of the first half when its life was short. Undefined: no life of this half was short. */
  readonly accused?: readonly string[];
  /** The age of this life when the half began to run, in milliseconds. */
  readonly sinceMs: number;
  /** Lives in a row that ended before any subject of the half had run. */
  readonly voids: number;
}

export interface EvidenceState {
  /** The number of this life, from 1. */
  readonly life: number;
  /** How long this life has lasted at least, in milliseconds. */
  readonly agedMs: number;
  /** A subject made progress in this life. */
  readonly hasProgressed: boolean;
  /** This life notes which subject runs. */
  readonly isWatched: boolean;
  /** The age of this life at which it is watched no more, where another host made it watch. Default: {@link WATCH_MS}. */
  readonly watchedToMs?: number;
  /** This life carries names into timers and callbacks: without them, the subjects that ended those before were not known. */
  readonly isCarrying: boolean;
  /** So many watched, short lives in a row ended without a word while no code with a name ran. Absent: none. */
  readonly unnamed?: number;
  /** Its host has stopped in order. */
  readonly isStopped: boolean;
  /** So many lives in a row ended in order: their hosts stopped, or code of no subject ended the program. */
  readonly stops: number;
  /** Evidence that is not stored with its subject yet. */
  readonly marks: readonly EvidenceMark[];
  /** The subject whose code ran when the last watched lives ended without evidence, and how often in a row. */
  readonly stood?: { readonly subject: string; readonly times: number };
  /** Short lives without evidence and without progress, in a row, and the longest of them. */
  readonly loop: { readonly lives: number; readonly longestMs: number };
  /** So many of them begin a search. */
  readonly patience: number;
  readonly search?: EvidenceSearch;
  /** Subjects that made progress: no search holds them. */
  readonly cleared: readonly string[];
}

export type EvidenceEvent =
  /**
   * A life begins. `end`: of the life before; undefined for the first one.
   * `isCounted`: at which subjects lives end is counted in the store, over all its hosts (standing.ts); this one makes no mark of it.
   */
  | { readonly type: "started"; readonly end: LifeEnd | undefined; readonly isCounted?: boolean }
  /** This life has lasted so long. Sent at {@link nextAge}. */
  | { readonly type: "aged"; readonly ms: number; readonly at: number }
  /**
   * The program of another host of the store ended without a word, and this host may take over what ran there.
   * `ms`: the age of this life. `isUnnamed`: the programs of several hosts ended so last, while no code with a name ran.
   */
  | { readonly type: "alarmed"; readonly ms: number; readonly isUnnamed?: boolean }
  /** A subject that an earlier life left behind wants to run. Answered with `let` or `hold`. */
  | { readonly type: "found"; readonly subject: string }
  /** A subject committed progress. */
  | { readonly type: "progressed"; readonly subject: string }
  /** A mark is stored with its subject. */
  | { readonly type: "taken"; readonly subject: string }
  /** The host stops in order. */
  | { readonly type: "closed" };

export type EvidenceEffect =
  /** It may run. */
  | { readonly type: "let"; readonly subject: string }
  /** It waits: `open` follows. */
  | { readonly type: "hold"; readonly subject: string }
  /** The subjects that were held may be looked at again. */
  | { readonly type: "open" }
  /** From now on the running subject is noted at each switch, or is no longer. */
  | { readonly type: "watch"; readonly on: boolean }
  /** From now on names are carried into timers and callbacks, or are no longer. */
  | { readonly type: "carry"; readonly on: boolean };

/** A life shorter than this may be one of a loop. It is measured from the alarm, in a life that another host made watch. */
export const SHORT_LIFE_MS = 60_000;
/** A watched life that lasts so long is watched no more. */
export const WATCH_MS = 300_000;
/** So many ends in order, in a row, end the watch. */
export const CALM_STOPS = 3;
/** After so many watched lives in a row that no code with a name ended, names are carried further: a kill while no code runs looks the same. */
export const UNNAMED_LIVES = 2;
/** From so many watched lives in a row on, the subject at which they end is blamed. */
export const STANDING_LIVES = 3;
/** So many short lives in a row begin a search, and after a search in vain twice as many, up to the most. */
export const SEARCH_AFTER = 5;
const SEARCH_AFTER_MOST = 80;
/** A half that ran for twice the longest life of the loop is innocent, within these limits. */
const CALM_LEAST_MS = 1_000;
const CALM_MOST_MS = SHORT_LIFE_MS;
const MOST_VOIDS = 3;
/** More marks or cleared subjects are not kept: the oldest go. */
const MOST_KEPT = 1_000;
const HASHES = 2 ** 32;

type Decision = readonly [EvidenceState, readonly EvidenceEffect[]];

export function initial(): EvidenceState {
  return {
    life: 0,
    agedMs: 0,
    hasProgressed: false,
    isWatched: false,
    isCarrying: false,
    isStopped: false,
    stops: 0,
    marks: [],
    loop: { lives: 0, longestMs: 0 },
    patience: SEARCH_AFTER,
    cleared: [],
  };
}

export function decide(state: EvidenceState, event: EvidenceEvent): Decision {
  switch (event.type) {
    case "started":
      return start(state, event.end, event.isCounted === true);
    case "aged":
      return age(state, event.ms, event.at);
    case "alarmed":
      return alarmed(state, event.ms, event.isUnnamed === true);
    case "found":
      return find(state, event.subject);
    case "progressed":
      return progress(state, event.subject);
    case "taken":
      return state.marks.some(({ subject }) => subject === event.subject)
        ? [{ ...state, marks: state.marks.filter(({ subject }) => subject !== event.subject) }, []]
        : [state, []];
    case "closed":
      return [{ ...stopped(state), isStopped: true }, []];
    default:
      return event satisfies never;
  }
}

/** The age of this life at which the next `aged` event is due, in milliseconds. Undefined: none is. */
export function nextAge({
  agedMs,
  search,
  isWatched,
  watchedToMs = WATCH_MS,
}: EvidenceState): number | undefined {
  if (search !== undefined) return agedMs + CALM_LEAST_MS;
  const sinceMs = watchedToMs - WATCH_MS;
  const lasted = agedMs - sinceMs;
  if (lasted < SHORT_LIFE_MS) return sinceMs + Math.min(SHORT_LIFE_MS, Math.max(CALM_LEAST_MS, 2 * lasted));
  return isWatched ? Math.max(watchedToMs, agedMs + 1) : undefined;
}

/** Whether the progress of a subject changes anything. It does not, most often, and flows and messages progress all the time. */
export function isNews({ hasProgressed, search, stood }: EvidenceState, subject: string): boolean {
  return !hasProgressed || search !== undefined || stood?.subject === subject;
}

/** The evidence against a subject that is not stored with its subject yet. */
export function markOf({ marks }: EvidenceState, of: string): EvidenceMark | undefined {
  return marks.find(({ subject }) => subject === of);
}

// ── lives ────────────────────────────────────────────────────────────────────────────────────────────────────────

function start(before: EvidenceState, end: LifeEnd | undefined, isCounted: boolean): Decision {
  // A stop was judged when it came.
  const isJudged = end === undefined || (end.type === "clean" && before.isStopped);
  const { watchedToMs: _, ...ended } = isJudged
    ? before
    : judged({ ...before, stops: end.type === "clean" ? before.stops : 0 }, end, isCounted);
  const state = { ...ended, life: before.life + 1, agedMs: 0, hasProgressed: false, isStopped: false };
  const effects: EvidenceEffect[] = [];
  if (state.isCarrying) effects.push({ type: "carry", on: true });
  if (state.isWatched) effects.push({ type: "watch", on: true });
  return [state, effects];
}

function alarmed(state: EvidenceState, ms: number, isUnnamed: boolean): Decision {
  const effects: EvidenceEffect[] = [];
  let next = state;
  if (!next.isWatched) {
    next = { ...next, isWatched: true, agedMs: Math.max(next.agedMs, ms), watchedToMs: ms + WATCH_MS };
    effects.push({ type: "watch", on: true });
  }
  if (isUnnamed && !next.isCarrying) {
    next = { ...next, isCarrying: true };
    effects.push({ type: "carry", on: true });
  }
  return [next, effects];
}

function judged(last: EvidenceState, end: LifeEnd, isCounted: boolean): EvidenceState {
  switch (end.type) {
    case "clean":
      // Names were known, and no subject ended the life: there is no need to carry them on.
      return { ...stopped(last), isCarrying: false };
    case "nameless": {
      const { unnamed: _, ...state } = settled(last);
      return { ...state, isCarrying: true };
    }
    case "evidence":
      return marked(
        { ...settled(last), isCarrying: isShort(last) && last.isCarrying },
        { subject: end.subject, kind: end.kind, at: end.at, life: last.life },
      );
    case "unknown":
      return unknown(last, end, isCounted);
    default:
      return end satisfies never;
  }
}

function isShort({ agedMs, watchedToMs = WATCH_MS }: EvidenceState): boolean {
  return agedMs - (watchedToMs - WATCH_MS) < SHORT_LIFE_MS;
}

/** Ended in order. A few short lives are watched like the one before: the cause of ends may have had no time to act in them. */
function stopped(last: EvidenceState): EvidenceState {
  const state = { ...settled(last), stops: last.stops + 1 };
  if (isShort(last) && state.stops < CALM_STOPS) return state;
  return { ...forgotten(state), isWatched: false, isCarrying: false };
}

/** Ends a loop and a search, and forgets the cleared subjects. Only after a long life it also forgets where lives ended. */
function settled(state: EvidenceState): EvidenceState {
  const { search: _, ...rest } = isShort(state) ? state : forgotten(state);
  return { ...rest, loop: { lives: 0, longestMs: 0 }, cleared: [] };
}

/** Forgets where watched lives ended. */
function forgotten({ stood: _, unnamed: __, ...rest }: EvidenceState): EvidenceState {
  return rest;
}

function marked(state: EvidenceState, mark: EvidenceMark): EvidenceState {
  const others = state.marks.filter(({ subject }) => subject !== mark.subject);
  return { ...state, marks: [...others, mark].slice(-MOST_KEPT) };
}

function unknown(
  last: EvidenceState,
  { standing, at }: Extract<LifeEnd, { type: "unknown" }>,
  isCounted: boolean,
): EvidenceState {
  const { search, ...rest } = isShort(last) ? last : forgotten(last);
  const state = named(stoodAt({ ...rest, isWatched: true }, standing), last, standing);
  // A kill while no code of a subject ran keeps the count of ends at a subject, and does not raise it.
  const isEvidence = !isCounted && state.stood !== rest.stood;
  if (isEvidence && state.stood !== undefined && state.stood.times >= STANDING_LIVES)
    return marked(settled(state), { subject: state.stood.subject, kind: "standing", at, life: last.life });
  if (!isShort(last)) return { ...state, loop: { lives: 0, longestMs: 0 } };
  if (search !== undefined) return died(state, search);
  return last.hasProgressed ? { ...state, loop: { lives: 0, longestMs: 0 } } : looped(state);
}

function stoodAt(state: EvidenceState, standing: string | undefined): EvidenceState {
  if (standing === undefined || !isShort(state)) return state;
  const times = state.stood?.subject === standing ? state.stood.times : 0;
  return { ...state, stood: { subject: standing, times: times + 1 } };
}

/** Whether the life after this end carries names further. Once it is known that they are needed, it does until a life is calm. */
function named(
  { unnamed: _, ...state }: EvidenceState,
  last: EvidenceState,
  standing: string | undefined,
): EvidenceState {
  if (!isShort(last)) return { ...state, isCarrying: false };
  if (last.isCarrying || standing !== undefined || !last.isWatched) return state;
  const unnamed = (last.unnamed ?? 0) + 1;
  return unnamed < UNNAMED_LIVES ? { ...state, unnamed } : { ...state, isCarrying: true };
}

function looped(state: EvidenceState): EvidenceState {
  const loop = { lives: state.loop.lives + 1, longestMs: Math.max(state.loop.longestMs, state.agedMs) };
  return loop.lives < state.patience
    ? { ...state, loop }
    : { ...state, loop, search: searching(0, HASHES, 0) };
}

// ── the search ───────────────────────────────────────────────────────────────────────────────────────────────────

function searching(from: number, to: number, sinceMs: number): EvidenceSearch {
  return { from, to, isSecond: false, tested: [], sinceMs, voids: 0 };
}

/** The life was short while a half ran. */
function died(state: EvidenceState, search: EvidenceSearch): EvidenceState {
  const { tested, isSecond } = search;
  if (tested.length === 0) {
    const voids = search.voids + 1;
    return voids < MOST_VOIDS ? { ...state, search: { ...search, sinceMs: 0, voids } } : inVain(state);
  }
  // Lives are short with either half: the cause is not among them.
  if (isSecond) return inVain(state);
  return {
    ...state,
    search: { ...search, isSecond: true, accused: tested, tested: [], sinceMs: 0, voids: 0 },
  };
}

function inVain(state: EvidenceState): EvidenceState {
  return { ...settled(state), patience: Math.min(SEARCH_AFTER_MOST, 2 * state.patience) };
}

function middle({ from, to }: EvidenceSearch): number {
  return Math.floor((from + to) / 2);
}

function find(state: EvidenceState, subject: string): Decision {
  const { search, cleared } = state;
  if (search === undefined || cleared.includes(subject)) return [state, [{ type: "let", subject }]];
  const at = hash(subject);
  if (at < search.from || at >= search.to) return [state, [{ type: "let", subject }]];
  if (at >= middle(search) !== search.isSecond) return [state, [{ type: "hold", subject }]];
  const { tested } = search;
  // Two are enough to know that there is more than one.
  const isKnown = tested.length > 1 || tested.includes(subject);
  const next = isKnown ? state : { ...state, search: { ...search, tested: [...tested, subject] } };
  return [next, [{ type: "let", subject }]];
}

function age(state: EvidenceState, ms: number, at: number): Decision {
  if (ms <= state.agedMs) return [state, []];
  const older: EvidenceState = { ...state, agedMs: ms };
  const aged = isShort(older) ? older : forgotten(older);
  if (aged.search !== undefined) return searched(aged, aged.search, at);
  const { watchedToMs = WATCH_MS, ...rest } = aged;
  if (!aged.isWatched || ms < watchedToMs) return [aged, []];
  const ended: readonly EvidenceEffect[] = aged.isCarrying ? [{ type: "carry", on: false }] : [];
  return [
    { ...settled(rest), isWatched: false, isCarrying: false },
    [{ type: "watch", on: false }, ...ended],
  ];
}

/** Whether the half that runs is innocent by now, and what follows. */
function searched(state: EvidenceState, search: EvidenceSearch, at: number): Decision {
  const calmMs = Math.min(CALM_MOST_MS, Math.max(CALM_LEAST_MS, 2 * state.loop.longestMs));
  const { from, to, isSecond, accused, sinceMs } = search;
  if (state.agedMs - sinceMs < calmMs) return [state, []];
  const half = middle(search);
  const open: readonly EvidenceEffect[] = [{ type: "open" }];
  if (!isSecond) return [narrowed(state, half, to), open];
  // The first half was short-lived, and this one is not: the culprit is there.
  const [culprit, other] = accused ?? [];
  if (culprit === undefined || other !== undefined) return [narrowed(state, from, half), open];
  const mark: EvidenceMark = { subject: culprit, kind: "search", at, life: state.life };
  return [marked(settled(state), mark), open];
}

function narrowed(state: EvidenceState, from: number, to: number): EvidenceState {
  return to - from > 1 ? { ...state, search: searching(from, to, state.agedMs) } : inVain(state);
}

function progress(state: EvidenceState, subject: string): Decision {
  if (!isNews(state, subject)) return [state, []];
  const { stood, ...rest } = state;
  const next = { ...(stood?.subject === subject ? rest : state), hasProgressed: true };
  const { search } = next;
  if (search === undefined) return [next, []];
  const cleared = next.cleared.includes(subject)
    ? next.cleared
    : [...next.cleared, subject].slice(-MOST_KEPT);
  const without = (list: readonly string[]): readonly string[] => list.filter((one) => one !== subject);
  const { accused, ...others } = search;
  const tested = without(search.tested);
  const left = accused === undefined ? {} : { accused: without(accused) };
  return [{ ...next, cleared, search: { ...others, tested, ...left } }, []];
}
