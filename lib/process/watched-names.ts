// Names and groups of a system whose schedules are searched: they say what they read and change. See shared-state.ts.

import { Groups } from "./groups.js";
import { Names } from "./names.js";
import type { LocalProcess, Pid } from "./pid.js";
import type { SharedState } from "./shared-state.js";

export class WatchedNames extends Names {
  readonly #shared: SharedState;

  constructor(shared: SharedState) {
    super();
    this.#shared = shared;
  }

  override find(name: string): LocalProcess | undefined {
    this.#shared.name(name, "read");
    return super.find(name);
  }

  override register(name: string, process: LocalProcess): void {
    this.#shared.name(name, "write");
    this.#shared.nameOf(process.pid);
    super.register(name, process);
  }

  override release(process: LocalProcess): void {
    this.#shared.process(process.pid, "read");
    this.#shared.nameOf(process.pid);
    const name = process.rare?.name;
    if (name !== undefined) this.#shared.name(name, "write");
    super.release(process);
  }
}

export class WatchedGroups extends Groups {
  readonly #shared: SharedState;

  constructor(shared: SharedState) {
    super();
    this.#shared = shared;
  }

  override join(name: string, process: LocalProcess): void {
    this.#shared.group(name, "write");
    super.join(name, process);
  }

  override leave(name: string, process: LocalProcess): boolean {
    this.#shared.group(name, "write");
    return super.leave(name, process);
  }

  override members(name: string): Pid<unknown>[] {
    this.#shared.group(name, "read");
    return super.members(name);
  }

  override monitor(name: string, process: LocalProcess): Pid<unknown>[] {
    this.#shared.group(name, "write");
    return super.monitor(name, process);
  }

  override demonitor(name: string, process: LocalProcess): void {
    this.#shared.group(name, "write");
    super.demonitor(name, process);
  }

  override leaveAll(process: LocalProcess): void {
    for (const name of process.rare?.groups ?? []) this.#shared.group(name, "write");
    super.leaveAll(process);
  }
}
