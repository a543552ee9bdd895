// The children of one supervisor in start order, found by id and by pid in constant time, however many there are.
//
// A roster is a value: a change gives a new one, and leaves the old one as it was. All versions share one table, which
// the newest changes in place; an older one knows how it differs from its successor, and takes the table back when
// somebody looks at it. (H. Baker, "Shallow binding makes functional arrays fast", 1991.)

import { invariant } from "../process/invariant.js";
import { type ExitReason, SHUTDOWN } from "../process/reason.js";
import type { FullChildSpec } from "./child.js";
import type { ChildStatus } from "./protocol.js";

/** One child. */
export interface Child<P> {
  readonly spec: FullChildSpec;
  readonly status: ChildStatus;
  readonly pid: P | undefined;
  /** What it last ended of. */
  readonly failure: ExitReason;
  /** When it last came up. */
  readonly since: number;
  /** How often it was started again without a calm time between. */
  readonly attempts: number;
  /** With backoff: when its next start is due. A `resume` that comes before is of a wait that was given up. */
  readonly dueAt: number;
}

/** A child that has yet to run. */
export function newChild<P>(spec: FullChildSpec): Child<P> {
  return { spec, status: "stopped", pid: undefined, failure: SHUTDOWN, since: 0, attempts: 0, dueAt: 0 };
}

class Table<P> {
  /** In start order; the places of those that were taken out stay empty. */
  readonly children: (Child<P> | undefined)[] = [];
  readonly byId = new Map<string, number>();
  readonly byPid = new Map<P, number>();
  /** Significant children that are not stopped. */
  significant = 0;

  /** Puts a child in a place, or none. Gives what was there: put that back, and everything is as before. */
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

/** How a version differs from the one that was made of it. */
interface Change<P> {
  readonly place: number;
  readonly child: Child<P> | undefined;
  readonly next: Roster<P>;
}

export class Roster<P> {
  /** The table, in the version that holds it; in all others, the way to it. */
  private held: Table<P> | Change<P>;

  private constructor(held: Table<P>) {
    this.held = held;
  }

  static of<P>(children: Iterable<Child<P>>): Roster<P> {
    const table = new Table<P>();
    for (const child of children) table.put(table.children.length, child);
    return new Roster(table);
  }

  get size(): number {
    return this.table.byId.size;
  }

  /** Significant children that are not stopped. */
  get significant(): number {
    return this.table.significant;
  }

  get(id: string): Child<P> | undefined {
    return this.at(this.table.byId.get(id));
  }

  byPid(pid: P): Child<P> | undefined {
    return this.at(this.table.byPid.get(pid));
  }

  /** Where a child stands in start order; places between children may be empty. */
  placeOf(id: string): number {
    return this.table.byId.get(id) ?? -1;
  }

  /** The place behind the last child. */
  get end(): number {
    return this.table.children.length;
  }

  /** The children in places `from` to before `to`. */
  range(from: number, to: number): readonly Child<P>[] {
    return this.table.children.slice(from, to).filter((child) => child !== undefined);
  }

  /** With this child in the place of the one of its id, or as the last. */
  set(child: Child<P>): Roster<P> {
    const { byId, children } = this.table;
    const place = byId.get(child.spec.id);
    // More empty places than children: time for a table without them.
    if (place === undefined && children.length > 2 * byId.size + ROOMY) return Roster.of([...this, child]);
    return this.change(place ?? children.length, child);
  }

  /** Without the child of this id. */
  without(id: string): Roster<P> {
    const place = this.placeOf(id);
    return place < 0 ? this : this.change(place, undefined);
  }

  [Symbol.iterator](): Iterator<Child<P>> {
    return this.range(0, this.end)[Symbol.iterator]();
  }

  private at(place: number | undefined): Child<P> | undefined {
    return place === undefined ? undefined : this.table.children[place];
  }

  private change(place: number, child: Child<P> | undefined): Roster<P> {
    const { table } = this;
    const next = new Roster(table);
    this.held = { place, child: table.put(place, child), next };
    return next;
  }

  /** The table, as this version has it: whoever holds it passes it on, version by version. */
  private get table(): Table<P> {
    if (this.held instanceof Table) return this.held;
    const way: Roster<P>[] = [];
    let holder: Roster<P> = this;
    for (; !(holder.held instanceof Table); holder = holder.held.next) way.push(holder);
    const table = holder.held;
    for (const older of way.reverse()) {
      const { place, child } = older.held as Change<P>;
      holder.held = { place, child: table.put(place, child), next: older };
      older.held = table;
      holder = older;
    }
    return table;
  }
}

/** Empty places that are not worth a new table. */
const ROOMY = 32;
