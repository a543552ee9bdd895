// What the evidence of a host says, for people: which subjects it accuses or suspects, and what it waits for. Of a host that runs, from its state;
// of hosts of a file that do not run, or run elsewhere, from what they have written beside it.

import { type EvidenceMark, type EvidenceState, initial } from "./evidence-machine.js";
import { writtenBeside } from "./evidence-place.js";
import type { StandingEnds } from "./standing.js";

/** The evidence of one host. */
export interface EvidenceView {
  /** The kind of host, and its id if it keeps one. */
  readonly host: string;
  /** The number of the life of its program, from 1. */
  readonly life: number;
  /** Evidence that is not stored with its subject yet. */
  readonly marks: readonly EvidenceMark[];
  /** The last watched lives ended without a word while code of this subject ran, so often in a row. From the third on that is evidence. */
  readonly stood?: { readonly subject: string; readonly times: number };
  /** Short lives without evidence and without progress, in a row, and the longest of them. */
  readonly shortLives: { readonly lives: number; readonly longestMs: number };
  /** A search by halves: the others that were interrupted wait until it ends. */
  readonly search?: {
    /** Subjects of the half that runs. */
    readonly tested: readonly string[];
    /** Those of the other half, if lives with it were short. */
    readonly accused: readonly string[];
  };
  /** This life notes which subject runs, at each switch. */
  readonly isWatched: boolean;
  /** This life carries names into timers and callbacks. */
  readonly isCarrying: boolean;
  /** Where the lives of other hosts of the store ended. */
  readonly others: readonly StandingEnds[];
}

/** Most items of a list that are shown. */
const MOST = 100;

export function evidenceView(
  host: string,
  state: EvidenceState,
  others: readonly StandingEnds[] = [],
): EvidenceView {
  const { life, marks, stood, loop, search, isWatched, isCarrying } = state;
  return {
    ...{ host, life, marks: marks.slice(-MOST) },
    ...(stood !== undefined && { stood }),
    shortLives: loop,
    ...(search !== undefined && {
      search: { tested: first(search.tested), accused: first(search.accused) },
    }),
    ...{ isWatched, isCarrying, others: others.slice(0, MOST) },
  };
}

/** The first of a list. What a damaged file has in its place is none. */
const first = (list: unknown): readonly string[] => (Array.isArray(list) ? list.slice(0, MOST) : []);

/** The state that a host has written. Undefined: it is none, or of another version of the library. */
export function stateIn(lives: Readonly<Record<string, unknown>> | undefined): EvidenceState | undefined {
  const { token: _, host: __, ...state } = lives ?? {};
  return Number.isSafeInteger(state.life) && Array.isArray(state.marks)
    ? ({ ...initial(), ...state } as EvidenceState)
    : undefined;
}

/** What hosts of a kind have written beside the file of a store. @param file - undefined: the store has none */
export function evidenceBeside(file: string | undefined, kind: string): readonly EvidenceView[] {
  if (file === undefined) return [];
  return writtenBeside(file, kind).flatMap(({ who, lives }) => {
    const state = stateIn(parsed(lives));
    return state === undefined ? [] : [evidenceView(who, state)];
  });
}

/** An object that was written as JSON. Undefined: what was written is none. */
export function parsed(text: string | undefined): Record<string, unknown> | undefined {
  try {
    const value: unknown = text === undefined ? undefined : JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
