// Links crashes to their effects: ids join a crash, the restart after it, and the attempt at another consumer. The memory for them is
// bounded: of very many crashes without a restart, the oldest are forgotten.

import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import { type ExitReason, isOrderly } from "../../process/reason.js";

/** Crashes, and restarts that are due, that are remembered. */
export const REMEMBERED = 1_000;

/** A map that forgets the oldest entry when it is full. */
class Recent<V> {
  readonly #entries = new Map<string, V>();

  set(key: string, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size > REMEMBERED) this.#entries.delete(this.#entries.keys().next().value as string);
  }

  get(key: string): V | undefined {
    return this.#entries.get(key);
  }

  take(key: string): V | undefined {
    const value = this.#entries.get(key);
    this.#entries.delete(key);
    return value;
  }
}

/** The id of the crash of a process. A process crashes once at most, and its number is never used again. */
export function crashId(pid: Pid): string {
  return `${pid.node.name}.${pid.id}`;
}

/** A child of a supervisor: the same place for each process that runs the child. */
function placeOf(supervisor: Pid, key: string): string {
  return `${supervisor.id}/${key}`;
}

export interface CauseOfEnd {
  /** The process whose exit signal ended it. */
  readonly by: Pid | undefined;
  /** The crash that the end follows from. */
  readonly cause: string | undefined;
  readonly isCrash: boolean;
}

/** The causes of one system. */
export class Causes {
  /** The crashes of late, by their id. */
  readonly #crashes = new Recent<true>();
  /** The crash that ended a child, until its supervisor has dealt with it. */
  readonly #ended = new Recent<string>();
  /** The crash that a start follows from, until the process is there. */
  readonly #due = new Recent<string>();
  /** The crash on which a supervisor gave up, until it has ended. */
  readonly #blamed = new Recent<string>();
  #felled: { readonly process: Process; readonly by: Pid } | undefined = undefined;
  #launched: { readonly supervisor: Pid; readonly key: string } | undefined = undefined;
  readonly #keys = new WeakMap<Process, string>();

  fell(process: Process, by: Pid): void {
    this.#felled = { process, by };
  }

  launching(supervisor: Pid, key: string): void {
    this.#launched = { supervisor, key };
  }

  /** Whether a supervisor started the process. */
  isChild(process: Process): boolean {
    return this.#keys.has(process);
  }

  /** The crash that this start follows from. */
  spawned(process: Process): string | undefined {
    const launched = this.#launched;
    if (launched === undefined || launched.supervisor !== process.parent) return undefined;
    this.#launched = undefined;
    this.#keys.set(process, launched.key);
    return this.#due.take(placeOf(launched.supervisor, launched.key));
  }

  processEnded(process: Process, reason: ExitReason): CauseOfEnd {
    const { pid, parent, kernel } = process;
    const by = this.#felled?.process === process ? this.#felled.by : undefined;
    this.#felled = undefined;
    const cause = by !== undefined && this.#crashes.get(crashId(by)) ? crashId(by) : undefined;
    // A supervisor that ends its child, and a system that ends all, do so on purpose.
    const isDeliberate = kernel.stopped || (by !== undefined && by === parent && cause === undefined);
    const isCrash = !isOrderly(reason) && !isDeliberate;
    if (isCrash) this.#crashes.set(crashId(pid), true);
    const follows = isCrash ? crashId(pid) : this.#blamed.take(crashId(pid));
    if (parent !== undefined && follows !== undefined)
      this.#ended.set(placeOf(parent, this.#keys.get(process) ?? pid.label ?? ""), follows);
    return { by, cause, isCrash };
  }

  /** The crash that a restart follows from. Its starts, and the end of a supervisor that gives up, follow from it too. */
  restarted(
    supervisor: Pid,
    key: string,
    id: string,
    siblings: readonly string[],
    gaveUp: boolean,
  ): string | undefined {
    const crash = this.#ended.take(placeOf(supervisor, key)) ?? this.#ended.take(placeOf(supervisor, id));
    if (crash === undefined) return undefined;
    if (gaveUp) this.#blamed.set(crashId(supervisor), crash);
    else for (const child of [key, ...siblings]) this.#due.set(placeOf(supervisor, child), crash);
    return crash;
  }

  /** The id of the crash of a process, if it crashed of late. */
  crashOf(pid: Pid): string | undefined {
    const id = crashId(pid);
    return this.#crashes.get(id) === undefined ? undefined : id;
  }
}
