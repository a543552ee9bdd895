// The kernel of one system. It starts processes, delivers their messages and signals, and ends them. The public methods
// are in system.ts.

import type { Behaviour, Callbacks, Code, SpawnOptions, StartOutcome, ValueBody } from "./behaviour.js";
import { deferStart, ignore, isCode, Stop } from "./behaviour.js";
import { checkBound, queueing } from "./bound.js";
import { CallTimeouts } from "./call-timeouts.js";
import { Calls } from "./calls.js";
import { type Cursor, passOver } from "./cursor.js";
import { ContextMessage, isEntry, isReturnable, type Signal } from "./entries.js";
import type { AsyncContext, Environment, Runnable, ScheduledSystem, Scheduler } from "./environment.js";
import { NoProcessError, OptionError, SystemStoppedError } from "./errors.js";
import { type DiscardedReply, SystemEvents } from "./events.js";
import { Groups } from "./groups.js";
import type { InterceptedProcess, Interception } from "./interception.js";
import { invariant } from "./invariant.js";
import type { Limits } from "./limits.js";
import { Links } from "./links.js";
import { listenerFailed } from "./listening.js";
import { Names } from "./names.js";
import { members, type OneOrMany } from "./one-or-many.js";
import { checkTarget, delay } from "./options.js";
import { inNameOf } from "./origin.js";
import { OutOfReach } from "./out-of-reach.js";
import { Pid, type RemoteNode } from "./pid.js";
import { type Abandonable, Process, type Rare } from "./process.js";
import { DEAD, STARTING, TERMINATING } from "./process-state.js";
import { crash, type DeadLetterReason, type ExitReason, isOrderly, NORMAL } from "./reason.js";
import { isFromParent } from "./receive.js";
import type { RemotePort } from "./remote-port.js";
import { Reporter, type ReportSettings } from "./report.js";
import { reportCrash, reportLate, reportUnowned } from "./report-failure.js";
import { exitedError, failRequests, messageOf, Request } from "./request.js";
import { contextAware } from "./sender-context.js";
import type { SharedState } from "./shared-state.js";
import type { Taps } from "./taps.js";
import { isThenable } from "./thenable.js";
import { type Due, type Timer, TimerQueue } from "./timer-queue.js";
import type { Claim } from "./via.js";
import type { Witness } from "./witness.js";

const BEHAVIOUR = "a function, or an object with a method handle";

/** Work whose processes are spawned when somebody looks at the processes of the system, or when the work needs them. */
export interface Latent {
  /** Spawns all that are due. */
  appear(): void;
}

export class Kernel implements ScheduledSystem {
  readonly node: RemoteNode;
  readonly env: Environment;
  readonly limits: Limits;
  /** When the system was created, in milliseconds of its clock. */
  readonly begunAt: number;
  /** The asynchronous context of the code that created the system. Everything in the system runs in it. */
  readonly context: AsyncContext;
  /** Messages carry the asynchronous context of their sender. */
  readonly carriesContext: boolean;
  readonly scheduler: Scheduler;
  readonly events: SystemEvents;
  readonly interception: Interception | undefined;
  /** Code declares here what it reads and changes, for an interception. */
  readonly shared: SharedState | undefined;
  readonly names: Names;
  readonly groups: Groups;
  readonly links: Links = new Links(this);
  remote: RemotePort = new OutOfReach(this);
  readonly calls: Calls = new Calls(this);
  /** The pid that stands for code outside of all processes. Signals from such code come from this pid. */
  readonly outside: Pid;
  /** The first of the linked list of live processes, newest first. Each process holds its own links in the list. */
  newest: Process | undefined = undefined;
  population = 0;
  /** The places that walks hold in the list of processes between their turns. */
  cursors: OneOrMany<Cursor<Process>> = undefined;
  readonly latent: Set<Latent> = new Set();
  /** Waits of code outside of all processes that no callee ends. The stop of the system ends them. */
  waits: OneOrMany<Abandonable> = undefined;
  stopped = false;
  /** `stop` has been called: the system stops its processes one after the other. */
  stopping = false;
  readonly timers: TimerQueue;
  readonly timeouts: CallTimeouts;
  private readonly unwatch: (() => void) | undefined;
  readonly reports: Reporter;
  /** Telemetry, while it is on. */
  taps: Taps | undefined = undefined;
  /** Sees what goes wrong, while the history of the system is kept. */
  witness: Witness | undefined = undefined;
  /** Nothing watches the entries of mailboxes, and they carry no contexts. */
  isPlain = false;
  private processClass: typeof Process;
  private readonly helperClass: typeof Process;
  private lastId = 0;

  constructor(node: RemoteNode, env: Environment, limits: Limits, reports: ReportSettings, carries: boolean) {
    this.node = node;
    this.env = env;
    this.limits = limits;
    this.begunAt = env.now();
    this.context = env.captureContext();
    this.carriesContext = carries;
    this.reports = new Reporter(this, reports);
    this.outside = new Pid(node, 0, "outside", undefined);
    this.interception = env.interception;
    this.shared = env.interception?.sharedState(node);
    this.events = new SystemEvents(
      (fn) => this.enter(fn),
      this.shared,
      (...failure) => listenerFailed(this, ...failure),
    );
    this.processClass = this.classOfProcesses();
    this.helperClass = this.processClass;
    this.timers = env.interception?.timers((fn) => this.enter(fn)) ?? new TimerQueue();
    this.timeouts = new CallTimeouts(this.timers);
    this.names = this.shared?.names() ?? new Names();
    this.groups = this.shared?.groups() ?? new Groups();
    this.scheduler = env.createScheduler(this, limits);
    this.unwatch = env.watchRejections((owner, error) => {
      if (!(owner instanceof Pid) || owner.node !== node) return false;
      if (owner.process === undefined) reportLate(this, owner, error);
      else owner.process.failed(error, owner.process.rare?.message);
      return true;
    });
    if (this.unwatch === undefined) reportUnowned(this);
  }

  /**
   * Runs code of this system outside of a turn. The code runs in a copy of the system's context, so an `enterWith` in
   * the code has no effect afterwards.
   */
  enter<R>(fn: () => R): R {
    return this.freshContext().runInAsyncScope(fn);
  }

  /** Turns telemetry on, or off. It sees the messages of processes that are started from now on. */
  tap(taps: Taps | undefined): void {
    this.taps = taps;
    this.processClass = this.classOfProcesses();
  }

  /** Telemetry does not follow the library's own helpers. */
  private classFor(behaviour: Behaviour<unknown>): typeof Process {
    return (behaviour as Partial<Callbacks<unknown>>).isHelper === true
      ? this.helperClass
      : this.processClass;
  }

  private classOfProcesses(): typeof Process {
    this.isPlain = this.interception === undefined && !this.carriesContext;
    const plain = (this.interception?.processClass ?? Process) as typeof Process;
    const seen = this.taps?.classOf(plain) ?? plain;
    return this.carriesContext ? contextAware(seen) : seen;
  }

  /** A copy of the system's context. Each turn has a copy of its own. */
  freshContext(): AsyncContext {
    return this.context.runInAsyncScope(this.env.captureContext);
  }

  // ── life ──────────────────────────────────────────────────────────────────────────────────────────────────────

  spawn<M>(
    behaviour: Behaviour<M> | ValueBody,
    parent: Process | undefined,
    options: SpawnOptions | undefined,
    onStart?: (outcome: StartOutcome) => void,
  ): Process {
    this.shared?.spawned(parent?.pid);
    if (this.stopped) throw new SystemStoppedError(this.node.name);
    if (!isCode(behaviour as Code | undefined)) throw new OptionError("behaviour", behaviour, BEHAVIOUR);
    const id = this.interception === undefined ? ++this.lastId : this.interception.number("pid");
    const pid = new Pid<unknown>(this.node, id, options?.label, undefined);
    const usual =
      this.taps === undefined ? this.processClass : this.classFor(behaviour as Behaviour<unknown>);
    const made = (options?.mailbox?.[queueing]?.(usual) ?? usual) as typeof Process;
    const process = new made(this, pid, parent?.pid, behaviour as Code);
    if (options !== undefined) {
      if (options.mailbox !== undefined) process.extras.mailbox = checkBound("mailbox", options.mailbox);
      if (options.shutdown !== undefined)
        process.extras.shutdownMs = delay("shutdown", options.shutdown, 0, true);
      if (options.name !== undefined) this.name(options.name, process);
      if (options.trapExit === true) process.trapping = true;
    }
    pid.process = process;
    this.enlist(process);
    this.interception?.born(process as InterceptedProcess);
    this.taps?.spawned(process, onStart !== undefined);
    if (this.events.wants.spawn) this.events.publish("spawn", { pid, parent: parent?.pid });
    // Code that awaits the start needs the process before the outcome, so such a process starts in a turn of its own.
    if (onStart !== undefined) process.extras.onStart = onStart;
    else if (process.handle !== undefined && (behaviour as Callbacks<M>).init === undefined) {
      this.started(process, undefined);
      return process;
    }
    this.scheduler.ready(process);
    return process;
  }

  private name(name: string | Claim, process: Process): void {
    if (typeof name === "object" && typeof name?.claim === "function") name.claim(process);
    else this.names.register(name as string, process);
  }

  /** Handles the end of `init`, or the start of a process without one. */
  started(process: Process, result: unknown): void {
    if (process.state === DEAD) return;
    if (result === ignore) {
      this.notifyStart(process, { type: "ignored" });
      this.end(process, NORMAL);
      return;
    }
    if (result instanceof Stop) {
      this.end(process, result.reason);
      return;
    }
    if (process.handle !== undefined) process.proceed();
    if (result !== deferStart) this.notifyStart(process, { type: "started" });
  }

  awaitStart(process: Process, init: PromiseLike<unknown>): void {
    this.scheduler.resumed(process);
    process.settling = Promise.resolve(init).then(
      (result) => this.started(process, result),
      (error) => process.failed(error, undefined),
    );
  }

  notifyStart(process: Process, outcome: StartOutcome): void {
    const tell = process.rare?.onStart;
    if (tell === undefined) return;
    (process.rare as { onStart: unknown }).onStart = undefined;
    this.taps?.started(process, outcome);
    tell(outcome);
  }

  /** Ends a process in order, or after a crash in its own code. `terminate` runs first, unless `init` has not finished. */
  stop(process: Process, reason: ExitReason, message: unknown): void {
    const terminate = (process.behaviour as Callbacks<unknown>).terminate;
    if (terminate === undefined || process.state === TERMINATING || process.state === STARTING) {
      this.end(process, reason, message);
      return;
    }
    process.state = TERMINATING;
    try {
      const result = this.enter(() =>
        inNameOf(process.pid, () =>
          (process.behaviour as Callbacks<unknown>).terminate?.(process.ctx, reason),
        ),
      );
      if (isThenable(result)) {
        this.scheduler.resumed(process);
        Promise.resolve(result).then(
          () => this.end(process, reason, message),
          (error) => this.end(process, crash(error), message),
        );
        return;
      }
    } catch (error) {
      this.end(process, crash(error), message);
      return;
    }
    this.end(process, reason, message);
  }

  /** Ends a process at once. Its name, groups and timers are released before other processes are notified. */
  end(process: Process, reason: ExitReason, message?: unknown, alongLink = false): void {
    if (process.state === DEAD) return;
    const { pid, rare } = process;
    const lonely = process.links === undefined && process.watchers === undefined;
    const awaited = rare?.onStart !== undefined;
    process.state = DEAD;
    pid.process = undefined;
    this.delist(process);
    this.remote.forget(pid);
    if (process.timers !== undefined) for (const timer of members(process.timers)) timer.cancel();
    process.exitReason = reason;
    this.interception?.died(process as InterceptedProcess, reason);
    this.shared?.ended(pid);
    if (rare !== undefined) {
      if (rare.name !== undefined) this.names.release(process);
      if (rare.groups !== undefined) this.groups.leaveAll(process);
      if (rare.holdings !== undefined) for (const holding of rare.holdings) holding.release(process);
    }
    this.taps?.ended(process, reason);
    if (this.witness !== undefined && !isOrderly(reason))
      this.witness.ended(process, reason, message ?? rare?.message, alongLink);
    if (!process.isEmpty) for (const entry of process.drain()) this.refuse(pid, entry, "exited");
    if (process.requests !== undefined) failRequests(process, reason);
    if (!lonely || process.watching !== undefined) this.links.announce(process, reason);
    if (this.events.wants.exit) this.events.publish("exit", { pid, reason });
    if (lonely && !awaited && !isOrderly(reason))
      this.reportCrash(process, reason, message ?? rare?.message, alongLink);
    if (rare !== undefined) this.releaseWaits(process, rare, reason);
    else process.pendingReceive?.abandon(exitedError(process));
    process.letGo();
  }

  private releaseWaits(process: Process, rare: Rare, reason: ExitReason): void {
    this.notifyStart(process, { type: "failed", reason });
    const { waits, abort } = rare;
    const { pendingReceive } = process;
    if (waits !== undefined || rare.farCalls !== undefined || pendingReceive !== undefined) {
      const error = exitedError(process);
      for (const wait of members(waits)) wait.abandon(error);
      while (rare.farCalls !== undefined) rare.farCalls.request.abandon(error);
      pendingReceive?.abandon(error);
    }
    rare.message = undefined;
    rare.sender = undefined;
    if (abort !== undefined) this.enter(() => inNameOf(process.pid, () => abort.abort(exitedError(process))));
  }

  /** Reports a crash that no process observed. A failure that spreads along links is reported only once. */
  private reportCrash(process: Process, reason: ExitReason, message: unknown, alongLink: boolean): void {
    if (alongLink && (reason.type === "killed" || reason.type === "kill" || !this.links.isFirstReport()))
      return;
    reportCrash(this, process, reason, messageOf(message));
  }

  /** Called before anybody sees which processes there are, or what they are linked to. */
  appear(): void {
    for (const one of this.latent) one.appear();
  }

  /** The living processes, oldest first. */
  processes(): Process[] {
    const all: Process[] = [];
    for (let process = this.newest; process !== undefined; process = process.next) all.push(process);
    return all.reverse();
  }

  private enlist(process: Process): void {
    process.next = this.newest;
    if (this.newest !== undefined) this.newest.previous = process;
    this.newest = process;
    this.population++;
  }

  private delist(process: Process): void {
    if (this.cursors !== undefined) passOver(this.cursors, process);
    if (process.previous === undefined) this.newest = process.next;
    else process.previous.next = process.next;
    if (process.next !== undefined) process.next.previous = process.previous;
    process.next = undefined;
    process.previous = undefined;
    this.population--;
    invariant(this.population >= 0, "a process leaves the list of living ones once");
  }

  // ── messages ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** @param from - the sender, if that is a process */
  send(to: Pid<never> | string, message: unknown, from?: Process): void {
    const target = typeof to === "string" ? this.names.find(to) : (to as Pid<never> | undefined)?.process;
    if (target !== undefined && target.kernel === this) {
      target.deliver(message, from);
      return;
    }
    checkTarget("to", to);
    if (typeof to === "string" || to.node === this.node) this.deadLetter(to, message, "noproc");
    else this.remote.send(to, message, from);
  }

  /** Discards a mailbox entry that will not be handled. Signals to dead processes are dropped silently, as in OTP. */
  refuse(to: Pid, entry: unknown, reason: DeadLetterReason): void {
    if (isReturnable(entry)) entry.returned(reason);
    else if (!isEntry(entry)) this.deadLetter(to, entry, reason);
    else if (entry instanceof ContextMessage) {
      const { context, message } = entry;
      if (context === undefined) this.refuse(to, message, reason);
      else context.runInAsyncScope(this.refuse, this, to, message, reason);
    } else if (entry instanceof Request && entry.open) {
      entry.isUntaken = reason === "exited";
      this.deadLetter(to, entry.message, reason);
    }
  }

  /** @param why - builds the error that says more, for listeners only */
  deadLetter(to: Pid | string, message: unknown, reason: DeadLetterReason, why?: () => Error): void {
    this.events.countDeadLetter();
    this.taps?.deadLetter(reason);
    this.witness?.deadLetter(to, reason);
    if (typeof to !== "string") this.shared?.process(to, "read");
    this.interception?.lost(to, message, reason);
    if (this.events.wants.deadLetter)
      this.events.publish("deadLetter", {
        to,
        message,
        reason,
        ...(why === undefined ? {} : { error: why() }),
      });
  }

  /** Counts a reply to a call that had ended. `describe` builds the event, whose error has a stack, for listeners only. */
  discardReply(describe: () => DiscardedReply): void {
    this.events.countDiscardedReply();
    this.witness?.discardedReply(describe);
    if (this.events.wants.discardedReply) this.events.publish("discardedReply", describe());
  }

  /**
   * Passes a signal to the callbacks of a process. A trapping process stops when its parent sends an exit signal, as a
   * gen_server does.
   */
  openSignal(process: Process, signal: Signal): unknown {
    const callbacks = process.behaviour as Callbacks<unknown>;
    if (signal.type === "exit" && isFromParent(process, signal)) {
      if (callbacks.parentExit !== undefined) return callbacks.parentExit(process.ctx, signal.reason);
      this.stop(process, signal.reason, signal);
      return undefined;
    }
    if (callbacks.signal !== undefined) return callbacks.signal(process.ctx, signal);
    this.deadLetter(process.pid, signal, "unhandled");
    return undefined;
  }

  // ── addresses and time ────────────────────────────────────────────────────────────────────────────────────────

  /** The running process with this pid or name. @throws NoProcessError */
  locate(of: Pid<never> | string): Process {
    if (typeof of !== "string") this.shared?.process(of, "read");
    const process = typeof of === "string" ? this.names.find(of) : (of as Pid<never> | undefined)?.process;
    if (process === undefined) checkTarget("process", of);
    if (process === undefined || process.kernel !== this)
      throw new NoProcessError(String(of), this.node.name);
    return process;
  }

  /** A pid for a name that no process holds. */
  nobody(name: string): Pid {
    return new Pid(this.node, 0, name, undefined);
  }

  addTimer(delayMs: number, due: Due): Timer {
    const timer = this.timers.add(this.env.now() + delayMs, due);
    if (timer.index === 0) this.scheduler.alarm();
    return timer;
  }

  turnEnded(now: number): void {
    if (this.calls.armTimeouts(now)) this.scheduler.alarm();
  }

  cancelTimer(timer: Timer): boolean {
    const cancelled = this.timeouts.cancel(timer);
    if (cancelled && this.timers.size === 0) this.scheduler.alarm();
    return cancelled;
  }

  get pendingTimers(): number {
    return this.timers.size + this.timeouts.hidden;
  }

  nextTimer(): number | undefined {
    this.timeouts.settle();
    return this.timers.next;
  }

  fireTimers(): void {
    const now = this.env.now();
    const { turnMessages, turnMs } = this.limits;
    for (let left = turnMessages; left > 0; left--) {
      this.timeouts.settle();
      const timer = this.timers.take(now);
      if (timer === undefined) return;
      timer.due.fire();
      if (this.env.now() - now >= turnMs) return;
    }
  }

  longTurn(suspects: readonly Runnable[], elapsedMs: number): void {
    if (!this.events.wants.longTurn) return;
    const pids = suspects.filter((one) => one instanceof Process).map((one) => one.pid);
    this.events.publish("longTurn", { suspects: pids, elapsedMs });
  }

  /** Stops the scheduler and releases everything that belongs to the host. */
  close(): void {
    this.shared?.stopping("write");
    this.stopped = true;
    this.scheduler.stop();
    this.remote.close();
    this.reports.close();
    this.taps?.closed();
    this.unwatch?.();
  }
}
