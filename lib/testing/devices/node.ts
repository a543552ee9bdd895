// A machine of a simulation: it boots, loses power, and boots again with what its disk still holds.
//
//             boot ends
//   booting ─────────────▶ up
//      ▲ │                  │
//      │ └── power loss ──┐ │ power loss
//      │                  ▼ ▼
//      └──── restart ──── down
//
// While it has power it may be paused: nothing of it runs until it goes on.
//
// Each boot is a life of its own: an actor for its code, and the systems that the code creates. A power loss ends the life; the
// simulator never continues code of a life that has ended.

import { OptionError, SystemStoppedError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { only } from "../../process/known-options.js";
import { text } from "../../process/options.js";
import { inNameOf } from "../../process/origin.js";
import type { SystemOptions } from "../../process/system.js";
import { isThenable } from "../../process/thenable.js";
import type { MemorySource } from "../../store/index.js";
import { System } from "../../system.js";
import type { Actor } from "../simulator/actor.js";
import { type ClockOptions, SimulatedClock } from "../simulator/clock.js";
import { environmentOf } from "../simulator/environment.js";
import { checkPausedClock, type FaultyNode, type PausedClock } from "../simulator/node-faults.js";
import type { World } from "../simulator/world.js";
import type { SimulatedDisk } from "./disk.js";
import { diskOf, type SimulatedDiskOptions } from "./disk-port.js";
import { checkStore, type SimulatedStoreOptions, storeOf } from "./store-port.js";

/** Options of a {@link SimulatedNode}. */
export interface SimulatedNodeOptions {
  /** Options of its disk. */
  readonly disk?: SimulatedDiskOptions;
  /** Its clock, which all of its systems share. */
  readonly clock?: ClockOptions;
  /** Options of its store. */
  readonly store?: SimulatedStoreOptions;
}

/** Options of a pause of a {@link SimulatedNode}. */
export interface NodePauseOptions {
  /** Whether its monotonic clock goes on meanwhile. Default `runs`. */
  readonly clock?: PausedClock;
}

/**
 * The code that a machine runs when it boots: it reads the disk, creates systems and starts their processes. It runs again after
 * each power loss, so it must recover from any contents of the disk.
 */
export type NodeBoot<T> = (node: SimulatedNode) => T | PromiseLike<T>;

/** One boot, and everything that runs because of it. */
interface Life<T> {
  readonly actor: Actor;
  readonly systems: System[];
  /** The value of its boot, when that has ended. */
  ended: { readonly value: T } | undefined;
}

/**
 * A machine with a disk and the systems that its boot creates. After a power loss none of its code continues, not even a
 * `finally` block; its timers are gone, its connections are cut, and each unsynced write of its disk may be lost. Messages that
 * it has sent may still arrive. When it boots again, its systems are new ones, with new pids.
 *
 * @example
 * await explore(
 *   async (sim) => {
 *     const bank = sim.node("bank", async (node) => {
 *       const log = await node.disk.read("log").catch(() => new Uint8Array());
 *       return node.system().start(Stock, log.length);
 *     });
 *     const stock = await bank.ready();
 *     await stock.call.take(1);
 *   },
 *   { faults: { nodeCrash: { of: "bank", downMs: [100] } } },
 * );
 */
export class SimulatedNode<T = unknown> {
  /** The name by which fault rules select it, and under which its systems stand in reports. */
  readonly name: string;
  /** Its disk, which outlives power losses. */
  readonly disk: SimulatedDisk;
  readonly #world: World;
  readonly #boot: NodeBoot<T>;
  readonly #clock: SimulatedClock;
  readonly #storeOptions: SimulatedStoreOptions;
  #store: MemorySource | undefined;
  #life: Life<T> | undefined;
  #boots = 0;
  /** Ends the time for which a fault keeps it down. */
  #return: (() => void) | undefined;
  #waiting: ((value: T) => void)[] = [];
  /** It is paused. `end` cancels the end of a pause that is a fault. */
  #pause: { readonly end: (() => void) | undefined } | undefined;

  /** @internal */
  constructor(world: World, name: string, boot: NodeBoot<T>, options: SimulatedNodeOptions) {
    only("node", options, ["disk", "clock", "store"]);
    if (typeof boot !== "function") throw new OptionError("boot", boot, "a function of the node");
    this.name = text("name", name);
    if (world.faults.nodes.names.includes(name))
      throw new OptionError("name", name, "a name that no other node of this simulation has");
    this.#world = world;
    this.#boot = boot;
    this.disk = diskOf(world, options.disk, `disk of ${name}`);
    this.#clock = new SimulatedClock(world, name, options.clock);
    this.#storeOptions = options.store ?? {};
    checkStore(this.#storeOptions);
    world.faults.nodes.add(this.#target());
    world.faults.remedies.push(() => {
      if (this.#return !== undefined) this.restart();
      if (this.#pause?.end !== undefined) this.#goOn();
    });
    this.restart();
  }

  /** It has power: its boot runs or has ended. */
  get powered(): boolean {
    this.#world.footprints.read(this.#key);
    return this.#life !== undefined;
  }

  /** It is paused: it has power, and nothing of it runs. */
  get paused(): boolean {
    this.#world.footprints.read(this.#key);
    return this.#pause !== undefined;
  }

  /** Its boot has ended, and it has not lost power since. */
  get up(): boolean {
    this.#world.footprints.read(this.#key);
    return this.#life?.ended !== undefined;
  }

  /** The footprint key of its state. */
  get #key(): string {
    return `node:${this.name}`;
  }

  /** Its store, which outlives power losses. Each boot opens it again. */
  get store(): MemorySource {
    this.#store ??= storeOf(this.#world, this.#storeOptions, `store of ${this.name}`);
    return this.#store;
  }

  /** How often it has booted. */
  get boots(): number {
    this.#world.footprints.read(this.#key);
    return this.#boots;
  }

  /** The systems that the present boot has created. */
  get systems(): readonly System[] {
    this.#world.footprints.read(this.#key);
    return [...(this.#life?.systems ?? [])];
  }

  /**
   * Creates a system on this machine, which loses its processes with the machine.
   *
   * @throws SystemStoppedError when the machine is down, or has lost power since the calling code was started
   */
  system(options: Omit<SystemOptions, "environment"> = {}): System {
    const life = this.#life;
    this.#world.footprints.wrote(this.#key);
    const name = options.name ?? this.name;
    if (life === undefined || this.#world.code.current.lost) throw new SystemStoppedError(name);
    const environment = environmentOf(this.#world, name, this.#clock);
    const system = new System({ name, report: false, ...options, environment });
    life.systems.push(system);
    this.#world.systems.machines.set(environment, life);
    return system;
  }

  /** Resolves with the result of the boot when the machine is up: at once, or after its present or next boot. */
  ready(): Promise<T> {
    this.#world.footprints.wrote(this.#key);
    return this.#world.gates.gated<T>(`${this.name} to be up`, (resolve) => {
      const ended = this.#life?.ended;
      if (ended !== undefined) resolve(ended.value);
      else this.#waiting.push(resolve);
    });
  }

  /** Loses power now, and stays down until {@link SimulatedNode.restart}. Does nothing when it is down. */
  crash(): void {
    if (this.#life === undefined) return;
    this.#world.options.recorder?.note(`the scenario takes the power from ${this.name}`);
    this.#lose();
  }

  /**
   * Pauses it until {@link SimulatedNode.resume}, as a process that is stopped, a long turn of the event loop, or a virtual machine that is
   * suspended. None of its code runs and none of its timers fires. What others send to it waits, and so do answers to its requests. When it
   * goes on, all of that is due at once. Does nothing when it is down or paused.
   *
   * @throws OptionError
   * @example
   * await explore(async (sim) => {
   *   const node = sim.node("bank", (machine) => machine.system().start(Stock, 1));
   *   const stock = await node.ready();
   *   node.pause();
   *   const left = stock.call.take(1);
   *   await sim.sleep(60_000);
   *   node.resume();
   *   await left.catch(() => "it took too long");
   * });
   */
  pause(options: NodePauseOptions = {}): void {
    only("pause", options, ["clock"]);
    const clock = checkPausedClock("pause.clock", options.clock ?? "runs");
    if (this.#life === undefined || this.#pause !== undefined) return;
    this.#world.options.recorder?.note(`the scenario pauses ${this.name}`);
    this.#stop(clock, undefined);
  }

  /** Ends a pause. Does nothing when it is not paused. */
  resume(): void {
    if (this.#pause === undefined) return;
    this.#world.options.recorder?.note(`the scenario resumes ${this.name}`);
    this.#goOn();
  }

  /** Boots again, in a step of its own. Does nothing when it has power. */
  restart(): void {
    this.#return?.();
    this.#return = undefined;
    if (this.#life !== undefined) return;
    this.#boots++;
    const actor = this.#world.actors.outside(this.#boots === 1 ? this.name : `${this.name}#${this.#boots}`);
    const life: Life<T> = { actor, systems: [], ended: undefined };
    this.#life = life;
    this.#world.footprints.wrote(this.#key);
    this.#world.gates.resume(actor, "its power came on", () => inNameOf(actor, () => this.#run(life)));
  }

  /** Sets its wall clock forward, or back by a number below 0. Timers and `ctx.now()` do not follow. */
  jumpClock(byMs: number): void {
    if (!Number.isFinite(byMs)) throw new OptionError("byMs", byMs, "a finite number of milliseconds");
    this.#world.options.recorder?.note(`the scenario sets the clock of ${this.name} by ${byMs} ms`);
    this.#clock.jump(byMs);
  }

  /** It, as faults strike it. */
  #target(): FaultyNode {
    const { time } = this.#world;
    const node = this;
    return {
      name: this.name,
      get powered() {
        return node.powered;
      },
      get paused() {
        return node.paused;
      },
      lose: (downMs) => {
        this.#lose();
        this.#return = time.after(downMs, { fire: () => this.restart() });
      },
      sleep: (forMs, clock) => this.#stop(clock, time.after(forMs, { fire: () => this.#goOn() })),
    };
  }

  #stop(clock: PausedClock, end: (() => void) | undefined): void {
    const { actor, systems } = this.#life as Life<T>;
    this.#pause = { end };
    this.#world.footprints.wrote(this.#key);
    this.#world.systems.pause(actor, kernelsOf(systems));
    if (clock === "stands") this.#clock.stop();
  }

  #goOn(): void {
    const { actor, systems } = this.#life as Life<T>;
    this.#pause?.end?.();
    this.#pause = undefined;
    this.#world.footprints.wrote(this.#key);
    this.#clock.goOn();
    this.#world.systems.resume(actor, kernelsOf(systems));
  }

  #lose(): void {
    if (this.#pause !== undefined) this.#goOn();
    const life = this.#life as Life<T>;
    this.#life = undefined;
    this.#world.footprints.wrote(this.#key);
    this.#world.systems.lose(life.actor, kernelsOf(life.systems));
    this.disk.crash();
    this.#store?.lose();
  }

  #run(life: Life<T>): void {
    const done = (value: T): void => {
      if (this.#life !== life) return;
      life.actor.done = true;
      life.ended = { value };
      this.#world.footprints.wrote(this.#key);
      for (const go of this.#waiting.splice(0)) go(value);
    };
    const failed = (error: unknown): void => {
      if (this.#life === life) this.#world.fail(error);
    };
    life.actor.done = false;
    try {
      const result = this.#boot(this as SimulatedNode);
      if (isThenable(result)) result.then(done, failed);
      else done(result);
    } catch (error) {
      failed(error);
    }
  }
}

function kernelsOf(systems: readonly System[]): readonly Kernel[] {
  return systems.map(({ kernel }): Kernel => kernel);
}
