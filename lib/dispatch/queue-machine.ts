// The dispatches of one group that wait for a consumer, and whose turn it is. Higher priority goes first; among equals,
// those that lost a consumer; among these, first come, first served. A dispatch keeps its place until it is served or
// ends: to be offered a slot that it cannot use does not send it to the end of the queue.
//
//   wait ──▶ waiting ──slot, member──▶ woken ──▶ served, ended: leave
//                ▲                       │
//                └──────── wait ─────────┘ its routing function chose otherwise: the slot is offered on
//
// A free slot is offered to one at a time, and to each once. Most routing functions take whichever consumer is free, so
// the first takes it, and n slots cost O(n), however many wait. Those that insist on their consumer wait in a line of
// that consumer's, and are not woken for others.
//
// It changes in place, for speed, but as a pure machine would: the same calls give the same answers.

/**
 * What a dispatch takes: `any` consumer that is free; only the one that it `insists` on; or what its routing function
 * `chooses`, which nobody knows before.
 */
export type Takes = "any" | "insists" | "chooses";

/** How a dispatch waits. `C` is whatever its consumers are known by. */
export interface Demand<C> {
  /** From 0 to {@link HIGHEST_PRIORITY}. */
  readonly priority: number;
  /** It lost a consumer. */
  readonly urgent: boolean;
  readonly takes: Takes;
  /** The consumer that it chose, and that is full; undefined when there was nobody to choose. */
  readonly at: C | undefined;
  /** Consumers that it does not go to any more. */
  readonly excluded: readonly C[];
}

/** One that is to choose again, and the consumer that keeps a slot for it until it has. */
export interface Wake<W, C> {
  readonly waiter: W;
  readonly offer: C | undefined;
}

/** Highest priority of an envelope; the lowest is 0. */
export const HIGHEST_PRIORITY = 9;

const RANKS = 2 * (HIGHEST_PRIORITY + 1);

/** Places in the order of their rank, then of their coming. */
class Line<W, C> {
  readonly heads: (Place<W, C> | undefined)[] = [];
  readonly tails: (Place<W, C> | undefined)[] = [];
  size = 0;
}

class Place<W, C> {
  readonly waiter: W;
  readonly rank: number;
  wish: Demand<C>;
  line: Line<W, C> | undefined = undefined;
  /** Told to choose again, and has yet to. */
  woken = false;
  offer: C | undefined = undefined;
  /** Number of the last slot that it was offered. */
  offered = 0;
  next: Place<W, C> | undefined = undefined;
  previous: Place<W, C> | undefined = undefined;

  constructor(waiter: W, wish: Demand<C>) {
    this.waiter = waiter;
    this.wish = wish;
    this.rank = 2 * (HIGHEST_PRIORITY - wish.priority) + (wish.urgent ? 0 : 1);
  }

  wake(offer: C | undefined): Wake<W, C> {
    this.woken = true;
    this.offer = offer;
    return { waiter: this.waiter, offer };
  }
}

export class WaitingQueue<W, C> {
  private readonly capacity: number;
  private readonly places = new Map<W, Place<W, C>>();
  private readonly common = new Line<W, C>();
  /** Of those that insist on a consumer. */
  private readonly own = new Map<C, Line<W, C>>();
  private slots = 0;

  /** @param capacity - dispatches that may wait, those that are to choose again included */
  constructor(capacity: number) {
    this.capacity = capacity;
  }

  get size(): number {
    return this.places.size;
  }

  /** The consumer that keeps a slot for it. */
  offerOf(waiter: W): C | undefined {
    return this.places.get(waiter)?.offer;
  }

  /** Waits, or goes on to wait in its place. False when as many wait as may. */
  wait(waiter: W, wish: Demand<C>): boolean {
    let place = this.places.get(waiter);
    if (place === undefined) {
      if (this.places.size >= this.capacity) return false;
      place = new Place(waiter, wish);
      this.places.set(waiter, place);
    }
    place.woken = false;
    const line = wish.takes === "insists" && wish.at !== undefined ? this.lineOf(wish.at) : this.common;
    if (place.line !== line) {
      this.takeOut(place);
      append(line, place);
    }
    place.wish = wish;
    return true;
  }

  /** It is served, or has ended. */
  leave(waiter: W): void {
    const place = this.places.get(waiter);
    if (place === undefined) return;
    this.places.delete(waiter);
    this.takeOut(place);
  }

  /** One more slot of `at` is free. */
  free(at: C): Wake<W, C>[] {
    return this.offer(at, 1, ++this.slots, undefined);
  }

  /** It has chosen, with its place still kept. The slot that was kept for it, if that is free, goes to the next. */
  passOn(waiter: W, isFree: boolean): Wake<W, C>[] {
    const place = this.places.get(waiter);
    const at = place?.offer;
    if (place === undefined || at === undefined) return [];
    place.offer = undefined;
    return isFree ? this.offer(at, 1, place.offered, place) : [];
  }

  /**
   * A member is new, and has so many slots: for those that take any consumer. All others choose again, and so do those
   * that had nobody to choose.
   */
  joined(at: C, room: number): Wake<W, C>[] {
    const woken = this.offer(at, room, ++this.slots, undefined);
    woken.push(...this.wakeAll(({ takes, at: chosen }) => takes !== "any" || chosen === undefined));
    return woken;
  }

  /** A member is gone: those that chose it choose again. */
  left(at: C): Wake<W, C>[] {
    return this.wakeAll((wish) => wish.at === at);
  }

  private wakeAll(which: (wish: Demand<C>) => boolean): Wake<W, C>[] {
    const chosen = [...this.places.values()].filter(({ woken, wish }) => !woken && which(wish));
    return chosen.sort((a, b) => a.rank - b.rank).map((place) => place.wake(undefined));
  }

  /** Offers slots to those that have not been offered this one: first to those behind `after`. */
  private offer(at: C, room: number, slot: number, after: Place<W, C> | undefined): Wake<W, C>[] {
    const woken: Wake<W, C>[] = [];
    let from = after;
    while (woken.length < room) {
      const place = this.find(at, slot, from) ?? (after && this.find(at, slot, undefined));
      if (place === undefined) break;
      place.offered = slot;
      woken.push(place.wake(at));
      from = place;
    }
    return woken;
  }

  private find(at: C, slot: number, after: Place<W, C> | undefined): Place<W, C> | undefined {
    const own = this.own.get(at);
    const isHere = after !== undefined && (after.line === own || after.line === this.common);
    const begun = isHere ? after.rank : -1;
    let place = isHere ? untried(after.next, at, slot) : undefined;
    for (let rank = Math.max(begun, 0); place === undefined && rank < RANKS; rank++) {
      if (rank > begun) place = untried(own?.heads[rank], at, slot);
      if (rank > begun || after?.line === own) place ??= untried(this.common.heads[rank], at, slot);
    }
    return place;
  }

  private lineOf(at: C): Line<W, C> {
    let line = this.own.get(at);
    if (line === undefined) {
      line = new Line();
      this.own.set(at, line);
    }
    return line;
  }

  private takeOut(place: Place<W, C>): void {
    const { line, next, previous, rank, wish } = place;
    if (line === undefined) return;
    if (previous === undefined) line.heads[rank] = next;
    else previous.next = next;
    if (next === undefined) line.tails[rank] = previous;
    else next.previous = previous;
    place.next = place.previous = undefined;
    if (--line.size === 0 && wish.at !== undefined && this.own.get(wish.at) === line)
      this.own.delete(wish.at);
  }
}

function append<W, C>(line: Line<W, C>, place: Place<W, C>): void {
  const last = line.tails[place.rank];
  place.previous = last;
  if (last === undefined) line.heads[place.rank] = place;
  else last.next = place;
  line.tails[place.rank] = place;
  place.line = line;
  line.size++;
}

/** The first from here on that is not about to choose already, and may be offered this slot. */
function untried<W, C>(first: Place<W, C> | undefined, at: C, slot: number): Place<W, C> | undefined {
  let place = first;
  while (place !== undefined && (place.woken || place.offered >= slot || place.wish.excluded.includes(at)))
    place = place.next;
  return place;
}
