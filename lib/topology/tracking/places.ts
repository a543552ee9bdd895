// The places of the tuples that a bolt with windows gets for each tuple of a spout. Each of its tasks has windows of its own, so a
// tuple has a home: the task that it came to first. Every later try of the tuple belongs there, even if it comes to another task.
//
//             claim                    back
//   (nothing) ─────▶ with its home ◀────────── lost
//                      │  │  └───────lose────────▲
//                      │  └─▶ in a window, and then perhaps in another
//                      └────▶ done: every window of it was handed over
//
// A place lives as long as the spout's tuple is pending. There is no clock: the caller passes the time. The state changes in
// place, for speed, but deterministically: the same calls give the same answers.

import { keyHash } from "../definition/key-hash.js";
import { type PendingTuple, traceOf } from "./pending-tuple.js";

/** A tuple as it comes to a task, or fails on its way there. */
export interface Arriving {
  /** The spout's tuple that it descends from. */
  readonly pending: PendingTuple;
  /** The try that it belongs to: half of the id of the try's root. */
  readonly attempt: number;
  /** The stream that it came by: `component.stream`. */
  readonly input: string;
  /** Decides its windows. */
  readonly time: number;
  readonly values: object;
  readonly task: number;
  /** Another task may have got it at another try. Otherwise each task has places of its own. */
  readonly roams: boolean;
}

/** The place of one tuple, the same at every try. */
export interface Place {
  /** The bolt that this belongs to. */
  readonly bolt: Places;
  readonly pending: PendingTuple;
  readonly input: string;
  readonly time: number;
  readonly values: object;
  /** The home. */
  task: number;
  /** The last try that took the place. */
  attempt: number;
  /** The tuple failed before its last window. Its home waits for the next try. */
  isLost: boolean;
  /** When it was lost last. */
  since: number;
  /** It is in the heap of its home. */
  queued: boolean;
  /** A window was handed over with the tuple. */
  windowed: boolean;
  /** All of its windows were handed over with it. */
  done: boolean;
  /** A window with the tuple has lost its result, and cannot be handed over again. */
  isBroken: boolean;
  /** Hash of the values, when there was something to compare. */
  hash: number | undefined;
}

/** The places of one bolt. */
export class Places {
  /** The place of an arriving tuple: that of an earlier try of it or, if there is none, a new one with this task as home. */
  claim(arriving: Arriving): Place {
    const { pending, attempt, input, time, values, task } = arriving;
    const trace = traceOf(pending);
    const known = trace.trees.length === 0 ? undefined : this.find(arriving);
    if (known !== undefined) {
      known.attempt = attempt;
      return known;
    }
    const place: Place = {
      bolt: this,
      pending,
      input,
      time,
      values,
      task,
      attempt,
      isLost: false,
      since: 0,
      queued: false,
      windowed: false,
      done: false,
      isBroken: false,
      hash: undefined,
    };
    trace.places.push(place);
    return place;
  }

  /**
   * The place that an earlier or a later try has taken; undefined when there is none. Several tuples of one time may descend
   * from one tuple of a spout: of these the one with the same values is meant, and the task's own before that of another.
   */
  find(arriving: Arriving): Place | undefined {
    const { pending, attempt, input, time, task, roams } = arriving;
    const trace = traceOf(pending);
    const { places } = trace;
    let best: Place | undefined;
    let bestRank = 0;
    for (let i = 0; i < places.length; i++) {
      // Tuples come in about the same order at every try, so the search goes on where the last one ended.
      const at = (trace.next + i) % places.length;
      const place = places[at] as Place;
      if (place.time !== time || place.bolt !== this || place.attempt === attempt) continue;
      if (place.input !== input || !(roams || place.task === task)) continue;
      const rank = 1 + (isLike(place, arriving) ? 2 : 0) + (place.task === task ? 1 : 0);
      if (rank <= bestRank) continue;
      best = place;
      bestRank = rank;
      trace.next = at + 1;
      if (rank === 4) break;
    }
    return best;
  }
}

function isLike(place: Place, { values }: Arriving): boolean {
  if (place.values === values) return true;
  place.hash ??= hashOf(place.values);
  return place.hash === hashOf(values);
}

/** Values that cannot be hashed are as good as any other. */
function hashOf(values: object): number {
  try {
    return keyHash(Object.keys(values))(values as Readonly<Record<string, unknown>>);
  } catch {
    return 0;
  }
}
