// A system of processes: explicit, several may live in one Node process, and all that it started ends with it.

import { type Behaviour, SPAWN_OPTIONS, type SpawnOptions } from "./behaviour.js";
import type { Address } from "./context.js";
import type { Environment } from "./environment.js";
import { OptionError, SystemStoppedError } from "./errors.js";
import type { SystemEvents } from "./events.js";
import { waitForExit } from "./exited.js";
import { type ProcessInfo, processInfo } from "./info.js";
import { Kernel } from "./kernel.js";
import { only, onlyKnown } from "./known-options.js";
import { type Limits, SYSTEM_DEFAULTS } from "./limits.js";
import { members } from "./one-or-many.js";
import { address, checkPid, count, delay, oneOf, text, withMethod, word } from "./options.js";
import { cancelTimer, OwnedTimer, type TimerRef } from "./owned-timer.js";
import type { Pid, RemoteNode } from "./pid.js";
import type { Process } from "./process.js";
import { production } from "./production.js";
import { type ExitInput, type ExitReason, KILL, KILLED, SHUTDOWN, toReason } from "./reason.js";
import type { RemoteNodes } from "./remote.js";
import { checkReport, type ReportOptions, type ReportSink } from "./report.js";
import type { CallOptions, ReplyTo } from "./request.js";
import { checkStartOptions, type Startable, type StartOptions, startAwaited } from "./start.js";
import type { Timer } from "./timer-queue.js";
import { checkPidAddress, checkReplyAddress } from "./wire-check.js";
import type { PidAddress, ReplyAddress, WireSignal } from "./wire-signal.js";

const EXITED_OPTIONS: ReadonlySet<string> = new Set(["signal"]);

/** Limits that a system may set differently from {@link SYSTEM_DEFAULTS}. */
export type SystemLimits = { readonly [name in keyof Limits]?: number };

/** Options of a System. */
export interface SystemOptions {
  /** The name of the system in pids and reports. Default `system`. */
  readonly name?: string;
  /** Other limits than the defaults. */
  readonly limits?: SystemLimits;
  /**
   * Where reports of crashes, restarts and other failures go. A function gets the text and the record of each report. An
   * object also says what the reports contain. `false` discards them. Default: standard error.
   */
  readonly report?: ReportSink | ReportOptions | false;
  /**
   * The asynchronous context (AsyncLocalStorage, OpenTelemetry) in which messages are handled. `system`, the default, is the
   * context of the code that created the system. `sender` is the context of the code that sent the message, made the call or
   * dispatch, emitted the tuple or set the timer; a process begins in that of the code that spawned it. Signals and restarts always
   * run in the context of the system.
   */
  readonly context?: "system" | "sender";
  /** Carries signals to other nodes: {@link remoteNodes} of a transport. */
  readonly transport?: RemoteNodes;
  /** Clock, randomness, ids and scheduling: those of `testClock()`, for example. Default: the host's own. */
  readonly environment?: Environment;
}

/** Options of `system.stop`. */
export interface StopOptions {
  /**
   * After this many milliseconds the system kills every process that is left; 0 kills at once. Default: the limit
   * `stopTimeoutMs`.
   */
  readonly timeoutMs?: number;
}

/** The processes, names, groups, timers and events of one system. */
export class ProcessSystem implements AsyncDisposable {
  /** @internal The way to the kernel, for the floors above. */
  readonly kernel: Kernel;
  #stopping: Promise<void> | undefined;
  #stopLimit: Timer | undefined;

  /** @throws OptionError when an option is not what it has to be */
  constructor(options: SystemOptions = {}) {
    only("", options, ["name", "limits", "report", "context", "transport", "environment"]);
    const environment = checkEnvironment(options.environment ?? production);
    const node: RemoteNode = { name: text("name", options.name ?? "system"), id: environment.id() };
    const limits = checkLimits(options.limits);
    const transport = checkTransport(options.transport);
    const context = oneOf("context", options.context ?? "system", ["system", "sender"]);
    const reports = checkReport(options.report ?? {});
    this.kernel = new Kernel(node, environment, limits, reports, context === "sender");
    if (transport !== undefined) this.kernel.remote = transport.connect(this.kernel);
  }

  get name(): string {
    return this.kernel.node.name;
  }

  /** Name and id of this system, as its pids carry it. */
  get node(): RemoteNode {
    return this.kernel.node;
  }

  /** The events of the system. An event without a listener costs nothing. */
  get events(): SystemEvents {
    return this.kernel.events;
  }

  /** How many messages reached no process so far. */
  get deadLetters(): number {
    return this.kernel.events.deadLetters;
  }

  get stopped(): boolean {
    this.kernel.shared?.stopping("read");
    return this.kernel.stopped;
  }

  /**
   * Starts a process. Its code first runs in a later turn, not within this call.
   *
   * @throws SystemStoppedError, NameTakenError, OptionError
   * @example const clerk = system.spawn<string>(async (ctx) => console.log(await ctx.receive()));
   */
  spawn<M>(behaviour: Behaviour<M>, options?: SpawnOptions): Pid<M> {
    onlyKnown(options, SPAWN_OPTIONS);
    return this.kernel.spawn(behaviour, undefined, options).pid;
  }

  /**
   * Starts a server, a supervisor or another definition, and waits until its `init` has ended.
   *
   * @throws StartError when `init` fails, returns `ignore` or exceeds the limit `startTimeoutMs`
   */
  async start<Args extends readonly unknown[], Ref>(what: Startable<Args, Ref>, ...args: Args): Promise<Ref> {
    return startAwaited(this.kernel, undefined, what, args, undefined);
  }

  /** {@link ProcessSystem.start} with options. */
  async startWith<Args extends readonly unknown[], Ref>(
    options: StartOptions,
    what: Startable<Args, Ref>,
    ...args: Args
  ): Promise<Ref> {
    return startAwaited(this.kernel, undefined, what, args, checkStartOptions(options));
  }

  /** Sends a message from outside all processes. */
  send<T>(to: Pid<T>, message: NoInfer<T>): void;
  send(to: string, message: unknown): void;
  send(to: Address<never>, message: unknown): void {
    this.kernel.send(to, message);
  }

  /** Sends a request from outside all processes and waits for the reply; see `ctx.call`. */
  call<M, const T extends M, R>(
    to: Address<M>,
    build: (replyTo: ReplyTo<R>) => T,
    options?: CallOptions,
  ): Promise<R> {
    return this.kernel.calls.call(undefined, to, build, options);
  }

  /** Sends an exit signal. A process that was started from outside treats it as the signal of its parent. */
  exit(to: Address<never>, reason: ExitInput): void {
    const kernel = this.kernel;
    const given = toReason(reason);
    const pid = typeof address("to", to) === "string" ? kernel.names.find(to as string)?.pid : (to as Pid);
    if (pid !== undefined) kernel.links.exit(kernel.outside, pid, given, "exit");
  }

  /** Sends `message` after `delayMs` milliseconds. */
  sendAfter<T>(to: Pid<T>, message: NoInfer<T>, delayMs: number): TimerRef;
  sendAfter(to: string, message: unknown, delayMs: number): TimerRef;
  sendAfter(to: Address<never>, message: unknown, delayMs: number): TimerRef {
    return new OwnedTimer(
      this.kernel,
      undefined,
      { to: address("to", to), message },
      delay("delayMs", delayMs),
    );
  }

  /** Cancels a timer. Returns false when it has already acted or was cancelled. */
  cancel(timer: TimerRef): boolean {
    return cancelTimer(timer);
  }

  /** Registers a process under a name. @throws NameTakenError, NoProcessError */
  register(name: string, pid: Pid): void {
    this.kernel.names.register(text("name", name), this.kernel.locate(pid));
  }

  /** Frees a name. Returns false when no process had it. */
  unregister(name: string): boolean {
    const holder = this.kernel.names.find(word("name", name));
    if (holder !== undefined) this.kernel.names.release(holder);
    return holder !== undefined;
  }

  /** The process that is registered under the name, if there is one. */
  whereis(name: string): Pid<unknown> | undefined {
    return this.kernel.names.find(word("name", name))?.pid;
  }

  /** Members of a process group, each once, in the order in which they came. */
  members(group: string): Pid<unknown>[] {
    return this.kernel.groups.members(word("group", group));
  }

  /** Whether the process runs in this system. */
  isAlive(pid: Pid): boolean {
    checkPid("pid", pid);
    this.kernel.shared?.process(pid, "read");
    return pid.process !== undefined && pid.process.kernel === this.kernel;
  }

  /** Processes alive, oldest first. */
  processes(): Pid<unknown>[] {
    this.kernel.shared?.listed();
    this.kernel.appear();
    return this.kernel.processes().map((process) => process.pid);
  }

  /** How many processes are alive. */
  get population(): number {
    this.kernel.shared?.counted();
    this.kernel.appear();
    return this.kernel.population;
  }

  /** A snapshot of one process. Undefined when the process does not run in this system. */
  info(pid: Pid): ProcessInfo | undefined {
    checkPid("pid", pid);
    this.kernel.shared?.process(pid, "write");
    this.kernel.shared?.mailbox(pid, "read");
    this.kernel.appear();
    const process = pid.process;
    return process === undefined || process.kernel !== this.kernel
      ? undefined
      : processInfo(this.kernel, process);
  }

  /**
   * Waits until the process exits and returns its exit reason: `noproc` when it does not run in this system.
   *
   * @param options.signal - ends the wait early; the promise rejects with the reason of the signal
   */
  exited(pid: Pid, options?: { readonly signal?: AbortSignal }): Promise<ExitReason> {
    onlyKnown(options, EXITED_OPTIONS);
    return waitForExit(this.kernel, pid, options?.signal);
  }

  /** Resolves when no process has anything left to do, except for pending timers. For tests and orderly ends. */
  idle(): Promise<void> {
    return this.kernel.scheduler.idle();
  }

  /**
   * Accepts a signal that a transport received from another node.
   *
   * @throws OptionError when it is no signal of another node for this one
   */
  deliver(signal: WireSignal): void {
    this.kernel.remote.deliver(signal);
  }

  /** The connection to a node is lost: links, monitors and calls between the two end with `noconnection`. */
  nodeDown(nodeId: string): void {
    this.kernel.remote.nodeDown(word("nodeId", nodeId));
  }

  /** A pid in the form in which it can be sent to another node. */
  address(pid: Pid): PidAddress {
    checkPid("pid", pid);
    return this.kernel.remote.address(pid);
  }

  /** The pid at an address that came from another node. */
  pidAt(address: PidAddress): Pid<unknown> {
    checkPidAddress("address", address);
    return this.kernel.remote.pid(address);
  }

  /**
   * A reply address in the form in which it can be sent to another node. Any node may answer at it.
   *
   * @throws OptionError when it is no reply address, or when the system has no transport
   * @example const wire = (replyTo: ReplyTo<number>) => JSON.stringify(system.replyAddress(replyTo));
   */
  replyAddress(replyTo: ReplyTo<never>): ReplyAddress {
    return this.kernel.remote.replyAddress(replyTo);
  }

  /**
   * The reply address that came from another node, or has travelled and come back. A reply to a call that has ended is discarded by
   * the node of its caller.
   *
   * @throws OptionError when it is no address of a reply, or when the system has no transport
   */
  replyAt(address: ReplyAddress): ReplyTo<unknown> {
    checkReplyAddress("address", address);
    return this.kernel.remote.replyAt(address);
  }

  /**
   * Stops the system. The top-level processes get a `shutdown` one after the other, the last started first. Each has
   * the `shutdown` time of its spawn, or else the limit `shutdownMs`, and is killed after it. A supervisor takes as long as
   * the shutdown times of its children add up to. After `timeoutMs` the system kills every process that is left.
   *
   * A second call returns the same promise. When its `timeoutMs` ends earlier than that of the first call, it shortens the
   * stop.
   *
   * @throws OptionError
   * @example
   * process.once("SIGTERM", () => void system.stop({ timeoutMs: 10_000 }));
   */
  stop(options?: StopOptions): Promise<void> {
    if (options !== undefined) only("", options, ["timeoutMs"]);
    const given = options?.timeoutMs;
    this.kernel.shared?.stopping("read");
    if (given !== undefined || this.#stopping === undefined)
      this.#limitStop(delay("timeoutMs", given ?? this.kernel.limits.stopTimeoutMs, 0, true));
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #stop(): Promise<void> {
    const kernel = this.kernel;
    kernel.shared?.stopping("write");
    kernel.stopping = true;
    kernel.shared?.listedRoots();
    for (const process of kernel.processes().reverse()) {
      kernel.shared?.process(process.pid, "read");
      if (process.parent !== undefined || !process.alive || isLast(process)) continue;
      const gone = waitForExit(kernel, process.pid, undefined);
      kernel.links.exit(kernel.outside, process.pid, SHUTDOWN, "exit");
      const shutdownMs = process.rare?.shutdownMs ?? kernel.limits.shutdownMs;
      const kill = (): void => kernel.links.exit(kernel.outside, process.pid, KILL, "exit");
      const timer =
        shutdownMs === Number.POSITIVE_INFINITY ? undefined : kernel.addTimer(shutdownMs, { fire: kill });
      await gone;
      if (timer !== undefined) kernel.cancelTimer(timer);
    }
    for (const process of kernel.processes()) if (isLast(process)) kernel.end(process, SHUTDOWN);
    this.#killAll();
    if (this.#stopLimit !== undefined) kernel.cancelTimer(this.#stopLimit);
    // Waits for the ends of these processes resolve, and rejections that follow from them still find their owner.
    await kernel.scheduler.idle();
    kernel.close();
  }

  /** Limits the whole stop from now on, unless an earlier limit ends sooner. */
  #limitStop(timeoutMs: number): void {
    const { kernel } = this;
    const before = this.#stopLimit;
    kernel.shared?.stopping("read");
    if (kernel.stopped || timeoutMs === Number.POSITIVE_INFINITY) return;
    if (before !== undefined) {
      if (before.deadline <= kernel.env.now() + timeoutMs) return;
      kernel.cancelTimer(before);
    }
    this.#stopLimit = kernel.addTimer(timeoutMs, { fire: () => this.#killAll() });
  }

  /** Waits for these ends still resolve. The kills are deliberate, so they are not reported as crashes. */
  #killAll(): void {
    this.kernel.shared?.stopping("write");
    this.kernel.stopped = true;
    this.kernel.shared?.listed();
    for (const process of this.kernel.processes()) this.kernel.end(process, KILLED, undefined, true);
    const stopped = new SystemStoppedError(this.kernel.node.name);
    for (const wait of members(this.kernel.waits)) wait.abandon(stopped);
    this.kernel.remote.abandon(stopped);
  }
}

function isLast({ behaviour }: Process): boolean {
  return typeof behaviour !== "function" && behaviour.isLast === true;
}

function checkLimits(given: SystemLimits = {}): Limits {
  if (typeof given !== "object" || given === null)
    throw new OptionError("limits", given, "an object of limits");
  for (const [name, value] of Object.entries(given)) {
    const path = `limits.${name}`;
    if (!Object.hasOwn(SYSTEM_DEFAULTS, name))
      only("limits", { [name]: value }, Object.keys(SYSTEM_DEFAULTS));
    if (name.endsWith("Ms")) delay(path, value, 0, true);
    else count(path, value, 1, true);
  }
  return { ...SYSTEM_DEFAULTS, ...given };
}

function checkTransport(given: RemoteNodes | undefined): RemoteNodes | undefined {
  if (given === undefined) return undefined;
  return withMethod(
    "transport",
    given,
    "connect",
    "remoteNodes(…) of an object with a method send(node, signal)",
  );
}

function checkEnvironment(given: Environment): Environment {
  if (typeof given?.createScheduler === "function") return given;
  throw new OptionError("environment", given, "an environment of signalbox, such as testClock().environment");
}
