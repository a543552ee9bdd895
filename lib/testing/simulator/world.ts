// A world: the systems of one schedule on one virtual clock. It knows all possible steps, asks the oracle for one, and executes
// it. The world decides nothing, and leaves nothing to the host.

import { checkConsistency } from "../../process/consistency.js";
import { isGone } from "../../process/entries.js";
import type { AsyncContext, Environment, Scheduler } from "../../process/environment.js";
import { SystemStoppedError } from "../../process/errors.js";
import type { WatchedProcess } from "../../process/intercepted.js";
import type { Settler } from "../../process/interception.js";
import type { Kernel } from "../../process/kernel.js";
import { origin, runningOwner } from "../../process/origin.js";
import { placeOf } from "../../process/own-code.js";
import type { Pid, RemoteNode } from "../../process/pid.js";
import { losePower } from "../../process/power-loss.js";
import type { Process } from "../../process/process.js";
import { READY } from "../../process/process-state.js";
import { SharedState, search } from "../../process/shared-state.js";
import { type Due, type Timer, TimerQueue } from "../../process/timer-queue.js";
import { EndlessStepError, UncontrolledAwaitError } from "../report/errors.js";
import type { Chooser, Footprint } from "../strategies/strategy.js";
import { Actor } from "./actor.js";
import { Agenda } from "./agenda.js";
import { type Continue, SettledHere } from "./awaits.js";
import { Causes } from "./causes.js";
import { realWork, stalemate } from "./diagnosis.js";
import { type FaultPlan, Faults } from "./faults.js";
import { host } from "./host.js";
import { Interceptor } from "./interceptor.js";
import { Memory } from "./memory.js";
import { ORDINARY, Oracle } from "./oracle.js";
import type { Progress } from "./progress.js";
import type { Ending, Recorder } from "./recorder.js";
import type { SimulatedTask } from "./tasks.js";
import { inOrder, type SimulatedTimer, SimulatedTimers, type TimerHost } from "./timers.js";

export interface WorldOptions {
  readonly chooser: Chooser;
  readonly maxSteps: number;
  /** Whether the second half of `maxSteps` steps is ordinary, and therefore fair. */
  readonly fairTail: boolean;
  readonly faults: FaultPlan;
  readonly freeze: boolean;
  /** Whether the strategy needs footprints. */
  readonly observe: boolean;
  /** Present when the schedule runs for a report. */
  readonly recorder: Recorder | undefined;
  /** Present when the schedule counts in a search. */
  readonly progress: Progress | undefined;
  /** Whether the process of a path may use the host's timers and I/O. */
  readonly allowed: (path: string) => boolean;
  /** Most real milliseconds that such a process may take. */
  readonly patienceMs: number;
  /** Whether code goes on in a step of its own after an await of a promise that the simulator does not settle. */
  readonly plainAwaits: boolean;
  /** The host's time at which the schedule is given up. */
  readonly deadline: number;
}

/** Promises that one step may make and settle. Code that makes so many awaits in a loop without an end. */
const MOST_PROMISES = 1_000_000;
/** Steps between two looks at the host's clock. */
const STEPS_OF_A_LOOK = 16;

/** Footprint key of all that code may share without saying so. A step that may use anything writes it. */
export const UNDECLARED = "io";

/** One system of the world. */
interface Part {
  readonly kernel: Kernel;
  /** Parent of the processes that no process has started. */
  readonly root: Actor;
}

export class World {
  now = 0;
  steps = 0;
  /** The schedule was cut off at `maxSteps`. */
  bounded = false;
  /** The schedule was given up at its deadline. */
  late = false;
  /** The failure of the schedule. */
  failure: { readonly error: unknown } | undefined = undefined;
  /** A hash of all events, and its value after each step. */
  digest = 0x811c9dc5;
  readonly digests: number[] = [];
  /** What ran in each step, as {@link World.labelOf} says; -1 for faults. */
  readonly trail: number[] = [];
  readonly oracle: Oracle;
  readonly options: WorldOptions;
  readonly agenda: Agenda = new Agenda();
  readonly interceptor: Interceptor = new Interceptor(this);
  readonly faults: Faults;
  /** What processes share besides messages; present in a search that skips orders. */
  readonly memory: Memory | undefined;
  /** The items that are queued, with the steps that put them there; used when the chooser traces causes. */
  readonly causes: Causes = new Causes();
  readonly actors: Actor[] = [];
  /** The scenario's own code. */
  readonly main: Actor;
  /** A check looks at the state after every step. */
  checked = false;
  /** Called after each step. */
  afterStep: () => void = () => undefined;
  /** The scenario's promise is settled. */
  finished = false;
  /** The process that is being activated. The owner of new promises is read from here. */
  running: Process | undefined = undefined;
  /** Points of `ctx.buggify` that code has passed, and whether each has fired. */
  readonly points: Map<string, boolean> = new Map();
  private readonly parts: Part[] = [];
  /** Names of all systems so far. */
  private readonly names: string[] = [];
  /** Timers of the simulator itself: they end faults, and fire between steps. */
  private readonly timers = new TimerQueue();
  /** Timers of the scenario and of the systems. */
  private readonly alarms: SimulatedTimers[] = [];
  private timersSet = 0;
  /** Whose timer fires in the present step. */
  private firing: Actor | undefined = undefined;
  private readonly quiet: (() => void)[] = [];
  /** Worker files of pools that are being loaded: no step is made meanwhile. */
  readonly loading: Set<Promise<unknown>> = new Set();
  private readonly patient: { readonly fn: () => void; readonly since: number }[] = [];
  /** Called with the paths of processes whose calls form a circle. */
  atCircle: (paths: readonly string[]) => void = () => undefined;
  /** Called whenever nothing can run. */
  atQuiet: () => void = () => undefined;
  /** The task of the present step. */
  performing: SimulatedTask | undefined = undefined;
  private reads = new Set<string>();
  private writes = new Set<string>();
  private drained = true;
  /** What was possible after half of `maxSteps` steps. */
  halfway: readonly SimulatedTask[] = [];
  /** Number of steps after which {@link World.cutOff} is called. */
  private limit: number;
  private turn: { readonly kernel: Kernel; readonly context: AsyncContext } | undefined = undefined;
  /** What stands for the machine of a system, by its environment. The systems of the scenario are on none. */
  readonly machines: WeakMap<Environment, object> = new WeakMap();
  /** Called for each system that loses power, before it ends. */
  readonly powerLosses: ((kernel: Kernel) => void)[] = [];
  /** Faults that are not by rule. Each is called before each step, and returns whether it struck. */
  readonly strikes: (() => boolean)[] = [];

  constructor(options: WorldOptions) {
    this.options = options;
    this.limit = Math.ceil(options.maxSteps / 2);
    this.oracle = new Oracle(options.chooser);
    // Only a search that skips orders needs it.
    this.memory = options.observe && options.chooser.knowledge !== undefined ? new Memory(this) : undefined;
    if (options.observe) search.shared = new SharedState(this.interceptor, { name: "", id: "" });
    this.main = this.adopt(undefined, undefined);
    this.timersOf((fn) => fn());
    this.faults = new Faults(this, options.faults);
  }

  // ── systems, as their Environment ─────────────────────────────────────────────────────────────────────────────

  /** Adds a system. */
  join(name: string, host: Kernel): Scheduler {
    const namesakes = this.names.filter((one) => one === name).length;
    this.names.push(name);
    const root = new Actor(
      -this.names.length,
      undefined,
      undefined,
      namesakes > 0 ? `${name}#${namesakes + 1}` : name,
    );
    const part: Part = { kernel: host, root };
    this.parts.push(part);
    const world = this;
    return {
      get running() {
        return world.running;
      },
      ready: (runnable) => this.agenda.enable(((runnable as WatchedProcess).tag as Actor).run),
      resumed: () => undefined,
      resume: (one) => one.resume(),
      nudge: () => undefined,
      alarm: () => undefined,
      idle: () => this.whenQuiet("the system to be idle"),
      stop: () => this.leave(part),
    };
  }

  /** The process of a pid of this world, also after it has ended. */
  processOf(pid: Pid): WatchedProcess | undefined {
    return this.interceptor.actorOf(pid)?.process;
  }

  /** Whether the machine of a process has lost power. */
  isLost(process: WatchedProcess): boolean {
    return (process.tag as Actor).lost;
  }

  /** Parent of the processes of a system that no process has started. */
  rootOf(node: RemoteNode): Actor | undefined {
    return this.parts.find((part) => part.kernel.node === node)?.root;
  }

  /** A machine loses power: neither the code of its boot nor its systems ever continue. */
  lose(boot: Actor, kernels: readonly Kernel[]): void {
    const roots = this.parts.filter(({ kernel }) => kernels.includes(kernel)).map(({ root }) => root);
    const processes = this.actors.filter(
      ({ process }) => process !== undefined && kernels.includes(process.kernel),
    );
    for (const actor of [boot, ...roots, ...processes]) {
      actor.lost = true;
      actor.waits.clear();
      actor.parked = undefined;
    }
    this.wrote(boot.state);
    this.agenda.remove(({ owner }) => owner.lost);
    for (const kernel of kernels) {
      for (const gone of this.powerLosses) gone(kernel);
      losePower(kernel);
    }
  }

  private leave(part: Part): void {
    const index = this.parts.indexOf(part);
    if (index < 0) return;
    this.parts.splice(index, 1);
    this.dropTimers(part.kernel.timers as SimulatedTimers);
    this.agenda.remove(
      ({ kind, owner }) => kind !== "resume" && kind !== "timer" && owner.process?.kernel === part.kernel,
    );
  }

  /** The system has stopped: its timers do not fire. */
  private dropTimers(queue: SimulatedTimers): void {
    this.alarms.splice(this.alarms.indexOf(queue), 1);
    for (const { timers } of this.actors) {
      if (timers === undefined || timers.pending === 0) continue;
      timers.drop(queue);
      if (timers.pending === 0) this.agenda.disable(timers);
    }
  }

  // ── tasks ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The actor whose code is running. */
  get current(): Actor {
    const owner = runningOwner();
    if (owner instanceof Actor) return owner;
    return (owner === undefined ? undefined : this.interceptor.actorOf(owner as Pid)) ?? this.main;
  }

  /** The author of what is created now: the actor whose code runs. While a timer fires outside of all actors, its owner. */
  get setter(): Actor {
    return this.firing === undefined || runningOwner() !== undefined ? this.current : this.firing;
  }

  /** Lets code of `actor` continue in a step of its own, which calls `settle`. */
  resume(actor: Actor, what: string, settle: () => void, ending?: Ending): void {
    if (actor.lost) return;
    this.mark(actor.number);
    this.wrote(actor.mailbox);
    this.queued("r", actor.key, settle);
    this.options.recorder?.settled(actor, what, ending);
    this.options.progress?.sent(this.performing?.owner.number ?? 0, actor.number);
    actor.resume.push(what, settle);
    if (actor.resume.pending === 1) this.agenda.enable(actor.resume);
  }

  /** Calls `due.fire` after `ms` virtual milliseconds, between two steps: for what the simulator does. */
  after(ms: number, due: Due): Timer {
    return this.timers.add(this.now + ms, due);
  }

  cancel(timer: Timer): void {
    this.timers.cancel(timer);
  }

  /** The same in a step of its own: for what the running code waits for. */
  alarm(ms: number, due: Due): Timer {
    return (this.alarms[0] as SimulatedTimers).add(this.now + ms, due);
  }

  /** The timers of a system. */
  timersOf(enter: (fn: () => void) => void): SimulatedTimers {
    const timers = new SimulatedTimers(this.timerHost, enter);
    this.alarms.push(timers);
    return timers;
  }

  private readonly timerHost: TimerHost = {
    setter: () => this.setter,
    next: () => ++this.timersSet,
    touched: (due, how) => {
      if (!this.options.observe) return;
      const key = this.interceptor.keyOfObject(due);
      if (how === "write") this.wrote(key);
      else if (how === "read") this.read(key);
    },
    withdrawn: (task, timer) => {
      task.withdraw(timer);
      if (task.pending === 0) this.agenda.disable(task);
    },
  };

  /** Resolves when nothing can go on without time passing. */
  whenQuiet(what: string): Promise<void> {
    this.wrote("quiet");
    return this.gated<void>(what, (resolve) => this.quiet.push(resolve));
  }

  /** A promise that the simulator settles, awaited by the running code. */
  gated<T>(
    what: string,
    begin: (resolve: (value: T) => void, reject: (error: unknown) => void) => void,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const ends: Settler = { resolve, reject };
      this.interceptor.gate(undefined, what, ends);
      begin(ends.resolve as (value: T) => void, ends.reject as (error: unknown) => void);
    });
  }

  /** An actor awaits a promise that the simulator settles, and that was made last. */
  gates(actor: Actor): void {
    const { last } = host.promises;
    actor.gatedIn = this.steps;
    if (last !== undefined && !SettledHere.has(last)) new SettledHere(last);
  }

  /**
   * Code looks up the `constructor` of a promise. If it awaits the promise, and the promise ends within the same step, no step came
   * between: the code goes on in a step of its own. The keys that both steps share are unknown, so they share everything.
   */
  awaited(promise: object, isAwait: () => boolean): Continue | undefined {
    const owner = runningOwner();
    if (owner === undefined || SettledHere.has(promise)) return undefined;
    const actor = owner instanceof Actor ? owner : this.interceptor.actorOf(owner as Pid);
    if (actor === undefined || actor.done || this.over) return undefined;
    // Code that stands between an open call and the code that awaits it would hide circles of calls.
    if (actor.gatedIn === this.steps && promise !== host.promises.lastSettled) return undefined;
    if (this.options.allowed(actor.path) || !isAwait()) return undefined;
    const { steps } = this;
    const { recorder } = this.options;
    const place = recorder?.place();
    return (code, ended) => {
      if (this.steps !== steps) {
        code();
        return;
      }
      this.wrote(UNDECLARED);
      const goOn = (): void => {
        this.wrote(UNDECLARED);
        code();
      };
      this.resume(actor, "an await", goOn, recorder && { ended, place });
    };
  }

  // ── steps ─────────────────────────────────────────────────────────────────────────────────────────────────────

  fail(error: unknown): void {
    this.failure ??= { error };
  }

  /** Whether the schedule is over, for any reason. */
  private get over(): boolean {
    return (
      this.failure !== undefined ||
      this.bounded ||
      this.late ||
      this.oracle.chooser.redundant === true ||
      this.oracle.broken !== undefined
    );
  }

  /** Runs the scenario's code for the first time. */
  async begin(scenario: () => void): Promise<void> {
    origin.wake();
    origin.current = this.main;
    this.limitPromises();
    scenario();
    origin.current = undefined;
    await this.settleHost();
    this.ended(undefined);
  }

  /** Executes steps until the scenario has ended and nothing can run. */
  async drive(): Promise<void> {
    while (!this.over) {
      if (this.steps >= this.limit && this.cutOff()) return;
      if (this.agenda.tasks.length === 0 && !this.drained) {
        await this.settleHost();
        continue;
      }
      if (this.steps % STEPS_OF_A_LOOK === 0 && host.now() > this.options.deadline) {
        this.late = true;
        return;
      }
      const made = host.promises.count;
      host.promises.limit = made + MOST_PROMISES;
      let task: SimulatedTask | undefined;
      this.oracle.chooser.offered?.(this.agenda.tasks);
      if (this.over) return;
      if (this.struck()) this.drained = false;
      else if (this.agenda.tasks.length > 0) {
        const index = this.oracle.pick(this.agenda.tasks);
        if (this.over) return;
        task = this.agenda.take(index);
        this.perform(task);
      } else if ((this.timeOfNextTimer ?? Number.POSITIVE_INFINITY) <= this.now) {
        if (!this.passTime()) continue;
      } else {
        this.checkSystems();
        this.atQuiet();
        if (this.over) return;
        const waiter = this.quiet.shift();
        if (waiter !== undefined || this.wakePatient()) {
          waiter?.();
          this.options.recorder?.between();
          continue;
        }
        if (this.finished) return;
        const passed = await this.goOn();
        if (passed === undefined) return;
        if (!passed) continue;
      }
      if (host.promises.count !== made) await this.settleHost();
      else this.drained = false;
      this.ended(task);
    }
  }

  /** A step that makes too many promises is stopped, and fails the schedule. */
  private limitPromises(): void {
    const { promises } = host;
    promises.limit = promises.count + MOST_PROMISES;
    promises.endless = () => {
      const { path } = this.current;
      const who = this.current === this.main ? "the scenario" : path;
      const error = new EndlessStepError(who, this.steps + 1, placeOf(host.stack()));
      this.fail(error);
      return error.message;
    };
  }

  /** Half way, whether a schedule ends ceases to depend on luck. Returns whether it is cut off. */
  private cutOff(): boolean {
    const { maxSteps, fairTail } = this.options;
    this.bounded = this.steps >= maxSteps;
    if (this.bounded) return true;
    this.limit = maxSteps;
    this.halfway = [...this.agenda.tasks];
    if (fairTail) this.oracle.chooser = ORDINARY;
    return false;
  }

  /** A broken invariant of the library fails the schedule, so that there is a trace and a token of it. */
  private checkSystems(): void {
    try {
      for (const { kernel } of this.parts) checkConsistency(kernel);
    } catch (error) {
      this.fail(error);
    }
  }

  private struck(): boolean {
    this.forget();
    if (this.faults.strike()) return true;
    if (this.faults.calm) return false;
    for (const strike of this.strikes) if (strike()) return true;
    return false;
  }

  private perform(task: SimulatedTask): void {
    this.performing = task;
    this.forget();
    this.options.recorder?.began(task);
    origin.wake();
    origin.current = undefined;
    // A process that shares memory may use it in each of its steps.
    if (this.oracle.chooser.knowledge?.sharers.has(task.owner.key) === true) this.wrote(UNDECLARED);
    if (task.kind === "run") {
      const process = task.owner.process as WatchedProcess;
      task.started = true;
      if (this.options.observe) this.observeRun(task.owner, process);
      origin.scheduler = this;
      this.running = process;
      this.contextOf(process.kernel).runInAsyncScope(process.activate, process, 1);
      this.running = undefined;
      origin.scheduler = undefined;
    } else {
      if (task.kind === "resume") {
        this.read(task.owner.state);
        this.caused("r", task.key, task.head);
      } else if (task.kind === "deliver") {
        this.wrote(task.owner.mailbox);
        this.caused("d", task.key, task.held[0]);
      } else if (task.kind === "timer") {
        this.turn = undefined;
        this.firing = task.owner;
      }
      task.next();
      this.firing = undefined;
      if (task.kind === "timer") {
        if (task.pending > 0) this.agenda.enableTimers(task);
      } else if (task.pending > 0) this.agenda.enable(task);
    }
  }

  /**
   * A process takes from its mailbox. A send at the other end makes no difference to that, unless the process searches the
   * mailbox, makes room in it, or is watched for its depth.
   */
  private observeRun(owner: Actor, process: WatchedProcess): void {
    this.read(owner.state);
    const { handle, rare, kernel } = process;
    // Of these, which item they take depends on what else is in the mailbox.
    if (handle === undefined || rare?.mailbox !== undefined || rare?.hold !== undefined) {
      this.wrote(owner.mailbox);
      return;
    }
    if (kernel.events.wants.highWater) this.wrote(owner.mailbox);
    if (process.state !== READY || !this.oracle.chooser.tracesCauses) return;
    let index = 0;
    while (isGone(process.peek(index))) index++;
    this.caused("m", owner.key, process.peek(index));
  }

  /** The present step puts an item into a queue: the mailbox of an actor, a channel, or what the actor's code awaits. */
  queued(queue: "m" | "d" | "r", key: string, item: unknown): void {
    if (this.options.observe && this.oracle.chooser.tracesCauses)
      this.wrote(this.causes.put(queue + key, item));
  }

  /** The present step takes an item out of a queue. */
  private caused(queue: "m" | "d" | "r", key: string, item: unknown): void {
    if (!this.options.observe || !this.oracle.chooser.tracesCauses) return;
    const cause = this.causes.take(queue + key, item);
    if (cause !== undefined) this.read(cause);
  }

  /** Consecutive steps of one system share a context until the host has run, like the activations of a turn in production. */
  private contextOf(kernel: Kernel): AsyncContext {
    if (this.turn?.kernel !== kernel) this.turn = { kernel, context: kernel.freshContext() };
    return this.turn.context;
  }

  /** Lets the host finish everything that the last step caused and that needs no I/O. */
  private async settleHost(): Promise<void> {
    this.turn = undefined;
    // A turn of the event loop could hide that code waits for the host: the code is looked at before.
    const { batched } = host;
    await (batched ? host.drain() : host.microtasks());
    if (this.failure?.error instanceof EndlessStepError) {
      // The code was stopped in the middle.
      origin.current = undefined;
      origin.over();
      this.drained = true;
      return;
    }
    const { kind } = this.performing ?? {};
    const adrift = kind !== "deliver" && kind !== "timer" && (this.performing?.owner ?? this.main).adrift;
    if (adrift) await this.settleReal();
    const loads = this.loading.size > 0;
    while (this.loading.size > 0) await Promise.allSettled(this.loading);
    if (adrift || loads || !batched) await host.drain();
    this.drained = true;
  }

  private ended(task: SimulatedTask | undefined): void {
    this.performing = undefined;
    this.steps++;
    this.memory?.stepped();
    this.mark(task === undefined ? -1 : task.actor * 4 + kindNumber(task));
    this.digests.push(this.digest);
    this.trail.push(task === undefined ? -1 : this.labelOf(task));
    const { progress } = this.options;
    if (progress !== undefined) {
      if (task !== undefined) progress.went(task.owner.number, kindNumber(task));
      progress.stepped();
    }
    const { chooser } = this.oracle;
    const footprint = this.footprint();
    // A check after every step reads the state of all processes, so no two steps can swap places.
    const known = this.checked ? undefined : footprint;
    if (task !== undefined) chooser.ran?.(task, known);
    else if (this.faults.hasFootprint) chooser.struck?.(known);
    this.faults.hasFootprint = false;
    this.options.recorder?.ended();
    this.afterStep();
  }

  /** A number for the owner and kind of a task. */
  labelOf(task: SimulatedTask): number {
    return task.owner.number * 4 + kindNumber(task);
  }

  /** Adds an event to the digest: FNV-1a over numbers. */
  mark(what: number): void {
    this.digest = Math.imul(this.digest ^ what, 0x01000193);
  }

  /** The present step has changed the state behind the key. */
  wrote(key: string): void {
    if (this.options.observe) this.writes.add(key);
  }

  read(key: string): void {
    if (this.options.observe) this.reads.add(key);
  }

  /** Accesses between two steps belong to no step. Clearing an empty set would still allocate. */
  private forget(): void {
    if (this.reads.size > 0) this.reads.clear();
    if (this.writes.size > 0) this.writes.clear();
  }

  private footprint(): Footprint | undefined {
    if (!this.options.observe) return undefined;
    const { reads, writes } = this;
    this.reads = new Set();
    this.writes = new Set();
    return { reads, writes };
  }

  /** Nothing can run, so time passes. Returns whether that was a step; undefined when the schedule is over. */
  private async goOn(): Promise<boolean | undefined> {
    const adrift = this.actors.find((actor) => actor.adrift);
    const obstacle = adrift === undefined ? undefined : await realWork(adrift);
    if (obstacle === undefined && this.timeOfNextTimer !== undefined) return this.passTime();
    this.fail(obstacle ?? stalemate(this));
    return undefined;
  }

  /** The time at which the next timer is due; undefined when none is set. */
  get timeOfNextTimer(): number | undefined {
    let first = this.timers.next;
    for (const timers of this.alarms) {
      const next = timers.nextTime;
      if (next !== undefined && (first === undefined || next < first)) first = next;
    }
    return first;
  }

  /** Whether time can pass to the next timer without the end of a sleep of the scenario. */
  get sleepsOn(): boolean {
    const next = this.timeOfNextTimer;
    return next !== undefined && next < (this.alarms[0]?.nextTime ?? Number.POSITIVE_INFINITY);
  }

  /** Calls `fn` at the next quiet moment after another step, or when no further step is possible. */
  afterChange(fn: () => void): void {
    // The present step belongs to the caller, and changes nothing for it.
    this.patient.push({ fn, since: this.steps + (this.performing === undefined ? 0 : 1) });
  }

  private wakePatient(): boolean {
    const hopeless = this.timeOfNextTimer === undefined;
    const woken = this.patient.filter(({ since }) => hopeless || since < this.steps);
    for (const one of woken) {
      this.patient.splice(this.patient.indexOf(one), 1);
      one.fn();
    }
    return woken.length > 0;
  }

  /**
   * Advances the time to the next timer. The timers that are due now become possible steps, except for the simulator's own, which
   * fire at once: returns whether there were any of those.
   */
  passTime(): boolean {
    const { now: before } = this;
    this.now = Math.max(before, this.timeOfNextTimer ?? before);
    let fired = false;
    for (let timer = this.timers.take(this.now); timer !== undefined; timer = this.timers.take(this.now)) {
      this.options.recorder?.time();
      timer.due.fire();
      fired = true;
    }
    const due: SimulatedTimer[] = [];
    for (const timers of this.alarms)
      for (let timer = timers.takeDue(this.now); timer !== undefined; timer = timers.takeDue(this.now))
        due.push(timer);
    for (const timer of due.sort(inOrder)) {
      const { owner } = timer;
      owner.timers ??= this.agenda.timers(owner);
      owner.timers.push(timer);
      if (owner.timers.pending === 1) this.agenda.enableTimers(owner.timers);
    }
    return fired;
  }

  /** Handles an await that the simulator does not control: waits in real time where that is allowed, else fails the schedule. */
  private async settleReal(): Promise<void> {
    const actor = this.performing?.owner ?? this.main;
    if (!actor.adrift) return;
    if (!this.options.allowed(actor.path)) {
      const obstacle = await realWork(actor);
      if (obstacle !== undefined) this.fail(obstacle);
    } else if (!(await host.until(() => !actor.adrift, this.options.patienceMs))) {
      const patience = `more than ${this.options.patienceMs} ms of real time`;
      this.fail(new UncontrolledAwaitError(actor.path, actor.place, [patience]));
    }
  }

  /** Registers a new process. A process that no process has started gets its system's root as parent. */
  adopt(process: WatchedProcess | undefined, parent: Actor | undefined): Actor {
    const root = this.parts.find((part) => part.kernel === process?.kernel)?.root;
    const actor = new Actor(this.actors.length, process, parent ?? root, root?.path ?? "scenario");
    this.actors.push(actor);
    return actor;
  }

  /** Adds an actor that stands for a part of the outside world. */
  outside(name: string): Actor {
    const actor = new Actor(this.actors.length, undefined, undefined, name);
    actor.done = true;
    this.actors.push(actor);
    return actor;
  }

  /** Ends everything at once, and aborts the processes' signals so that they free host resources. Pending promises stay pending. */
  close(): void {
    search.shared = undefined;
    for (const { process } of this.actors)
      process?.rare?.abort?.abort(new SystemStoppedError(process.kernel.node.name));
    for (const part of [...this.parts]) part.kernel.close();
    this.agenda.tasks.length = 0;
  }
}

/** Requests belong to actors that set no timers, and to tasks of other numbers, so both may have one. */
const KIND_NUMBERS = { effect: 0, run: 1, resume: 2, deliver: 3, timer: 0 } as const;

function kindNumber(task: SimulatedTask): number {
  return KIND_NUMBERS[task.kind];
}
