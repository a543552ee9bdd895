// The history of the supervision tree of one system. It begins with a walk over all processes that reads each supervisor once, and follows
// what the supervisors say of their children from then on; see tree-machine.ts.

import { inspectedOf } from "../../process/inspection-trace.js";
import type { Kernel } from "../../process/kernel.js";
import { outside } from "../../process/origin.js";
import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import { STARTING } from "../../process/process-state.js";
import { type ExitReason, NORMAL, SHUTDOWN } from "../../process/reason.js";
import { type Holding, holdFor } from "../../process/via.js";
import { walk } from "../../process/walk.js";
import type { PastTree } from "./past-tree.js";
import { type ChangedChild, type MachineState, type SeenChild, seenIn } from "./supervised.js";
import { pidText, reasonText, shown } from "./texts.js";
import { treeAt } from "./tree-at.js";
import {
  type ChildFacts,
  decide,
  hasRoom,
  initial,
  isListed,
  TREE_LIMITS,
  type TreeEvent,
  type TreeState,
} from "./tree-machine.js";

/** Most children of all supervisors in one answer. */
const ANSWERED = 2_000;

/** The reason of a child that ended because it was told to. */
const STOPPED = "stopped by its supervisor";

export class TreeHistory {
  readonly #kernel: Kernel;
  #state: TreeState = initial();
  /** The time in which the tree is kept: a walk of an earlier one ends. Undefined: nothing is kept. */
  #time: object | undefined = undefined;
  #walk: Promise<void> = Promise.resolve();
  /** The supervisors whose end is awaited. */
  readonly #held = new Set<Process>();
  /** The last id that became a text. */
  #lastId = "";
  #lastShown = "";
  readonly #holding: Holding = { release: (process) => this.#ended(process) };

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /** Supervisors that are known. */
  get size(): number {
    return this.#state.supervisors.size;
  }

  begin(): void {
    const time = {};
    this.#time = time;
    this.#walk = this.#find(time);
    // Whoever asks for a tree learns of it.
    this.#walk.catch(() => undefined);
  }

  /** Forgets everything. */
  end(): void {
    this.#time = undefined;
    for (const process of this.#held) process.rare?.holdings?.delete(this.#holding);
    this.#held.clear();
    this.#step({ type: "forget" });
  }

  /**
   * The tree at a time.
   *
   * @param at - in milliseconds since 1970. Undefined: now
   * @throws SystemStoppedError when the system stops meanwhile
   */
  async at(at: number | undefined, limit: number): Promise<PastTree> {
    await this.#walk;
    const now = Math.max(this.#now(), this.#state.at);
    return treeAt(this.#state, { at: at ?? now, now, limit, children: ANSWERED });
  }

  /** A supervisor has begun. */
  begun({ process }: Pid, state: MachineState): void {
    if (process !== undefined) this.#found(process as Process, state, true);
  }

  /** Children of a supervisor have changed. @param state - with these changes */
  changed(supervisor: Pid, state: MachineState, changed: readonly ChangedChild[]): void {
    if (changed.length === 0) return;
    if (this.#state.supervisors.has(supervisor.id)) for (const one of changed) this.#changed(supervisor, one);
    else if (supervisor.process !== undefined) this.#found(supervisor.process as Process, state, false);
  }

  async #find(time: object): Promise<void> {
    await walk(this.#kernel, {
      visit: (process) => {
        if (this.#time !== time) return false;
        // One that starts says so itself, when a child of it has started.
        const machine = process.state === STARTING ? undefined : inspectedOf(process)?.machine;
        if (machine !== undefined) this.#found(process, machine() as MachineState, false);
        return true;
      },
    });
    if (this.#time === time) this.#step({ type: "whole", at: this.#now() });
  }

  #found(process: Process, machine: MachineState, isNew: boolean): void {
    const { pid, parent, rare } = process;
    if (this.#state.supervisors.has(pid.id)) return;
    if (!hasRoom(this.#state)) {
      this.#step({ type: "refused" });
      return;
    }
    const { strategy, intensity, periodMs, count, first } = seenIn(machine, TREE_LIMITS.childrenOfOne);
    this.#step({
      type: "found",
      at: this.#now(),
      supervisor: {
        ...{ number: pid.id, pid: pidText(pid), strategy, intensity, periodMs },
        label: pid.label === undefined ? undefined : shown(pid.label, "name"),
        name: rare?.name === undefined ? undefined : shown(rare.name, "name"),
        parent: parent === undefined ? undefined : pidText(parent),
      },
      count,
      first: first.map((child) => this.#facts(child)),
      isNew,
    });
    this.#held.add(process);
    holdFor(process, this.#holding);
  }

  #changed({ id: supervisor }: Pid, child: ChangedChild): void {
    const { key, isNew } = child;
    const isGone = child.status === "gone";
    // Children that are only counted come and go by the thousand.
    const isShown = isListed(this.#state, supervisor, key, isNew);
    const facts = isGone ? undefined : isShown ? this.#facts(child) : UNLISTED;
    const reason = isShown && child.pid === undefined ? this.#endText(child.reason) : undefined;
    const at = this.#now();
    this.#step({ type: "changed", at, supervisor, key, child: facts, isNew, reason });
  }

  #ended(process: Process): void {
    this.#held.delete(process);
    const reason = this.#endText(process.exitReason);
    this.#step({ type: "ended", at: this.#now(), supervisor: process.pid.id, reason });
  }

  #facts({ key, id, type, status, pid }: SeenChild): ChildFacts {
    // The children of a dynamic supervisor have one id.
    if (id !== this.#lastId) [this.#lastId, this.#lastShown] = [id, shown(id, "name")];
    return {
      key,
      id: this.#lastShown,
      type,
      status: status === "gone" ? "stopped" : status,
      pid: pid === undefined ? undefined : pidText(pid),
    };
  }

  #endText(reason: ExitReason | undefined): string {
    if (reason === undefined) return STOPPED;
    if (reason === NORMAL || reason === SHUTDOWN) return reason.type;
    // What a process threw may do anything while it is read.
    return outside(() => reasonText(reason));
  }

  #now(): number {
    return this.#kernel.env.wallTime();
  }

  #step(event: TreeEvent): void {
    [this.#state] = decide(this.#state, event);
  }
}

/** Of a child that is only counted, nothing is looked at. */
const UNLISTED: ChildFacts = { key: "", id: "", type: "worker", status: "running", pid: undefined };
