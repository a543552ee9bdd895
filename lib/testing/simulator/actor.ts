// A process as the simulator knows it: a number that is the same after the same choices, a path in the tree for people,
// and what it waits for. The scenario's own code is an actor too, number 0.

import type { Callbacks } from "../../process/behaviour.js";
import type { WatchedProcess } from "../../process/intercepted.js";
import { DEAD, STARTING, SUSPENDED, TERMINATING } from "../../process/process-state.js";
import { type DeliverTask, ResumeTask, RunTask } from "./tasks.js";

/** A promise that code of an actor awaits, and that the simulator settles. */
export interface Wait {
  readonly what: string;
  /** Where the code is that waits; known when the schedule is run for a report. */
  readonly place: string | undefined;
}

export class Actor {
  readonly number: number;
  /** Undefined for the scenario's own code. */
  readonly process: WatchedProcess | undefined;
  readonly parent: Actor | undefined;
  /** Only supervisors take the EXIT of their parent into their own hands. Noted here: a process that ends forgets its code. */
  readonly supervises: boolean;
  readonly run: RunTask;
  readonly resume: ResumeTask;
  readonly waits: Set<Wait> = new Set();
  readonly children: Actor[] = [];
  /** Keys of its state and of its mailbox in footprints. */
  readonly state: string;
  readonly mailbox: string;
  /** The scenario's code has ended. */
  done = false;
  /** Tasks that wait for the end of a pause; undefined when it is not paused. */
  parked: (RunTask | ResumeTask | DeliverTask)[] | undefined = undefined;
  /** Numbers for `random` and `id`, so that they do not depend on what others draw. */
  randoms = 0;
  ids = 0;
  /** Where its code made or awaits promises that are not settled, in order; known when the schedule is run for a report. */
  readonly places: Map<object, { readonly place: string; readonly awaited: boolean }> = new Map();
  private readonly root: string;
  private base: string | undefined = undefined;
  private whole: string | undefined = undefined;

  /** @param root - the path above it, when no process is its parent */
  constructor(number: number, process: WatchedProcess | undefined, parent: Actor | undefined, root: string) {
    this.number = number;
    this.process = process;
    this.parent = parent;
    this.supervises = (process?.behaviour as Callbacks<unknown> | undefined)?.parentExit !== undefined;
    this.root = root;
    this.state = `a${number}`;
    this.mailbox = `m${number}`;
    this.run = new RunTask(this);
    this.resume = new ResumeTask(this);
    parent?.children.push(this);
  }

  /** What it is called among its siblings. Asked first when it ends at the latest: a name is gone after that. */
  get name(): string {
    this.base ??= this.process?.pid.label ?? this.process?.rare?.name ?? "process";
    return this.base;
  }

  /** `shop/floor/picker`; the second of that name under the same parent is `shop/floor/picker#2`. */
  get path(): string {
    if (this.whole !== undefined) return this.whole;
    if (this.process === undefined) return this.root;
    const siblings = this.parent?.children ?? [];
    let ordinal = 0;
    for (const sibling of siblings) {
      if (sibling.root === this.root && sibling.name === this.name) ordinal++;
      if (sibling === this) break;
    }
    const above = this.parent?.process === undefined ? this.root : this.parent.path;
    this.whole = `${above}/${this.name}${ordinal > 1 ? `#${ordinal}` : ""}`;
    return this.whole;
  }

  /** Where its code waits: the innermost of the calls that wait for each other waited first. */
  get place(): string | undefined {
    const all = [...this.places.values()];
    return (all.find(({ awaited }) => awaited) ?? all.at(-1))?.place;
  }

  get alive(): boolean {
    return this.process !== undefined && this.process.state !== DEAD;
  }

  /** Its code awaits something, and nothing that the simulator settles. */
  get adrift(): boolean {
    const { process } = this;
    if (this.waits.size > 0 || this.resume.pending > 0) return false;
    if (process === undefined) return !this.done;
    const { state } = process;
    return state === SUSPENDED || state === TERMINATING || (state === STARTING && this.run.started);
  }
}
