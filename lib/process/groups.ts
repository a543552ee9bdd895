// Process groups, modelled on OTP's pg. A process that joined a group N times must leave it N times. An exit removes the
// process from all its groups. A monitor of a group gets the current members, then a signal for each first join and each
// last leave of a process.

import { SignalEntry } from "./entries.js";
import type { LocalProcess, Pid } from "./pid.js";

interface Group {
  readonly members: Map<LocalProcess, number>;
  readonly watchers: Set<LocalProcess>;
}

export class Groups {
  private readonly groups = new Map<string, Group>();

  join(name: string, process: LocalProcess): void {
    const group = this.open(name);
    const times = group.members.get(process) ?? 0;
    group.members.set(process, times + 1);
    this.remember(process, name);
    if (times === 0) this.notify(group, name, process, "join");
  }

  /** Returns false when the process was not a member. */
  leave(name: string, process: LocalProcess): boolean {
    const group = this.groups.get(name);
    const times = group?.members.get(process);
    if (group === undefined || times === undefined) return false;
    if (times > 1) group.members.set(process, times - 1);
    else {
      this.remove(group, name, process);
      this.forget(process, name, group);
    }
    return true;
  }

  /** The members, each once, in the order in which they joined. */
  members(name: string): Pid<unknown>[] {
    return [...(this.groups.get(name)?.members.keys() ?? [])].map((process) => process.pid);
  }

  /** Names of the groups that have members. */
  names(): string[] {
    return [...this.groups].filter(([, group]) => group.members.size > 0).map(([name]) => name);
  }

  /** Notifies `process` of changes from now on. Returns the current members. */
  monitor(name: string, process: LocalProcess): Pid<unknown>[] {
    this.open(name).watchers.add(process);
    this.remember(process, name);
    return this.members(name);
  }

  demonitor(name: string, process: LocalProcess): void {
    const group = this.groups.get(name);
    if (group === undefined) return;
    group.watchers.delete(process);
    this.forget(process, name, group);
    this.tidy(name, group);
  }

  /** Removes a process that has ended from all its groups. */
  leaveAll(process: LocalProcess): void {
    for (const name of process.rare?.groups?.keys() ?? []) {
      const group = this.groups.get(name);
      if (group === undefined) continue;
      group.watchers.delete(process);
      if (group.members.has(process)) this.remove(group, name, process);
      else this.tidy(name, group);
    }
  }

  /** The names of the groups that `process` is a member of, each once. */
  of(process: LocalProcess): string[] {
    return [...(process.rare?.groups?.keys() ?? [])].filter((name) =>
      this.groups.get(name)?.members.has(process),
    );
  }

  private open(name: string): Group {
    let group = this.groups.get(name);
    if (group === undefined) {
      group = { members: new Map(), watchers: new Set() };
      this.groups.set(name, group);
    }
    return group;
  }

  private remember(process: LocalProcess, name: string): void {
    process.extras.groups ??= new Set();
    process.extras.groups.add(name);
  }

  /**
   * Drops the group from the process's list when the process neither belongs to the group nor monitors it. So the list
   * does not grow as the process changes groups.
   */
  private forget(process: LocalProcess, name: string, group: Group): void {
    if (!group.members.has(process) && !group.watchers.has(process)) process.rare?.groups?.delete(name);
  }

  private remove(group: Group, name: string, process: LocalProcess): void {
    group.members.delete(process);
    this.notify(group, name, process, "leave");
    this.tidy(name, group);
  }

  private tidy(name: string, group: Group): void {
    if (group.members.size === 0 && group.watchers.size === 0) this.groups.delete(name);
  }

  private notify(group: Group, name: string, process: LocalProcess, change: "join" | "leave"): void {
    for (const watcher of group.watchers) {
      watcher.deliverSignal(new SignalEntry({ type: "group", change, group: name, pid: process.pid }));
    }
  }
}
