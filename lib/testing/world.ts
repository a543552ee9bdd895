// A world: the systems of one schedule, on one virtual clock. It sees everything that can happen next, has the oracle
// pick one, and carries it out: one step. Nothing in it decides, and nothing in it is left to the host.

import type { Scheduler } from "../process/environment.js";
import { SystemStoppedError } from "../process/errors.js";
import type { WatchedProcess } from "../process/intercepted.js";
import type { Settler } from "../process/interception.js";
import type { Kernel } from "../process/kernel.js";
import { origin } from "../process/origin.js";
import type { Node } from "../process/pid.js";
import type { Process } from "../process/process.js";
import { type Due, type Timer, TimerQueue } from "../process/timers.js";
import { Actor } from "./actor.js";
import { Agenda } from "./agenda.js";
import { realWork, stalemate } from "./diagnosis.js";
import { UncontrolledAwaitError } from "./errors.js";
import { type FaultPlan, Faults } from "./faults.js";
import { host } from "./host.js";
import { Interceptor } from "./interceptor.js";
import { Oracle } from "./oracle.js";
import type { Recorder } from "./recorder.js";
import type { Chooser, Footprint } from "./strategy.js";
import type { SimulatedTask } from "./tasks.js";

export interface WorldOptions {
  readonly chooser: Chooser;
  readonly maxSteps: number;
  readonly faults: FaultPlan;
  readonly freeze: boolean;
  /** Whether the strategy wants footprints. */
  readonly observe: boolean;
  /** Present when the schedule is run for a report. */
  readonly recorder: Recorder | undefined;
  /** Processes that may use the host's timers and I/O, by path. */
  readonly allowed: (path: string) => boolean;
  /** Real milliseconds that such a process may take. */
  readonly patienceMs: number;
}

/** One system of the world. */
interface Part {
  readonly name: string;
  readonly host: Kernel;
  /** Stands above the processes that no process has started. */
  readonly root: Actor;
}

export class World {
  now = 0;
  steps = 0;
  /** The schedule was cut off at `maxSteps`. */
  bounded = false;
  /** What went wrong. */
  failure: { readonly error: unknown } | undefined = undefined;
  /** A number for what happened, step by step. */
  digest = 0x811c9dc5;
  readonly oracle: Oracle;
  readonly options: WorldOptions;
  readonly agenda: Agenda = new Agenda();
  readonly interceptor: Interceptor = new Interceptor(this);
  readonly faults: Faults;
  readonly actors: Actor[] = [];
  /** The scenario's own code. */
  readonly main: Actor;
  /** Run after each step. */
  afterStep: () => void = () => undefined;
  /** The scenario's promise is settled. */
  finished = false;
  /** The process that is being activated; asked for when a promise is made. */
  running: Process | undefined = undefined;
  private readonly parts: Part[] = [];
  private readonly timers = new TimerQueue();
  private readonly quiet: (() => void)[] = [];
  private readonly patient: { readonly fn: () => void; readonly since: number }[] = [];
  /** Called whenever nothing can run. */
  atQuiet: () => void = () => undefined;
  /** The task of the step under way. */
  performing: SimulatedTask | undefined = undefined;
  private reads = new Set<string>();
  private writes = new Set<string>();
  private drained = true;
  /** Other faults than those by rule: each is asked before each step, and says whether it struck. */
  readonly strikes: (() => boolean)[] = [];

  constructor(options: WorldOptions) {
    this.options = options;
    this.oracle = new Oracle(options.chooser);
    this.main = this.adopt(undefined, undefined);
    this.faults = new Faults(this, options.faults);
  }

  // ── systems, as their Environment ─────────────────────────────────────────────────────────────────────────────

  /** A system joins. */
  join(name: string, host: Kernel): Scheduler {
    const namesakes = this.parts.filter((part) => part.name === name).length;
    const root = new Actor(
      -1 - this.parts.length,
      undefined,
      undefined,
      namesakes > 0 ? `${name}#${namesakes + 1}` : name,
    );
    const part: Part = { name, host, root };
    this.parts.push(part);
    const world = this;
    return {
      get running() {
        return world.running;
      },
      ready: (runnable) => this.agenda.enable(((runnable as WatchedProcess).tag as Actor).run),
      resumed: () => undefined,
      nudge: () => undefined,
      alarm: () => undefined,
      idle: () => this.whenQuiet("the system to be idle"),
      stop: () => this.leave(part),
    };
  }

  /** Stands for a system: above the processes that no process has started. */
  rootOf(node: Node): Actor | undefined {
    return this.parts.find((part) => part.host.node === node)?.root;
  }

  private leave(part: Part): void {
    this.parts.splice(this.parts.indexOf(part), 1);
    this.agenda.remove((task) => task.kind !== "resume" && task.owner.process?.kernel === part.host);
  }

  // ── tasks ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Whose code is running. */
  get current(): Actor {
    const owner = origin.current ?? origin.scheduler?.running;
    if (owner instanceof Actor) return owner;
    return ((owner as WatchedProcess | undefined)?.tag as Actor | undefined) ?? this.main;
  }

  /** Code of `actor` goes on in a step of its own: it runs what `settle` sets going. */
  resume(actor: Actor, what: string, settle: () => void): void {
    this.mark(actor.number);
    this.wrote(actor.mailbox);
    this.options.recorder?.settled(actor, what);
    actor.resume.push(what, settle);
    if (actor.resume.pending === 1) this.agenda.enable(actor.resume);
  }

  /** Calls `due.fire` after virtual milliseconds. */
  after(ms: number, due: Due): Timer {
    return this.timers.add(this.now + ms, due);
  }

  cancel(timer: Timer): void {
    this.timers.cancel(timer);
  }

  /** Resolves when nothing can go on without time passing. */
  whenQuiet(what: string): Promise<void> {
    return this.gated<void>(what, (resolve) => this.quiet.push(resolve));
  }

  /** A promise that the simulator settles, for whoever's code is running. */
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

  // ── steps ─────────────────────────────────────────────────────────────────────────────────────────────────────

  fail(error: unknown): void {
    this.failure ??= { error };
  }

  /** Whether the schedule is at its end, one way or another. */
  private get over(): boolean {
    return this.failure !== undefined || this.bounded || this.oracle.chooser.redundant === true;
  }

  /** Runs the scenario's code for the first time. */
  async begin(scenario: () => void): Promise<void> {
    origin.current = this.main;
    scenario();
    origin.current = undefined;
    await this.settleHost();
    this.ended(undefined);
  }

  /** Steps until the scenario has ended and nothing can run any more. */
  async drive(): Promise<void> {
    while (!this.over) {
      if (this.steps >= this.options.maxSteps) {
        this.bounded = true;
        return;
      }
      const made = host.promises.count;
      let task: SimulatedTask | undefined;
      if (this.struck()) this.drained = false;
      else if (this.agenda.tasks.length > 0) {
        const index = this.oracle.pick(this.agenda.tasks);
        if (this.over) return;
        task = this.agenda.take(index);
        this.perform(task);
      } else if (!this.drained) {
        await this.settleHost();
        continue;
      } else {
        this.atQuiet();
        if (this.over) return;
        const waiter = this.quiet.shift();
        if (waiter !== undefined || this.wakePatient()) {
          waiter?.();
          this.options.recorder?.between();
          continue;
        }
        if (this.finished || !this.goOn()) return;
      }
      if (host.promises.count !== made) await this.settleHost();
      else this.drained = false;
      this.ended(task);
    }
  }

  private struck(): boolean {
    if (this.faults.strike()) return true;
    if (this.faults.calm) return false;
    for (const strike of this.strikes) if (strike()) return true;
    return false;
  }

  private perform(task: SimulatedTask): void {
    this.performing = task;
    this.options.recorder?.began(task);
    origin.current = undefined;
    if (task.kind === "run") {
      const process = task.owner.process as WatchedProcess;
      task.started = true;
      this.wrote(task.owner.state);
      // A body looks through its mailbox: whether something is there when it does makes a difference.
      if (process.handle === undefined) this.wrote(task.owner.mailbox);
      origin.scheduler = this;
      this.running = process;
      process.activate(1);
      this.running = undefined;
      origin.scheduler = undefined;
    } else {
      this.wrote(task.kind === "resume" ? task.owner.state : task.owner.mailbox);
      task.next();
      if (task.pending > 0) this.agenda.enable(task);
    }
  }

  /** Lets everything happen that the last step set going, and the host can do without waiting. */
  private async settleHost(): Promise<void> {
    await host.drain();
    this.drained = true;
    for (const part of this.parts) part.host.turnEnded(this.now);
    if (this.performing?.kind !== "deliver") await this.awaitAllowed();
  }

  private ended(task: SimulatedTask | undefined): void {
    if (!this.drained) for (const part of this.parts) part.host.turnEnded(this.now);
    this.performing = undefined;
    this.steps++;
    this.mark(task === undefined ? -1 : task.actor * 4 + kindNumber(task));
    const { chooser } = this.oracle;
    const footprint = this.footprint();
    if (task !== undefined) chooser.ran?.(task, footprint);
    this.options.recorder?.ended();
    this.afterStep();
  }

  /** One more thing that happened, into the digest: FNV-1a over numbers. */
  mark(what: number): void {
    this.digest = Math.imul(this.digest ^ what, 0x01000193);
  }

  /** The step under way has changed what the key stands for. */
  wrote(key: string): void {
    if (this.options.observe) this.writes.add(key);
  }

  read(key: string): void {
    if (this.options.observe) this.reads.add(key);
  }

  private footprint(): Footprint | undefined {
    if (!this.options.observe) return undefined;
    const { reads, writes } = this;
    this.reads = new Set();
    this.writes = new Set();
    return { reads, writes };
  }

  /** Nothing can run, so time goes on. False when no timer is set. */
  private goOn(): boolean {
    const obstacle = realWork(this);
    if (obstacle === undefined && this.passTime()) return true;
    this.fail(obstacle ?? stalemate(this));
    return false;
  }

  /** The next timer, and whose it is: the simulator's own before those of the systems. */
  private nextTimer(): { readonly deadline: number; readonly part: Part | undefined } | undefined {
    let part: Part | undefined;
    let deadline = this.timers.next ?? Number.POSITIVE_INFINITY;
    for (const one of this.parts) {
      const next = one.host.nextTimer();
      if (next !== undefined && next < deadline) {
        deadline = next;
        part = one;
      }
    }
    return deadline === Number.POSITIVE_INFINITY ? undefined : { deadline, part };
  }

  /** When the next timer is due, if one is set. */
  get timeOfNextTimer(): number | undefined {
    return this.nextTimer()?.deadline;
  }

  /** Calls `fn` at the next quiet moment after something has happened, or when nothing will. */
  afterChange(fn: () => void): void {
    // The step under way is the asker's own, and changes nothing for it.
    this.patient.push({ fn, since: this.steps + (this.performing === undefined ? 0 : 1) });
  }

  private wakePatient(): boolean {
    const hopeless = this.nextTimer() === undefined;
    const woken = this.patient.filter(({ since }) => hopeless || since < this.steps);
    for (const one of woken) {
      this.patient.splice(this.patient.indexOf(one), 1);
      one.fn();
    }
    return woken.length > 0;
  }

  /** Lets time pass to the next timer. False when none is set. */
  passTime(): boolean {
    const next = this.nextTimer();
    if (next === undefined) return false;
    const { deadline, part: first } = next;
    this.now = Math.max(this.now, deadline);
    this.options.recorder?.time(first?.root.path ?? "the simulator");
    if (first !== undefined) first.host.fireTimers();
    else this.timers.take(this.now)?.due.fire();
    return true;
  }

  /** Processes that may use the host's I/O are waited for, so that their step has a definite end. */
  private async awaitAllowed(): Promise<void> {
    const actor = this.performing?.owner ?? this.main;
    if (!actor.adrift || !this.options.allowed(actor.path)) return;
    if (!(await host.until(() => !actor.adrift, this.options.patienceMs)))
      this.fail(
        new UncontrolledAwaitError(actor.path, actor.place, [
          `more than ${this.options.patienceMs} ms of real time`,
        ]),
      );
  }

  /** A process has been made; one that no process has started stands below its system. */
  adopt(process: WatchedProcess | undefined, parent: Actor | undefined): Actor {
    const root = this.parts.find((part) => part.host === process?.kernel)?.root;
    const actor = new Actor(this.actors.length, process, parent ?? root, root?.path ?? "scenario");
    this.actors.push(actor);
    return actor;
  }

  /** Ends everything at once, and tells whoever holds something of the host's; what still waits will wait for ever. */
  close(): void {
    for (const { process } of this.actors)
      process?.rare?.abort?.abort(new SystemStoppedError(process.kernel.node.name));
    for (const part of [...this.parts]) part.host.close();
    this.agenda.tasks.length = 0;
  }
}

function kindNumber(task: SimulatedTask): number {
  return task.kind === "run" ? 1 : task.kind === "resume" ? 2 : 3;
}
