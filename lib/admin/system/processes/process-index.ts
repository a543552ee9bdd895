// Finds processes for the operations, without a look at all of them each time: by number, by kind, and page by page.

import type { Kernel } from "../../../process/kernel.js";
import type { Pid } from "../../../process/pid.js";
import type { Process } from "../../../process/process.js";
import { STARTING } from "../../../process/process-state.js";
import { walk } from "../../../process/walk.js";
import { kindOf, type States } from "./view.js";

/** Most pids that are remembered: what one viewer sees of a system, many times over. */
const REMEMBERED = 4_096;

type Kind = keyof States;

export class ProcessIndex {
  readonly #kernel: Kernel;
  /** Pids that were shown, the latest last. Who was shown one asks for it next. */
  readonly #shown = new Map<number, Pid<unknown>>();
  /** The processes of each kind that has a list, the oldest first. Kinds do not change, so only new processes are looked at. */
  readonly #kinds: { readonly [K in Kind]: Pid<unknown>[] } = { supervisor: [], topology: [], group: [] };
  /** Processes that had no kind yet. */
  #starting: Pid<unknown>[] = [];
  /** The number up to which all processes were looked at. */
  #seen = 0;
  #look: Promise<void> | undefined = undefined;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /** The process was shown to somebody. */
  show(process: Process): void {
    const { pid } = process;
    this.#shown.delete(pid.id);
    this.#shown.set(pid.id, pid);
    if (this.#shown.size <= REMEMBERED) return;
    for (const oldest of this.#shown.keys()) {
      this.#shown.delete(oldest);
      return;
    }
  }

  /** The living process of this number. */
  async numbered(id: number): Promise<Process | undefined> {
    const known = this.#shown.get(id);
    if (known !== undefined) return known.process;
    let found: Process | undefined;
    await walk(this.#kernel, {
      visit: (process) => {
        if (process.pid.id === id) found = process;
        return process.pid.id > id;
      },
    });
    if (found !== undefined) this.show(found);
    return found?.alive === true ? found : undefined;
  }

  /** The processes behind a number, the oldest first. @param limit - the oldest ones, so many */
  async behind(after: number, limit: number): Promise<readonly Process[]> {
    const found: Process[] = [];
    let met = 0;
    await walk(this.#kernel, {
      visit: (process) => {
        if (process.pid.id <= after) return false;
        // The walk goes from the newest to the oldest, so the last ones are the first of the list.
        found[met++ % limit] = process;
        return true;
      },
    });
    const oldest = met > limit ? [...found.slice(met % limit), ...found.slice(0, met % limit)] : found;
    return oldest.reverse();
  }

  /** The living processes of a kind, the oldest first. */
  async of(kind: Kind): Promise<readonly Process[]> {
    this.#look ??= this.#lookAtNew().finally(() => {
      this.#look = undefined;
    });
    await this.#look;
    const living = this.#kinds[kind].filter(isAlive);
    this.#kinds[kind].splice(0, Number.POSITIVE_INFINITY, ...living);
    return living.map((pid) => pid.process as Process);
  }

  async #lookAtNew(): Promise<void> {
    const newest = this.#kernel.newest?.pid.id ?? 0;
    const waiting = [...this.#starting];
    const found: (readonly [Kind, Pid<unknown>])[] = [];
    const sort = (process: Process): void => {
      if (process.state === STARTING) waiting.push(process.pid);
      const kind = kindOf(process);
      if (isKind(kind)) found.push([kind, process.pid]);
    };
    await walk(this.#kernel, {
      visit: (process) => {
        if (process.pid.id <= this.#seen) return false;
        sort(process);
        return true;
      },
    });
    this.#seen = Math.max(newest, this.#seen);
    this.#starting = [];
    for (const pid of waiting.splice(0)) if (pid.process !== undefined) sort(pid.process);
    this.#starting = waiting;
    for (const [kind, pid] of found) this.#kinds[kind].push(pid);
    if (found.length > 0) for (const list of Object.values(this.#kinds)) list.sort((a, b) => a.id - b.id);
  }
}

const isAlive = (pid: Pid<unknown>): boolean => pid.process !== undefined;
const isKind = (kind: string | undefined): kind is Kind =>
  kind === "supervisor" || kind === "topology" || kind === "group";

const all = new WeakMap<Kernel, ProcessIndex>();

/** The index of a system. */
export function indexOf(kernel: Kernel): ProcessIndex {
  const known = all.get(kernel);
  if (known !== undefined) return known;
  const index = new ProcessIndex(kernel);
  all.set(kernel, index);
  return index;
}
