// A process from the simulator's view: a number that is the same after the same choices, a path in the tree, and the promises
// that it awaits. The scenario's own code is actor 0; fakes of the outside world are actors, too.

import type { Callbacks } from "../../process/behaviour.js";
import type { WatchedProcess } from "../../process/intercepted.js";
import type { Settler } from "../../process/interception.js";
import type { Pid } from "../../process/pid.js";
import { DEAD, STARTING, SUSPENDED, TERMINATING } from "../../process/process-state.js";
import { ResumeTask, RunTask, type SimulatedTask, type TimerTask } from "./tasks.js";

/** A promise that an actor's code awaits, and that the simulator settles. */
export interface Wait {
  readonly what: string;
  /** The two ends of the promise: a call or a receive in many cases. */
  readonly of: Settler;
  /** The process that it is about, if that is known in advance. */
  readonly about: Pid | undefined;
  /** Number of the step in which the wait began, and its virtual time. */
  readonly step: number;
  readonly at: number;
  /** Position in the source code; known when the schedule runs for a report. */
  readonly place: string | undefined;
}

export class Actor {
  readonly number: number;
  /** Undefined for the scenario's own code, and for the boot of a node. */
  readonly process: WatchedProcess | undefined;
  readonly parent: Actor | undefined;
  /** Only supervisors handle the EXIT of their parent themselves. Stored here, because an ended process forgets its code. */
  readonly supervises: boolean;
  readonly run: RunTask;
  readonly resume: ResumeTask;
  /** Its timers, once one of them was due. */
  timers: TimerTask | undefined = undefined;
  readonly waits: Set<Wait> = new Set();
  readonly children: Actor[] = [];
  /** Its place in the tree, in ordinals: does not depend on the order of steps of other actors, as its number does. */
  readonly key: string;
  /** Footprint keys of its state and of its mailbox. */
  readonly state: string;
  readonly mailbox: string;
  /** Both: what each of its own steps may change. */
  readonly changes: readonly [state: string, mailbox: string];
  /** The code of the scenario, of a node's boot, or of a fake of the outside world, has ended. Without meaning for a process. */
  done = false;
  /** Its machine has lost power: its code never continues. */
  lost = false;
  /** Tasks held back by a pause; undefined when the actor is not paused. */
  parked: SimulatedTask[] | undefined = undefined;
  /** Pauses of it and of its node that have not ended. */
  pauses = 0;
  /** The last step in which its code began to await a promise that the simulator settles. */
  gatedIn = -1;
  /** Counters for `random` and `id`: the numbers of one actor do not depend on other actors. */
  randoms = 0;
  ids = 0;
  /** Counters for pids, monitors, and objects that have footprint keys. */
  pids = 0;
  monitors = 0;
  objects = 0;
  /** For each unsettled promise, the place where the code made or awaits it, in order; known when the schedule runs for a report. */
  readonly places: Map<object, { readonly place: string; readonly awaited: boolean }> = new Map();
  #hashed: number | undefined = undefined;
  readonly #root: string;
  #base: string | undefined = undefined;
  #whole: string | undefined = undefined;

  /** @param root - the path above, for an actor whose parent is no process */
  constructor(number: number, process: WatchedProcess | undefined, parent: Actor | undefined, root: string) {
    this.number = number;
    this.process = process;
    this.parent = parent;
    this.supervises = (process?.behaviour as Callbacks<unknown> | undefined)?.parentExit !== undefined;
    this.#root = root;
    this.key =
      parent === undefined
        ? number > 0
          ? `@${root}`
          : String(number)
        : `${parent.key}.${parent.children.length}`;
    this.state = `a:${this.key}`;
    this.mailbox = `m:${this.key}`;
    this.changes = [this.state, this.mailbox];
    this.run = new RunTask(this);
    this.resume = new ResumeTask(this);
    parent?.children.push(this);
  }

  /** Its name among its siblings. Read at the latest when the process ends, since the name is free after that. */
  get name(): string {
    this.#base ??= this.process?.pid.label ?? this.process?.rare?.name ?? "process";
    return this.#base;
  }

  /** For example `shop/floor/picker`. The second process of that name under the same parent is `shop/floor/picker#2`. */
  get path(): string {
    if (this.#whole !== undefined) return this.#whole;
    if (this.process === undefined) return this.#root;
    const siblings = this.parent?.children ?? [];
    let ordinal = 0;
    for (const sibling of siblings) {
      if (sibling.#root === this.#root && sibling.name === this.name) ordinal++;
      if (sibling === this) break;
    }
    const above = this.parent?.process === undefined ? this.#root : this.parent.path;
    this.#whole = `${above}/${this.name}${ordinal > 1 ? `#${ordinal}` : ""}`;
    return this.#whole;
  }

  /** The place where its code waits. Of nested calls the innermost one counts, which was awaited first. */
  get place(): string | undefined {
    const all = [...this.places.values()];
    return (all.find(({ awaited }) => awaited) ?? all.at(-1))?.place;
  }

  /** A 32-bit number made of its key. */
  get hash(): number {
    if (this.#hashed === undefined) {
      let hash = 0x811c9dc5;
      for (let i = 0; i < this.key.length; i++) hash = Math.imul(hash ^ this.key.charCodeAt(i), 0x01000193);
      this.#hashed = hash >>> 0;
    }
    return this.#hashed;
  }

  get alive(): boolean {
    return this.process !== undefined && this.process.state !== DEAD;
  }

  /** True when its code awaits only promises that the simulator does not settle. */
  get adrift(): boolean {
    const { process } = this;
    if (this.lost || this.waits.size > 0 || this.resume.pending > 0) return false;
    if (process === undefined) return !this.done;
    const { state } = process;
    return state === SUSPENDED || state === TERMINATING || (state === STARTING && this.run.started);
  }
}
