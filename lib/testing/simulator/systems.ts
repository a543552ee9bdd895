// The systems of a world: they join it, stop, and lose power with their machines.

import { checkConsistency } from "../../process/consistency.js";
import type { Environment, Scheduler } from "../../process/environment.js";
import { SystemStoppedError } from "../../process/errors.js";
import type { WatchedProcess } from "../../process/intercepted.js";
import type { Kernel } from "../../process/kernel.js";
import type { RemoteNode } from "../../process/pid.js";
import { losePower } from "../../process/power-loss.js";
import { Actor } from "./actor.js";
import type { WorldCore } from "./core.js";
import type { Quiet } from "./quiet.js";
import type { Time } from "./time.js";
import type { SimulatedTimers } from "./timers.js";

/** One system of the world. */
interface Part {
  readonly kernel: Kernel;
  /** Parent of the processes that no process has started. */
  readonly root: Actor;
}

export class Systems {
  /** What stands for the machine of a system, by its environment. The systems of the scenario are on none. */
  readonly machines: WeakMap<Environment, object> = new WeakMap();
  /** Called for each system that loses power, before it ends. */
  readonly powerLosses: ((kernel: Kernel) => void)[] = [];
  /** Called for each system whose machine is paused, before it stands still, and when it goes on. */
  readonly pauses: ((kernel: Kernel, isPaused: boolean) => void)[] = [];
  readonly #core: WorldCore;
  readonly #time: Time;
  readonly #quiet: Quiet;
  readonly #parts: Part[] = [];
  /** Names of all systems so far. */
  readonly #names: string[] = [];

  constructor(core: WorldCore, time: Time, quiet: Quiet) {
    this.#core = core;
    this.#time = time;
    this.#quiet = quiet;
  }

  /** Adds a system. */
  join(name: string, kernel: Kernel): Scheduler {
    const namesakes = this.#names.filter((one) => one === name).length;
    this.#names.push(name);
    const path = namesakes > 0 ? `${name}#${namesakes + 1}` : name;
    const part: Part = { kernel, root: new Actor(-this.#names.length, undefined, undefined, path) };
    this.#parts.push(part);
    const { code, agenda } = this.#core;
    return {
      get running() {
        return code.running;
      },
      ready: (runnable) => agenda.enable(((runnable as WatchedProcess).tag as Actor).run),
      resumed: () => undefined,
      resume: (one) => one.resume(),
      nudge: () => undefined,
      alarm: () => undefined,
      idle: () => this.#quiet.reached("the system to be idle"),
      stop: () => this.#leave(part),
    };
  }

  #leave(part: Part): void {
    const index = this.#parts.indexOf(part);
    if (index < 0) return;
    this.#parts.splice(index, 1);
    this.#time.drop(part.kernel.timers as SimulatedTimers);
    this.#core.agenda.remove(
      ({ kind, owner }) => kind !== "resume" && kind !== "timer" && owner.process?.kernel === part.kernel,
    );
  }

  /** Parent of the processes of a system that no process has started. */
  rootOf(node: RemoteNode): Actor | undefined {
    return this.#parts.find((part) => part.kernel.node === node)?.root;
  }

  /** Registers a new process. A process that no process has started gets its system's root as parent. */
  adopt(process: WatchedProcess, parent: Actor | undefined): Actor {
    const root = this.#parts.find((part) => part.kernel === process.kernel)?.root;
    const actor = this.#core.actors.adopt(process, parent ?? root, root?.path);
    if ((process.kernel.timers as SimulatedTimers).isHeld) this.#core.agenda.park(actor);
    return actor;
  }

  /** The code of a machine's boot, its systems and all of their processes. */
  #actorsOf(boot: Actor, kernels: readonly Kernel[]): readonly Actor[] {
    const roots = this.#parts.filter(({ kernel }) => kernels.includes(kernel)).map(({ root }) => root);
    const processes = this.#core.actors.all.filter(
      ({ process }) => process !== undefined && kernels.includes(process.kernel),
    );
    return [boot, ...roots, ...processes];
  }

  /** A machine stands still: no code of it runs and no timer of it fires. What reaches it waits. */
  pause(boot: Actor, kernels: readonly Kernel[]): void {
    for (const kernel of kernels) {
      for (const paused of this.pauses) paused(kernel, true);
      this.#time.hold(kernel.timers as SimulatedTimers);
    }
    for (const actor of this.#actorsOf(boot, kernels)) {
      this.#core.footprints.wrote(actor.state);
      this.#core.agenda.park(actor);
    }
  }

  /** A machine goes on: what is due and what has reached it can run now, in any order. */
  resume(boot: Actor, kernels: readonly Kernel[]): void {
    for (const actor of this.#actorsOf(boot, kernels)) {
      this.#core.footprints.wrote(actor.state);
      this.#core.agenda.release(actor);
    }
    for (const kernel of kernels) {
      (kernel.timers as SimulatedTimers).isHeld = false;
      for (const paused of this.pauses) paused(kernel, false);
    }
  }

  /** A machine loses power: neither the code of its boot nor its systems ever continue. */
  lose(boot: Actor, kernels: readonly Kernel[]): void {
    for (const actor of this.#actorsOf(boot, kernels)) {
      actor.lost = true;
      actor.waits.clear();
      actor.parked = undefined;
    }
    this.#core.footprints.wrote(boot.state);
    this.#core.agenda.remove(({ owner }) => owner.lost);
    for (const kernel of kernels) {
      for (const gone of this.powerLosses) gone(kernel);
      losePower(kernel);
    }
  }

  /** A broken invariant of the library fails the schedule, so that there is a trace and a token of it. */
  check(): void {
    try {
      for (const { kernel } of this.#parts) checkConsistency(kernel);
    } catch (error) {
      this.#core.fail(error);
    }
  }

  /** Ends everything at once, and aborts the processes' signals so that they free host resources. Pending promises stay pending. */
  close(): void {
    for (const { process } of this.#core.actors.all)
      process?.rare?.abort?.abort(new SystemStoppedError(process.kernel.node.name));
    for (const part of [...this.#parts]) part.kernel.close();
  }
}
