// The actors of a world: the processes, the scenario, the boots of machines, and fakes of the outside world.

import type { WatchedProcess } from "../../process/intercepted.js";
import type { Pid } from "../../process/pid.js";
import { Actor } from "./actor.js";

export class Actors {
  readonly all: Actor[] = [];
  /** The scenario's own code. */
  readonly main: Actor;
  readonly #pids = new Map<Pid, Actor>();

  constructor() {
    this.main = this.#add(undefined, undefined, "scenario");
  }

  /** The actor of a pid, also after its process has ended. */
  of(pid: Pid): Actor | undefined {
    return this.#pids.get(pid);
  }

  /** The path of the process of a pid. */
  pathOf(pid: Pid): string {
    return this.#pids.get(pid)?.path ?? String(pid);
  }

  /** Registers a new process. */
  adopt(process: WatchedProcess, parent: Actor | undefined, root = "scenario"): Actor {
    const actor = this.#add(process, parent, root);
    this.#pids.set(process.pid, actor);
    return actor;
  }

  /** Adds an actor that stands for a part of the outside world. */
  outside(name: string): Actor {
    const actor = this.#add(undefined, undefined, name);
    actor.done = true;
    return actor;
  }

  #add(process: WatchedProcess | undefined, parent: Actor | undefined, root: string): Actor {
    const actor = new Actor(this.all.length, process, parent, root);
    this.all.push(actor);
    return actor;
  }
}
