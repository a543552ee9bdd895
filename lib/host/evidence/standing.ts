// How hosts of one store count the lives that end at a subject without a word: pure. Each host has one row, for the subject at which its last
// watched lives ended, and how often in a row. Together the rows are evidence from the third end on, over all hosts.
//
//     an end at the subject of the row                    one more
//     an end at another subject                           the row is the other subject's, from 1
//     a life of a minute, three ends in order             the row goes
//     progress of the subject, on any host                all its rows go
//     two hosts ended last while no code with a name ran  all hosts carry names further

import { type EvidenceMark, STANDING_LIVES, UNNAMED_LIVES } from "./evidence-machine.js";

/** Where the watched lives of a host ended. */
export interface StandingEnds {
  readonly host: string;
  /** Empty: its last life ended without a word, and it is not known whose code ran. */
  readonly subject: string;
  /** How often in a row. */
  readonly times: number;
  /** So many of them have been charged to the subject. */
  readonly charged: number;
  /** Milliseconds since 1970 by the clock of the store. */
  readonly at: number;
}

/** A host that has not come back for so long is not coming: its row counts no more. */
export const STALE_MS = 3_600_000;

/**
 * The row of a host whose life has ended without a word.
 *
 * @param subject - at which the life ended, if that is one time more; undefined: the end says nothing about a subject
 */
export function ended(
  row: StandingEnds | undefined,
  host: string,
  subject: string | undefined,
  at: number,
): StandingEnds {
  if (subject === undefined) return { host, subject: "", times: 0, charged: 0, ...row, at };
  if (row?.subject !== subject) return { host, subject, times: 1, charged: 0, at };
  return { ...row, times: row.times + 1, at };
}

/** The rows that count at this time. */
export function fresh(rows: readonly StandingEnds[], now: number): readonly StandingEnds[] {
  return rows.filter(({ at }) => now - at < STALE_MS);
}

/** Whether the last ends of enough hosts said nothing about a subject. A single host needs as many such ends. */
export function isUnnamed(rows: readonly StandingEnds[]): boolean {
  return rows.filter(({ subject }) => subject === "").length >= UNNAMED_LIVES;
}

/** The evidence of the rows against a subject: the third end and each further one, as far as they have not been charged to it. */
export function chargeOf(
  rows: readonly StandingEnds[],
  subject: string,
  life: number,
): EvidenceMark | undefined {
  let times = 0;
  let charged = 0;
  let at = 0;
  for (const row of rows) {
    if (row.subject !== subject) continue;
    times += row.times;
    charged += row.charged;
    at = Math.max(at, row.at);
  }
  const ends = times - Math.max(charged, STANDING_LIVES - 1);
  return ends > 0 ? { subject, kind: "standing", at, life, ends } : undefined;
}
