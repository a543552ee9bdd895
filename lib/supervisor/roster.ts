// The children of one supervisor in start order, found by id and by pid in constant time, however many there are.
//
// A roster is a value: a change returns a new roster and leaves the old one as it was. All versions share one table, and
// the newest version changes the table in place. An older version stores how it differs from its successor, and takes
// the table back when code reads the older version. (H. Baker, "Shallow binding makes functional arrays fast", 1991.)

import { invariant } from "../process/invariant.js";
import { type ExitReason, SHUTDOWN } from "../process/reason.js";
import type { FullChildSpec } from "./child.js";
import type { ChildStatus } from "./protocol.js";

/** One child. */
export interface Child<P> {
  readonly spec: FullChildSpec;
  readonly status: ChildStatus;
  readonly pid: P | undefined;
  /** The reason of the child's last exit. */
  readonly failure: ExitReason;
  /** The time of the child's last start. */
  readonly since: number;
  /** How often the child was restarted without running for the reset time of the backoff in between. */
  readonly attempts: number;
  /** With backoff: the time of the next start. A `resume` before this time belongs to a wait that was abandoned. */
  readonly dueAt: number;
}

/** A child that has not run yet. */
export function newChild<P>(spec: FullChildSpec): Child<P> {
  return { spec, status: "stopped", pid: undefined, failure: SHUTDOWN, since: 0, attempts: 0, dueAt: 0 };
}

class Table<P> {
  /** In start order. The place of a removed child stays empty. */
  readonly children: (Child<P> | undefined)[] = [];
  readonly byId = new Map<string, number>();
  readonly byPid = new Map<P, number>();
  /** Significant children that are not stopped. */
  significant = 0;

  /**
   * Puts a child, or nothing, in a place. Returns the former content of the place. Putting that content back restores
   * the table.
   */
  put(place: number, child: Child<P> | undefined): Child<P> | undefined {
    const before = this.children[place];
    if (before !== undefined) {
      if (before.spec.id !== child?.spec.id) this.byId.delete(before.spec.id);
      if (before.pid !== undefined) this.byPid.delete(before.pid);
      if (isUpAndSignificant(before)) this.significant--;
    }
    this.children[place] = child;
    if (child !== undefined) {
      invariant((child.status === "running") === (child.pid !== undefined), "only a running child has a pid");
      if (before === undefined) this.byId.set(child.spec.id, place);
      if (child.pid !== undefined) this.byPid.set(child.pid, place);
      if (isUpAndSignificant(child)) this.significant++;
    }
    return before;
  }
}

function isUpAndSignificant({ spec, status }: Child<unknown>): boolean {
  return spec.significant && status !== "stopped";
}

/** The difference between a version and its successor. */
interface Change<P> {
  readonly place: number;
  readonly child: Child<P> | undefined;
  readonly next: Roster<P>;
}

export class Roster<P> {
  /**
   * The table, in the version that holds it. In every other version, the next step towards the version that holds the
   * table.
   */
  #held: Table<P> | Change<P>;

  private constructor(held: Table<P>) {
    this.#held = held;
  }

  static of<P>(children: Iterable<Child<P>>): Roster<P> {
    const table = new Table<P>();
    for (const child of children) table.put(table.children.length, child);
    return new Roster(table);
  }

  get size(): number {
    return this.#table.byId.size;
  }

  /** Significant children that are not stopped. */
  get significant(): number {
    return this.#table.significant;
  }

  get(id: string): Child<P> | undefined {
    return this.#at(this.#table.byId.get(id));
  }

  byPid(pid: P): Child<P> | undefined {
    return this.#at(this.#table.byPid.get(pid));
  }

  /** The place of a child in start order, or -1. Places between children may be empty. */
  placeOf(id: string): number {
    return this.#table.byId.get(id) ?? -1;
  }

  /** The place behind the last child. */
  get end(): number {
    return this.#table.children.length;
  }

  /** The children in the places from `from` up to, but not including, `to`. */
  range(from: number, to: number): readonly Child<P>[] {
    return this.#table.children.slice(from, to).filter((child) => child !== undefined);
  }

  /** A roster in which `child` replaces the child of the same id, or comes last. */
  set(child: Child<P>): Roster<P> {
    const { byId, children } = this.#table;
    const place = byId.get(child.spec.id);
    // There are more empty places than children, so a new table without them is built.
    if (place === undefined && children.length > 2 * byId.size + ROOMY) return Roster.of([...this, child]);
    return this.#change(place ?? children.length, child);
  }

  /** A roster without the child of this id. */
  without(id: string): Roster<P> {
    const place = this.placeOf(id);
    return place < 0 ? this : this.#change(place, undefined);
  }

  /**
   * The children that are not what they were in an earlier version, as they were and as they are. It costs as much as there are changes
   * between the two.
   */
  changedSince(
    before: Roster<P>,
  ): readonly (readonly [was: Child<P> | undefined, is: Child<P> | undefined])[] {
    const places = new Set<number>();
    // Otherwise the table was built anew in between.
    const isShared = before.#follow(places) === this.#follow(places);
    const then = isShared ? before.#in(places) : [...before];
    const now = isShared ? this.#in(places) : [...this];
    const changed = new Map<string, readonly [Child<P> | undefined, Child<P> | undefined]>();
    for (const was of then) changed.set(was.spec.id, [was, undefined]);
    for (const is of now) changed.set(is.spec.id, [changed.get(is.spec.id)?.[0], is]);
    return [...changed.values()].filter(([was, is]) => was !== is);
  }

  #in(places: ReadonlySet<number>): readonly Child<P>[] {
    const { children } = this.#table;
    return [...places].map((place) => children[place]).filter((child) => child !== undefined);
  }

  /** Adds the places in which this version differs from the one that holds the table, and gives the table. */
  #follow(places: Set<number>): Table<P> {
    let holder: Roster<P> = this;
    for (; !(holder.#held instanceof Table); holder = holder.#held.next) places.add(holder.#held.place);
    return holder.#held;
  }

  [Symbol.iterator](): Iterator<Child<P>> {
    return this.range(0, this.end)[Symbol.iterator]();
  }

  #at(place: number | undefined): Child<P> | undefined {
    return place === undefined ? undefined : this.#table.children[place];
  }

  #change(place: number, child: Child<P> | undefined): Roster<P> {
    const table = this.#table;
    const next = new Roster(table);
    this.#held = { place, child: table.put(place, child), next };
    return next;
  }

  /** The table in the state of this version. The version that holds the table passes it on, version by version. */
  get #table(): Table<P> {
    if (this.#held instanceof Table) return this.#held;
    const way: Roster<P>[] = [];
    let holder: Roster<P> = this;
    for (; !(holder.#held instanceof Table); holder = holder.#held.next) way.push(holder);
    const table = holder.#held;
    for (const older of way.reverse()) {
      const { place, child } = older.#held as Change<P>;
      holder.#held = { place, child: table.put(place, child), next: older };
      older.#held = table;
      holder = older;
    }
    return table;
  }
}

/** Up to this many empty places are not worth a new table. */
const ROOMY = 32;
