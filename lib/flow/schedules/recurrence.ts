// When something recurs: a pure function from a time to the next due time. Cron expressions are one kind; see cron.ts.

/** The due times of a schedule. */
export interface Recurrence {
  /** The first due time after this one, both in milliseconds since 1970. Undefined: there is none. */
  next(afterMs: number): number | undefined;
}

/**
 * Due each time that the milliseconds since 1970 are a multiple of `everyMs`. So the due times depend neither on when a host
 * started nor on which host asks: `every: "1 hour"` is due on the hour, in UTC.
 */
export function every(everyMs: number): Recurrence {
  return { next: (after) => (Math.floor(after / everyMs) + 1) * everyMs };
}

/** Due at these times, in milliseconds since 1970, and never again. */
export function atTimes(times: readonly number[]): Recurrence {
  const sorted = [...times].sort((a, b) => a - b);
  return { next: (after) => sorted.find((at) => at > after) };
}

/** Due times within a span. */
export interface Dues {
  /** The latest of them, in order. */
  readonly times: readonly number[];
  /** There are earlier ones in the span. */
  readonly cut: boolean;
}

/** Where {@link latest} looks first, in milliseconds before the end: the finest cron expressions are due each second. */
const FIRST_LOOK_MS = 1_000;

/**
 * The latest due times after `after`, up to `upTo` inclusive, `most` at most. It looks back from the end, over spans that double, so
 * that a schedule of each minute needs no million steps after a year of downtime.
 */
export function latest(recurrence: Recurrence, after: number, upTo: number, most: number): Dues {
  for (let span = FIRST_LOOK_MS; ; span *= 2) {
    const from = Math.max(after, upTo - span);
    const times: number[] = [];
    let more = false;
    for (let at = recurrence.next(from); at !== undefined && at <= upTo; at = recurrence.next(at)) {
      times.push(at);
      if (times.length > most) {
        times.shift();
        more = true;
      }
    }
    if (more || from <= after) return { times, cut: more };
  }
}
