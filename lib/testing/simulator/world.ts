// A world: one schedule on one virtual clock. It knows all possible steps, asks the oracle for one, and executes it. Its parts decide
// what a step reads and writes, when time passes, whose code runs and when it goes on; the world decides nothing, and leaves nothing to
// the host.

import type { WatchedProcess } from "../../process/intercepted.js";
import { origin } from "../../process/origin.js";
import { SharedState, search } from "../../process/shared-state.js";
import { type CoreOptions, WorldCore } from "./core.js";
import { realWork, stalemate } from "./diagnosis.js";
import { type FaultPlan, Faults } from "./faults.js";
import { UNDECLARED } from "./footprints.js";
import { Gates } from "./gates.js";
import { host } from "./host.js";
import { HostWork } from "./host-work.js";
import { Interceptor } from "./interceptor.js";
import { Memory } from "./memory.js";
import { ORDINARY } from "./oracle.js";
import { Quiet } from "./quiet.js";
import { kindNumber } from "./schedule-record.js";
import { Systems } from "./systems.js";
import type { SimulatedTask } from "./tasks.js";
import { Time } from "./time.js";

/** What holds for all schedules of an exploration. */
export interface WorldSettings extends Pick<CoreOptions, "freeze" | "allowed" | "patienceMs"> {
  readonly maxSteps: number;
  readonly faults: FaultPlan;
}

/** How one schedule runs. */
export interface WorldRun extends Pick<CoreOptions, "chooser" | "observe" | "recorder" | "progress"> {
  /** Whether the second half of `maxSteps` steps is ordinary, and therefore fair. Default false. */
  readonly fairTail?: boolean | undefined;
  /** The host's time at which the schedule is given up. */
  readonly deadline?: number | undefined;
}

/** Steps between two looks at the host's clock. */
const STEPS_OF_A_LOOK = 16;

export class World extends WorldCore<WorldSettings & WorldRun> {
  readonly time: Time;
  readonly gates: Gates;
  readonly quiet: Quiet;
  readonly systems: Systems;
  readonly hostWork: HostWork;
  readonly interceptor: Interceptor;
  readonly faults: Faults;
  /** What processes share besides messages; present in a search that skips orders. */
  readonly memory: Memory | undefined;
  /** Points of `ctx.buggify` that code has passed, and whether each has fired. */
  readonly points: Map<string, boolean> = new Map();
  /** Faults that are not by rule. Each is called before each step, and returns whether it struck. */
  readonly strikes: (() => boolean)[] = [];
  /** The scenario's promise is settled. */
  finished = false;
  /** What was possible after half of `maxSteps` steps. */
  halfway: readonly SimulatedTask[] = [];
  /** Number of steps after which {@link World.#cutOff} is called. */
  #limit: number;
  /** A check looks at the state after every step. */
  checked = false;
  /** Called after each step. */
  afterStep: () => void = () => undefined;
  /** Called with the paths of processes whose calls form a circle. */
  atCircle: (paths: readonly string[]) => void = () => undefined;
  /** Called whenever nothing can run. */
  atQuiet: () => void = () => undefined;

  constructor(options: WorldSettings & WorldRun) {
    super(options);
    this.#limit = Math.ceil(options.maxSteps / 2);
    // Only a search that skips orders needs it.
    this.memory =
      options.observe === true && options.chooser.knowledge !== undefined ? new Memory(this) : undefined;
    this.time = new Time(this);
    this.gates = new Gates(this, this.time, this.memory);
    this.quiet = new Quiet(this, this.time, this.gates);
    this.systems = new Systems(this, this.time, this.quiet);
    this.hostWork = new HostWork(this);
    this.faults = new Faults(this, this.time, options.faults);
    this.interceptor = new Interceptor(this);
    if (options.observe === true) search.shared = new SharedState(this.interceptor, { name: "", id: "" });
  }

  /** Runs the scenario's code for the first time. */
  async begin(scenario: () => void): Promise<void> {
    origin.wake();
    origin.current = this.actors.main;
    this.hostWork.limitPromises();
    scenario();
    origin.current = undefined;
    await this.hostWork.settle();
    this.ended(undefined);
  }

  /** Executes steps until the scenario has ended and nothing can run. */
  async drive(): Promise<void> {
    const { agenda, oracle, hostWork } = this;
    const { deadline = Number.POSITIVE_INFINITY } = this.options;
    while (!this.over) {
      if (this.record.steps >= this.#limit && this.#cutOff()) return;
      if (agenda.tasks.length === 0 && !hostWork.drained) {
        await hostWork.settle();
        continue;
      }
      if (this.record.steps % STEPS_OF_A_LOOK === 0 && host.now() > deadline) {
        this.late = true;
        return;
      }
      hostWork.begin();
      let task: SimulatedTask | undefined;
      oracle.chooser.offered?.(agenda.tasks);
      if (this.over) return;
      if (this.#struck()) hostWork.drained = false;
      else if (agenda.tasks.length > 0) {
        const index = oracle.pick(agenda.tasks);
        if (this.over) return;
        task = agenda.take(index);
        this.perform(task);
      } else {
        const passed = this.time.isDue ? this.time.pass() : await this.#whenQuiet();
        if (passed === undefined) return;
        if (!passed) continue;
      }
      if (hostWork.isPending) await hostWork.settle();
      else hostWork.drained = false;
      this.ended(task);
    }
  }

  /** Half way, whether a schedule ends ceases to depend on luck. Returns whether it is cut off. */
  #cutOff(): boolean {
    const { maxSteps, fairTail } = this.options;
    this.bounded = this.record.steps >= maxSteps;
    if (this.bounded) return true;
    this.#limit = maxSteps;
    this.halfway = [...this.agenda.tasks];
    if (fairTail === true) this.oracle.chooser = ORDINARY;
    return false;
  }

  #struck(): boolean {
    this.footprints.forget();
    if (this.faults.strike()) return true;
    if (this.faults.calm) return false;
    for (const strike of this.strikes) if (strike()) return true;
    return false;
  }

  /** Nothing can run, so code that waits for that goes on, or time passes. Returns whether it was a step; undefined at the end. */
  async #whenQuiet(): Promise<boolean | undefined> {
    this.systems.check();
    this.atQuiet();
    if (this.over) return undefined;
    if (this.quiet.wake()) {
      this.options.recorder?.between();
      return false;
    }
    if (this.finished) return undefined;
    const adrift = this.actors.all.find((actor) => actor.adrift);
    const obstacle = adrift === undefined ? undefined : await realWork(adrift);
    if (obstacle === undefined && this.time.next !== undefined) return this.time.pass();
    this.fail(obstacle ?? stalemate(this.actors));
    return undefined;
  }

  perform(task: SimulatedTask): void {
    const { code, footprints } = this;
    const { owner } = task;
    code.performing = task;
    footprints.forget();
    this.options.recorder?.began(task);
    origin.wake();
    origin.current = undefined;
    // A process that shares memory may use it in each of its steps.
    if (this.oracle.chooser.knowledge?.sharers.has(owner.key) === true) footprints.wrote(UNDECLARED);
    if (task.kind === "run") {
      const process = owner.process as WatchedProcess;
      task.started = true;
      footprints.ran(owner, process);
      origin.scheduler = code;
      code.running = process;
      code.contextOf(process.kernel).runInAsyncScope(process.activate, process, 1);
      code.running = undefined;
      origin.scheduler = undefined;
      return;
    }
    if (task.kind === "resume") {
      footprints.read(owner.state);
      footprints.taken("r", task.key, task.head);
    } else if (task.kind === "deliver") {
      footprints.wrote(owner.mailbox);
      footprints.taken("d", task.key, task.held[0]);
    } else if (task.kind === "timer") {
      code.endTurn();
      code.firing = owner;
    }
    task.next();
    code.firing = undefined;
    if (task.pending === 0) return;
    if (task.kind === "timer") this.agenda.enableTimers(task);
    else this.agenda.enable(task);
  }

  ended(task: SimulatedTask | undefined): void {
    this.code.performing = undefined;
    this.memory?.stepped();
    this.record.stepped(task);
    const { progress, recorder } = this.options;
    if (progress !== undefined) {
      if (task !== undefined) progress.went(task.owner.number, kindNumber(task));
      progress.stepped();
    }
    const { chooser } = this.oracle;
    const footprint = this.footprints.collect();
    // A check after every step reads the state of all processes, so no two steps can swap places.
    const known = this.checked ? undefined : footprint;
    if (task !== undefined) chooser.ran?.(task, known);
    else if (this.faults.hasFootprint) chooser.struck?.(known);
    this.faults.hasFootprint = false;
    recorder?.ended(this.time.now);
    this.afterStep();
  }

  /** Ends everything at once. */
  close(): void {
    search.shared = undefined;
    this.systems.close();
    this.agenda.tasks.length = 0;
  }
}
