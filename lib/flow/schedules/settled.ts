// The settled due times of a schedule: spans of time, each without its lower bound and with its upper one. Due times that a jump of the
// clock left out lie in a gap between two spans, and are open again when the clock comes back to them.

import type { Recurrence } from "./recurrence.js";

/** All due times after the first number, up to the second one inclusive. Milliseconds since 1970. */
export type Span = readonly [after: number, upTo: number];

/** Apart, and in order. */
export type Settled = readonly Span[];

/** Most spans of a schedule. A clock that is right makes one; each jump that skips due times makes one more. */
export const MOST_SPANS = 32;

/** With a further span, which lies behind none that holds part of it. `now` is what the clock shows. */
export function withSpan(settled: Settled, [after, upTo]: Span, now: number): Settled {
  if (upTo <= after) return settled;
  const apart = settled.filter(([from, to]) => to < after || from > upTo);
  const met = settled.filter(([from, to]) => to >= after && from <= upTo);
  const joined: Span = [
    Math.min(after, ...met.map(([from]) => from)),
    Math.max(upTo, ...met.map(([, to]) => to)),
  ];
  const spans = [...apart, joined].sort(([one], [other]) => one - other);
  return spans.length > MOST_SPANS ? closed(spans, narrowest(spans, now)) : spans;
}

/** The upper end of the last span that begins below `now`, but not later than `now`. Undefined: there is none. */
export function settledBefore(settled: Settled, now: number): number | undefined {
  const last = settled.findLast(([after]) => after < now);
  return last && Math.min(last[1], now);
}

/** The due times that are not settled. */
export function open(recurrence: Recurrence, settled: Settled): Recurrence {
  const next = (after: number): number | undefined => {
    let due = recurrence.next(after);
    for (;;) {
      const at = due;
      const span = at === undefined ? undefined : settled.find(([from, to]) => from < at && at <= to);
      if (span === undefined) return due;
      due = recurrence.next(span[1]);
    }
  };
  return { next };
}

/** The gap to give up: the earliest one that has passed, because only a clock that is set back reaches it; else the narrowest one. */
function narrowest(spans: Settled, now: number): number {
  if ((spans[1] as Span)[0] <= now) return 0;
  const widths = spans.slice(1).map(([after], i) => after - (spans[i] as Span)[1]);
  return widths.indexOf(Math.min(...widths));
}

/** The gap behind this span counts as settled: a due time never starts twice. */
function closed(spans: Settled, at: number): Settled {
  const joined: Span = [(spans[at] as Span)[0], (spans[at + 1] as Span)[1]];
  return [...spans.slice(0, at), joined, ...spans.slice(at + 2)];
}
