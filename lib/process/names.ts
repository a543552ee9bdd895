// Names of processes: one name for one process. A name is free again before other processes are notified of the exit.

import { NameTakenError } from "./errors.js";
import { text } from "./options.js";
import type { LocalProcess } from "./pid.js";

export class Names {
  private readonly holders = new Map<string, LocalProcess>();

  find(name: string): LocalProcess | undefined {
    return this.holders.get(name);
  }

  /** @throws NameTakenError when the name is taken or the process has another name; OptionError when the name is empty */
  register(name: string, process: LocalProcess): void {
    const holder = this.holders.get(text("name", name));
    if (holder !== undefined) throw new NameTakenError(name, holder.pid, "held");
    const held = process.rare?.name;
    if (held !== undefined) throw new NameTakenError(name, process.pid, "has-name", held);
    this.holders.set(name, process);
    process.extras.name = name;
  }

  /** For checks: unlike `find`, it does not count as a look at the name. */
  isHeldBy(name: string, process: LocalProcess): boolean {
    return this.holders.get(name) === process;
  }

  /** Frees the name that the process holds, if any. */
  release(process: LocalProcess): void {
    const name = process.rare?.name;
    if (name === undefined || process.rare === undefined) return;
    this.holders.delete(name);
    process.rare.name = undefined;
  }
}
