// The footprint of each step: the keys of what it reads and writes, by the table in lib/process/shared-state.ts. A search that skips
// orders of steps needs them; for all others nothing is collected.

import { isGone } from "../../process/entries.js";
import type { WatchedProcess } from "../../process/intercepted.js";
import { READY } from "../../process/process-state.js";
import type { Access } from "../../process/shared-state.js";
import type { Footprint } from "../strategies/strategy.js";
import type { Actor } from "./actor.js";
import type { Oracle } from "./oracle.js";

/** Footprint key of all that code may share without saying so. A step that may use anything writes it. */
export const UNDECLARED = "io";

/** The mailbox of an actor, a channel, or what the code of an actor awaits. */
type Queue = "m" | "d" | "r";

export class Footprints {
  /** Whether the strategy needs footprints. */
  private readonly observe: boolean;
  private readonly oracle: Oracle;
  /** The items that are queued, with the keys that stand for them, and the number of items so far: by queue. */
  private readonly items = new Map<
    string,
    { count: number; readonly items: { item: unknown; key: string }[] }
  >();
  reads: Set<string> = new Set();
  writes: Set<string> = new Set();

  constructor(observe: boolean, oracle: Oracle) {
    this.observe = observe;
    this.oracle = oracle;
  }

  /** The present step has changed the state behind the key. */
  wrote(key: string): void {
    if (this.observe) this.writes.add(key);
  }

  read(key: string): void {
    if (this.observe) this.reads.add(key);
  }

  touched(key: string, access: Access): void {
    if (access === "write") this.wrote(key);
    else this.read(key);
  }

  /** The present step puts an item into a queue. */
  queued(queue: Queue, key: string, item: unknown): void {
    if (!this.traces) return;
    const put = this.items.get(queue + key) ?? { count: 0, items: [] };
    this.items.set(queue + key, put);
    const cause = `q${queue}${key}.${++put.count}`;
    put.items.push({ item, key: cause });
    this.wrote(cause);
  }

  /** The present step takes an item out of a queue: it comes after the step that put it there in any case, so they are no race. */
  taken(queue: Queue, key: string, item: unknown): void {
    if (!this.traces) return;
    const items = this.items.get(queue + key)?.items ?? [];
    const index = items.findIndex((one) => one.item === item);
    if (index >= 0) this.read((items.splice(index, 1)[0] as { key: string }).key);
  }

  /**
   * A process takes from its mailbox. A send at the other end makes no difference to that, unless the process searches the
   * mailbox, makes room in it, or is watched for its depth.
   */
  ran(owner: Actor, process: WatchedProcess): void {
    if (!this.observe) return;
    this.read(owner.state);
    const { handle, rare, kernel } = process;
    // Of these, which item they take depends on what else is in the mailbox.
    if (handle === undefined || rare?.mailbox !== undefined || rare?.hold !== undefined) {
      this.wrote(owner.mailbox);
      return;
    }
    if (kernel.events.wants.highWater) this.wrote(owner.mailbox);
    if (process.state !== READY || !this.traces) return;
    let index = 0;
    while (isGone(process.peek(index))) index++;
    this.taken("m", owner.key, process.peek(index));
  }

  /** Accesses between two steps belong to no step. Clearing an empty set would still allocate. */
  forget(): void {
    if (this.reads.size > 0) this.reads.clear();
    if (this.writes.size > 0) this.writes.clear();
  }

  /** The footprint of the step that is over; undefined if nothing is collected. */
  collect(): Footprint | undefined {
    if (!this.observe) return undefined;
    const { reads, writes } = this;
    this.reads = new Set();
    this.writes = new Set();
    return { reads, writes };
  }

  /** Whether footprints say which step queued the item that a step took. */
  private get traces(): boolean {
    return this.observe && this.oracle.chooser.tracesCauses === true;
  }
}
