// The `sim` of a scenario: systems under simulation, virtual time, checks, and control of the faults.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count, delay, text } from "../../process/options.js";
import type { Pid } from "../../process/pid.js";
import { type ExitInput, toReason } from "../../process/reason.js";
import type { SystemOptions } from "../../process/system.js";
import type { MemorySource } from "../../store/index.js";
import { System } from "../../system.js";
import type { SimulatedDisk } from "../devices/disk.js";
import { diskOf, type SimulatedDiskOptions } from "../devices/disk-port.js";
import { type IoOptions, SimulatedIo, use } from "../devices/io.js";
import { SimulatedNetwork } from "../devices/network.js";
import type { NetworkOptions } from "../devices/network-options.js";
import { type NodeBoot, SimulatedNode, type SimulatedNodeOptions } from "../devices/node.js";
import { type SimulatedStoreOptions, storeOf } from "../devices/store-port.js";
import { ModelError, NotConvergedError } from "../report/errors.js";
import { structuralText } from "../report/structural-text.js";
import { type ClockOptions, SimulatedClock } from "../simulator/clock.js";
import { environmentOf } from "../simulator/environment.js";
import { waitsOf } from "../simulator/waits.js";
import type { World } from "../simulator/world.js";
import { isMet, type NamedCheck, type SimulationCheck, wrongBy } from "./judging.js";
import { Monitors } from "./monitors.js";

/** Options of a simulated system: those of every system, without an environment, and its clock. */
export interface SimulatedSystemOptions extends Omit<SystemOptions, "environment"> {
  /** How its clock goes wrong. By default it is right. */
  readonly clock?: ClockOptions;
}

/** Options of waiting for a state. */
export interface WithinOptions {
  /** Most virtual milliseconds to wait. Default 60,000. */
  readonly withinMs?: number;
}

const WITHIN_MS = 60_000;

/** What happened to the actor that made a choice; greater than all else that happens to actors. */
const CHOSE = 8;

/**
 * One schedule, as its scenario sees it. All methods act on this schedule only, and all time is virtual.
 *
 *
 * @example
 * await explore(async (sim) => {
 *   const system = sim.system({ name: "shop" });
 *   const stock = await system.start(Stock, 100);
 *   sim.monitor.always("never oversold", () => system.population >= 0);
 *   await Promise.all([stock.call.take(1), stock.call.take(2)]);
 * });
 */
export class Simulation {
  /** Properties that have to hold always, at some time, or after something else. */
  readonly monitor: Monitors;
  readonly #world: World;
  readonly #reached: Map<string, boolean>;
  readonly #finals: NamedCheck[] = [];
  readonly #states: (() => unknown)[] = [];

  /** @internal */
  constructor(world: World, reached: Map<string, boolean>) {
    this.#world = world;
    this.#reached = reached;
    this.monitor = new Monitors(world);
    world.afterStep = () => this.monitor.stepped();
    world.options.recorder?.watch(() => this.#states);
  }

  /** Creates a system under simulation. The simulator provides its clock, timers, randomness, ids and scheduling. */
  system(given: SimulatedSystemOptions = {}): System {
    only("", given, ["clock", "name", "limits", "report", "context", "transport"]);
    const { clock, ...options } = given;
    const name = options.name ?? "system";
    const environment = environmentOf(this.#world, name, new SimulatedClock(this.#world, name, clock));
    return new System({ report: false, ...options, environment });
  }

  /** Creates a network for systems of this simulation. */
  network(options: NetworkOptions = {}): SimulatedNetwork {
    return new SimulatedNetwork(this.#world, options);
  }

  /** Creates a disk that loses unsynced changes when its power fails. */
  disk(options: SimulatedDiskOptions = {}): SimulatedDisk {
    return diskOf(this.#world, options);
  }

  /**
   * Creates a store in memory. Each of its commits takes effect in a step of its own, and may fail. A shared one is the server of
   * several hosts; for the store of one machine, see {@link SimulatedNode.store}.
   *
   * @throws OptionError
   * @example
   * await explore(async (sim) => {
   *   const source = sim.store({ shared: true, failures: { answer: true } });
   *   const host = await openStore(sim.system(), source, []);
   *   await host.close();
   * });
   */
  store(options: SimulatedStoreOptions = {}): MemorySource {
    return storeOf(this.#world, options);
  }

  /**
   * Creates a machine, and boots it in a step of its own. The machine can lose power: by the fault rule `nodeCrash`, or by
   * `node.crash()`. Then `boot` runs again, with what the disk still holds.
   */
  node<T>(name: string, boot: NodeBoot<T>, options: SimulatedNodeOptions = {}): SimulatedNode<T> {
    return new SimulatedNode(this.#world, name, boot, options);
  }

  /**
   * Makes a function that stands for I/O: a fake of an HTTP service, a database, a queue. Calling the returned function sends a
   * request. `fn` runs in a step of its own, once: this is the effect of the request. The answer arrives in another step. So the
   * request may be late, fail before or after its effect, or take effect after its caller has crashed or aborted it.
   *
   * An AbortSignal among the arguments, or in an object among them, ends the wait of the caller. A request whose caller has
   * aborted it or has ended takes effect or not, as the simulator decides.
   *
   * @param name - stands for the function in reports
   * @param fn - the effect: it changes the state of the fake and returns the answer, or throws; it may return a promise
   * @throws OptionError
   * @example
   * await explore(async (sim) => {
   *   const balances = new Map<string, number>();
   *   const pay = (account: string, cents: number) => {
   *     balances.set(account, (balances.get(account) ?? 0) + cents);
   *   };
   *   const bank = { pay: sim.io("bank.pay", pay, { failures: [new Error("no answer")] }) };
   *   await bank.pay("ann", 100).catch(() => undefined);
   * });
   */
  io<Args extends readonly unknown[], Answer>(
    name: string,
    fn: (...args: Args) => Answer | PromiseLike<Answer>,
    options: IoOptions<Args, Answer> = {},
  ): (...args: Args) => Promise<Answer> {
    const io = new SimulatedIo(this.#world, name, fn, options);
    return (...args) => io.call(args);
  }

  /** Virtual milliseconds since the scenario began. */
  get now(): number {
    return this.#world.time.now;
  }

  /**
   * Waits for virtual milliseconds. Everything that can run meanwhile runs. `sleep(0)` goes on at once, in a step of its own: any
   * other step that is possible may come first.
   */
  sleep(ms: number): Promise<void> {
    if (delay("ms", ms) === 0) return this.#world.gates.gated<void>("its turn", (resolve) => resolve());
    return this.#world.gates.gated<void>(`${ms} ms to pass`, (resolve) => {
      this.#world.time.alarm(ms, { fire: resolve });
    });
  }

  /** Resolves when nothing can run unless time passes. */
  quiet(): Promise<void> {
    return this.#world.quiet.reached("everything to be quiet");
  }

  /**
   * Waits until a condition holds. The condition is checked whenever nothing can run, as time passes.
   *
   * @throws NotConvergedError when the condition does not hold within `withinMs` virtual milliseconds
   */
  async until(goal: string, holds: () => boolean, options: WithinOptions = {}): Promise<void> {
    only("", options, ["withinMs"]);
    const withinMs = delay("withinMs", options.withinMs ?? WITHIN_MS);
    const deadline = this.now + withinMs;
    for (;;) {
      await this.quiet();
      if (isMet(goal, holds)) return;
      // A fault may have struck since the quiet moment.
      if (this.#world.agenda.tasks.length > 0) continue;
      const next = this.#world.time.next;
      if (next === undefined || next > deadline)
        throw new NotConvergedError(
          goal,
          withinMs,
          next === undefined ? "and no timer is set" : `the next timer is at ${next} ms`,
          waitsOf(this.#world.actors, this.#world.code.current),
        );
      await this.#world.gates.gated<void>(`this: ${goal}`, (resolve) =>
        this.#world.quiet.afterChange(resolve),
      );
    }
  }

  /**
   * Stops all faults, for the liveness phase of a scenario: paused processes resume, networks that a fault cut are whole again,
   * and nodes that a fault took down boot.
   */
  calm(): void {
    this.#world.faults.stop();
  }

  /** Allows faults from here on. At the beginning of a scenario they are allowed. */
  storm(): void {
    this.#world.faults.start();
  }

  /** Calls {@link Simulation.calm}, then waits until the condition holds. */
  eventually(goal: string, holds: () => boolean, options?: WithinOptions): Promise<void> {
    this.calm();
    return this.until(goal, holds, options);
  }

  /** Registers a check that runs at the end, when the scenario is over and nothing can run. */
  finally(name: string, check: SimulationCheck): void {
    this.#finals.push({ name: text("name", name), check });
  }

  /** Marks an interesting state. The exploration fails if no schedule reaches it. */
  sometimes(label: string, holds = true): void {
    if (holds || !this.#reached.has(label)) this.#reached.set(label, holds);
  }

  /**
   * Registers a function whose value is part of the end state in the statistics. The value may consist of primitive values, plain
   * objects, arrays, Maps and Sets.
   */
  state(of: () => unknown): void {
    this.#states.push(of);
  }

  /** A decision of the scenario: a whole number from 0 to `n` - 1, where 0 is the ordinary one. */
  choose(n: number, label = "choice"): number {
    return this.#choose(n, label, (chosen) => chosen);
  }

  /** Chooses one of several values; the first is the ordinary one. */
  oneOf<T>(items: readonly [T, ...T[]], label?: string): T {
    if (!Array.isArray(items) || items.length === 0)
      throw new OptionError("items", items, "a list of values, at least one");
    return items[this.#choose(items.length, label, (chosen) => items[chosen])] as T;
  }

  #choose(n: number, label = "choice", value: (chosen: number) => unknown): number {
    const chosen = this.#world.oracle.draw(count("n", n, 1), `choice:${label}`);
    const { code, options } = this.#world;
    options.recorder?.chose(label, value(chosen));
    options.progress?.went(code.current.number, CHOSE + chosen);
    return chosen;
  }

  /** Crashes a process now, with an error in its own code or with the given reason. */
  crash(pid: Pid<never>, reason: "error" | ExitInput = "error"): void {
    const actor = this.#world.actors.of(pid as Pid);
    if (actor === undefined) throw new OptionError("pid", pid, "the pid of a process of this simulation");
    this.#world.options.recorder?.note(`the scenario crashes ${actor.path}`);
    this.#world.faults.crash(actor, reason === "error" ? undefined : toReason(reason), undefined);
  }

  /** Adds a line to the report of this schedule. */
  note(text: string): void {
    this.#world.options.recorder?.note(text);
  }

  /** The path of a process in the tree. Schedules that begin alike give the process the same path. */
  path(pid: Pid<never>): string {
    return this.#world.actors.pathOf(pid as Pid);
  }

  /**
   * Declares that the running code reads or writes something that processes share outside of messages. An exhaustive search
   * needs to know, because it skips orders of steps that share nothing.
   */
  touch(key: string, access: "read" | "write" = "write"): void {
    use(this.#world, key, access);
  }

  /** @internal Runs the checks of the end. */
  conclude(): void {
    this.monitor.ended();
    for (const one of this.#finals) {
      if (this.#world.failure !== undefined) return;
      const wrong = wrongBy(one);
      if (wrong !== undefined) this.#world.fail(wrong);
    }
  }

  /** @internal */
  describe(): string[] {
    // A failed schedule stopped anywhere.
    if (this.#world.failure !== undefined) return [];
    return this.#states.map((of) => {
      try {
        return structuralText(of(), false);
      } catch (error) {
        throw new ModelError("a function given to `sim.state`", "did not give a state", error);
      }
    });
  }
}
