// Everything that the code of a process can do. After the process has exited, every method here throws ProcessExitedError.

import { type Behaviour, SPAWN_OPTIONS, type SpawnOptions } from "./behaviour.js";
import { NotABodyError, NotCallbacksError, OptionError } from "./errors.js";
import { onlyKnown } from "./known-options.js";
import { removeSignal } from "./links.js";
import { MailboxStream, type MessageStream } from "./message-stream.js";
import { Monitor } from "./monitor.js";
import {
  address,
  anError,
  callable,
  flag as checkFlag,
  checkPid,
  checkTarget,
  delay,
  word,
} from "./options.js";
import { cancelTimer, OwnedTimer, type TimerRef } from "./owned-timer.js";
import type { Pid } from "./pid.js";
import type { Process } from "./process.js";
import { processSignal } from "./process-signal.js";
import { DEAD } from "./process-state.js";
import { type ExitInput, NORMAL, toReason } from "./reason.js";
import { type ReceiveOptions, receive, type Wanted } from "./receive.js";
import { type CallOptions, exitedError, type Reply, type ReplyTo, refused, requestOf } from "./request.js";
import { type ContextRunner, contextRunner } from "./sender-context.js";
import { checkStartOptions, type Startable, type StartOptions, startAwaited } from "./start.js";
import { actual } from "./via.js";

const FLUSH_OPTIONS: ReadonlySet<string> = new Set(["flush"]);

/** A pid, or the name a process is registered under. */
export type Address<M> = Pid<M> | string;

/**
 * The handle through which the code of a process acts: it sends, spawns, links, sets timers and ends the process.
 * Callbacks get a `Context`; a function body gets a `BodyContext`, which can also receive. There is no global "current
 * process": code that holds a `ctx` acts as its process until that process exits. After the exit, methods throw
 * ProcessExitedError.
 *
 * @example
 * const echo = system.spawn<{ from: Pid<string> }>({ handle: (ctx, { from }) => ctx.send(from, "pong") });
 */
export class Context<M = unknown> {
  readonly #process: Process;

  /** @internal */
  constructor(process: Process) {
    this.#process = process;
  }

  /** The process. @throws ProcessExitedError when it has exited */
  get #live(): Process {
    const process = this.#process;
    if (process.state === DEAD) throw exitedError(process);
    return process;
  }

  /** The pid of this process. */
  get self(): Pid<M> {
    return this.#process.pid;
  }

  /** The process that spawned this one. Undefined when code outside of all processes did. */
  get parent(): Pid | undefined {
    return this.#process.parent;
  }

  /** Whether this process is still running. Never throws. */
  get alive(): boolean {
    return this.#process.state !== DEAD;
  }

  /**
   * An AbortSignal that is aborted when the process exits. Pass the signal to `fetch` or a database call, and the call
   * ends with the process. A listener of the signal runs as code of this process: an error in it is reported as a late
   * error of this process.
   *
   * @example const response = await fetch("http://words.example", { signal: ctx.signal });
   */
  get signal(): AbortSignal {
    const process = this.#process;
    const { extras } = process;
    if (extras.abort === undefined) {
      extras.abort = processSignal((listener) => process.perform(listener));
      if (!this.alive) extras.abort.abort(exitedError(process));
    }
    return extras.abort.signal;
  }

  /**
   * Captures the asynchronous context (AsyncLocalStorage) of the sender of the last message. The returned function runs
   * other functions in that context, now or later. Needs a system with the option `context: "sender"`. Without that option
   * they run in the context of this process.
   *
   * @example const asSender = ctx.senderContext(); // asSender(() => log("done"))
   */
  senderContext(): ContextRunner {
    return contextRunner(this.#live);
  }

  /** The time of the system's clock, in milliseconds: monotonic, and virtual under a test clock or the simulator. */
  now(): number {
    return this.#live.kernel.env.now();
  }

  /**
   * Milliseconds since 1970 by the system's clock. Unlike {@link Context.now} it may jump, forwards and back, and differs between
   * machines. Use it instead of `Date.now`: the simulator controls it.
   */
  wallTime(): number {
    return this.#live.kernel.env.wallTime();
  }

  /** A random number in [0, 1) from the system's Environment. Use it instead of `Math.random`: tests can repeat it. */
  random(): number {
    return this.#live.kernel.env.random();
  }

  /**
   * Marks a point where this code may do something unlikely but allowed: flush a buffer early, use a tiny batch, drop a cache, ask
   * again. Under the simulator the point fires in some schedules, as the simulator decides. In production and under `testClock()`
   * it never fires.
   *
   * @param label - names the point in reports and statistics
   * @param probability - how often the point fires in the schedules in which it is enabled; more than 0, at most 1. Default 0.25
   * @see "Simulation and Testing" in the documentation of FoundationDB, for its BUGGIFY macro
   * @example
   * const batchSize = ctx.buggify("tiny batches") ? 1 : 100;
   */
  buggify(label: string, probability?: number): boolean {
    const { env } = this.#live.kernel;
    word("label", label);
    if (probability !== undefined && typeof probability !== "number")
      throw new OptionError("probability", probability, "a number above 0, at most 1");
    return env.buggify?.(label, probability) === true;
  }

  /**
   * Sends a message. The message is in the receiver's mailbox when `send` returns, and is handled in a later turn. A
   * message to a process that has exited is counted as a dead letter.
   *
   * @throws MailboxFullError when the receiver's mailbox is full and its policy is `reject`
   */
  send<T>(to: Pid<T>, message: NoInfer<T>): void;
  send(to: string, message: unknown): void;
  send(to: Address<never>, message: unknown): void {
    const process = this.#process;
    if (process.state === DEAD) throw exitedError(process);
    if (typeof to === "object") {
      const target = (to as Pid<never> | null)?.process;
      if (target !== undefined && target.kernel === process.kernel) {
        target.deliver(message, process);
        return;
      }
    }
    process.kernel.send(to, message, process);
  }

  /**
   * Sends a request and waits for the reply. `build` gets the reply address and returns the message to send. The callee
   * answers with `ctx.reply` or `ctx.refuse`.
   *
   * @throws CallTimeoutError after `timeoutMs` (5,000 ms unless given), CalleeExitedError when the callee exits first, the
   *   reason of `signal` when that is aborted first, CallSelfError when the process calls itself
   *
   * @example const left = await ctx.call(till, (replyTo: ReplyTo<number>) => ({ type: "left", replyTo }));
   */
  call<M, const T extends M, R>(
    to: Address<M>,
    build: (replyTo: ReplyTo<R>) => T,
    options?: CallOptions,
  ): Promise<R> {
    const process = this.#process;
    if (process.state === DEAD) return refused(process);
    return process.kernel.calls.call(process, to, build, options);
  }

  /** @internal Rejects a request that the process makes after its end. */
  refusal(): Promise<never> {
    return refused(this.#process);
  }

  /**
   * Makes a call without waiting for its reply: the process handles other messages meanwhile. `onReply` runs between two
   * messages, exactly once unless this process exits first. Only for processes made from callbacks, where awaiting a call
   * would delay every later message.
   *
   * @throws NotCallbacksError in a function body
   * @example ctx.ask(till, (replyTo: ReplyTo<number>) => ({ type: "left", replyTo }), (reply) => log(reply));
   */
  ask<M, const T extends M, R>(
    to: Address<M>,
    build: (replyTo: ReplyTo<R>) => T,
    onReply: (reply: Reply<R>) => unknown,
    options?: CallOptions,
  ): void {
    const process = this.#live;
    if (process.handle === undefined) throw new NotCallbacksError(process.pid);
    callable("onReply", onReply, "a function of the reply");
    process.kernel.calls.ask(process, to, build, onReply, options);
  }

  /** Answers a call. When the call has already ended, the answer is discarded and the event `discardedReply` emitted. */
  reply<R>(to: ReplyTo<R>, value: R): void {
    this.#live;
    requestOf(to).answer(value);
  }

  /** Answers a call with an error: the call rejects with exactly that error. The callee goes on. */
  refuse(to: ReplyTo<never>, error: Error): void {
    this.#live;
    anError("error", error);
    requestOf(to).refuse(error);
  }

  /** Starts a process without a link to this one. Its first turn comes later. */
  spawn<T>(behaviour: Behaviour<T>, options?: SpawnOptions): Pid<T> {
    const process = this.#live;
    onlyKnown(options, SPAWN_OPTIONS);
    return process.kernel.spawn(behaviour, process, options).pid;
  }

  /** Starts a process and links it to this one in one step: its exit signal arrives even when it exits at once. */
  spawnLink<T>(behaviour: Behaviour<T>, options?: SpawnOptions): Pid<T> {
    const process = this.#live;
    onlyKnown(options, SPAWN_OPTIONS);
    const child = process.kernel.spawn(behaviour, process, options);
    process.kernel.links.link(process, child.pid, child.exitReason);
    return child.pid;
  }

  /** Starts a process and monitors it in one step: its DOWN arrives even when it exits at once. */
  spawnMonitor<T>(
    behaviour: Behaviour<T>,
    options?: SpawnOptions,
  ): {
    /** The process that was started. */
    readonly pid: Pid<T>;
    /** The monitor; the DOWN of the process carries it as `ref`. */
    readonly ref: Monitor;
  } {
    const process = this.#live;
    onlyKnown(options, SPAWN_OPTIONS);
    const child = process.kernel.spawn(behaviour, process, options);
    return { pid: child.pid, ref: process.kernel.links.monitor(process, child.pid, child.exitReason) };
  }

  /**
   * Starts a server, a supervisor or another definition, linked to this process, and waits until its `init` has ended.
   *
   * @throws StartError when `init` fails, returns `ignore` or exceeds the limit `startTimeoutMs`
   */
  async start<Args extends readonly unknown[], Ref>(what: Startable<Args, Ref>, ...args: Args): Promise<Ref> {
    return this.#start(what, args, undefined);
  }

  /** {@link Context.start} with options. */
  async startWith<Args extends readonly unknown[], Ref>(
    options: StartOptions,
    what: Startable<Args, Ref>,
    ...args: Args
  ): Promise<Ref> {
    return this.#start(what, args, checkStartOptions(options));
  }

  #start<Args extends readonly unknown[], Ref>(
    what: Startable<Args, Ref>,
    args: Args,
    options: StartOptions | undefined,
  ): Promise<Ref> {
    const process = this.#process;
    if (process.state === DEAD) return refused(process);
    return startAwaited(process.kernel, process, what, args, options);
  }

  /** Ends the start of this process, after its `init` returned `deferStart`. Further calls have no effect. */
  started(): void {
    const process = this.#live;
    process.kernel.notifyStart(process, { type: "started" });
  }

  /**
   * Links this process and another one: when one of them fails, the other gets an exit signal. Linking twice has no further
   * effect. When the other process has already exited, this process gets an exit signal with reason `noproc`.
   */
  link(to: Pid): void {
    const process = this.#live;
    checkPid("to", to);
    process.kernel.links.link(process, to);
    this.#live;
  }

  /**
   * Ends a link at once. An EXIT that is already in the mailbox stays there, unless `flush` removes it.
   *
   * @param options.flush - removes an EXIT of that process that is already in the mailbox. Default false
   */
  unlink(from: Pid, options?: { readonly flush?: boolean }): void {
    onlyKnown(options, FLUSH_OPTIONS);
    const process = this.#live;
    checkPid("from", from);
    process.kernel.links.unlink(process, from);
    if (options?.flush) removeSignal(process, (signal) => signal.type === "exit" && signal.from === from);
  }

  /** Watches a process: one DOWN arrives when that process exits, or at once with `noproc` when it has already exited. */
  monitor(target: Address<never>): Monitor {
    const process = this.#live;
    checkTarget("target", target);
    const { links, names } = process.kernel;
    return links.monitor(
      process,
      typeof target === "string" ? (names.find(target)?.pid ?? process.kernel.nobody(target)) : target,
    );
  }

  /**
   * Ends a monitor.
   *
   * @param options.flush - removes a DOWN of the monitor that is already in the mailbox. Default false
   */
  demonitor(ref: Monitor, options?: { readonly flush?: boolean }): void {
    onlyKnown(options, FLUSH_OPTIONS);
    const process = this.#live;
    if (!(ref instanceof Monitor)) throw new OptionError("ref", ref, "a monitor made by `monitor`");
    process.kernel.links.demonitor(process, ref, options?.flush === true);
  }

  /** Ends this process with a reason, `normal` unless given. It throws, so that no code after it runs. */
  exit(reason?: ExitInput): never;
  /** Sends an exit signal to another process. The reason `"kill"` ends that process even when it traps exits. */
  exit(to: Address<never>, reason: ExitInput): void;
  exit(first?: Address<never> | ExitInput, second?: ExitInput): void {
    const process = this.#live;
    if (second !== undefined) {
      const to = address("to", first);
      const reason = toReason(second);
      const pid = typeof to === "string" ? process.kernel.names.find(to)?.pid : actual(to);
      if (pid !== undefined) process.kernel.links.exit(process.pid, pid, reason, "exit");
      this.#live;
      return;
    }
    process.kernel.stop(process, first === undefined ? NORMAL : toReason(first as ExitInput), undefined);
    throw exitedError(process);
  }

  /**
   * Turns trapping on or off. A process that traps exits gets exit signals as EXIT entries in its mailbox instead of ending.
   * Returns the setting before.
   */
  trapExit(flag: boolean): boolean {
    const process = this.#live;
    checkFlag("flag", flag);
    process.kernel.shared?.links(process.pid);
    const before = process.trapping;
    process.trapping = flag;
    return before;
  }

  /** Sends `message` after `delayMs` milliseconds. When this process exits before, the message is not sent. */
  sendAfter<T>(to: Pid<T>, message: NoInfer<T>, delayMs: number): TimerRef;
  sendAfter(to: string, message: unknown, delayMs: number): TimerRef;
  sendAfter(to: Address<never>, message: unknown, delayMs: number): TimerRef {
    const process = this.#live;
    return new OwnedTimer(
      process.kernel,
      process,
      { to: address("to", to), message },
      delay("delayMs", delayMs),
    );
  }

  /**
   * Sends `message` every `periodMs` milliseconds, first after one period, until the timer is cancelled or this process
   * exits.
   */
  sendInterval<T>(to: Pid<T>, message: NoInfer<T>, periodMs: number): TimerRef;
  sendInterval(to: string, message: unknown, periodMs: number): TimerRef;
  sendInterval(to: Address<never>, message: unknown, periodMs: number): TimerRef {
    const process = this.#live;
    const period = delay("periodMs", periodMs, 1);
    return new OwnedTimer(process.kernel, process, { to: address("to", to), message }, period, period);
  }

  /**
   * Runs `fn` as code of this process after `delayMs` milliseconds. A throw in `fn` crashes the process. In a process made
   * from callbacks, `fn` runs between two messages.
   *
   * @example const timer = ctx.runAfter(1_000, () => console.log("a second later"));
   */
  runAfter(delayMs: number, fn: () => unknown): TimerRef {
    const process = this.#live;
    return new OwnedTimer(process.kernel, process, { run: callable("fn", fn) }, delay("delayMs", delayMs));
  }

  /**
   * Cancels a timer. Returns false when it has already sent its message or run its function, or was cancelled. A function that
   * waits between two messages for its turn does not run any more.
   */
  cancel(timer: TimerRef): boolean {
    this.#live;
    return cancelTimer(timer);
  }

  /**
   * Makes a function part of this process, for callbacks of the host such as those of sockets and raw timers. A throw or a
   * rejection in the function crashes this process. After the process has exited, the function does nothing. The function
   * runs in the asynchronous context in which `wrap` was called.
   *
   * @example setTimeout(ctx.wrap(() => console.log("still alive")), 100);
   */
  wrap<A extends unknown[]>(fn: (...args: A) => unknown): (...args: A) => void {
    const process = this.#process;
    callable("fn", fn);
    const context = process.kernel.env.captureContext();
    return (...args) => {
      if (process.state !== DEAD) context.runInAsyncScope(() => process.perform(() => void fn(...args)));
    };
  }

  /** Registers this process, or the given one, under a name. @throws NameTakenError, NoProcessError */
  register(name: string, pid?: Pid): void {
    const { kernel } = this.#live;
    kernel.names.register(name, pid === undefined ? this.#process : kernel.locate(pid));
  }

  /** Frees the name of this process, if it has one. */
  unregister(): void {
    const { kernel } = this.#live;
    kernel.names.release(this.#process);
  }

  /** The process that is registered under the name, if there is one. */
  whereis(name: string): Pid<unknown> | undefined {
    return this.#live.kernel.names.find(word("name", name))?.pid;
  }

  /** Joins a process group. A process that joined several times must leave as often. An exit leaves all groups. */
  join(group: string): void {
    this.#live.kernel.groups.join(word("group", group), this.#process);
  }

  /** Leaves a process group once. Returns false when the process was no member. */
  leave(group: string): boolean {
    return this.#live.kernel.groups.leave(word("group", group), this.#process);
  }

  /** The members of a process group, each once. */
  members(group: string): Pid<unknown>[] {
    return this.#live.kernel.groups.members(word("group", group));
  }

  /** Returns the members of a group. From now on a `group` signal arrives when a process first joins or last leaves it. */
  monitorGroup(group: string): Pid<unknown>[] {
    return this.#live.kernel.groups.monitor(word("group", group), this.#process);
  }

  /** Ends the signals of {@link Context.monitorGroup}. */
  demonitorGroup(group: string): void {
    this.#live.kernel.groups.demonitor(word("group", group), this.#process);
  }

  /** @internal The public type of this is BodyContext's. */
  receive(first?: ((message: never) => boolean) | ReceiveOptions, second?: ReceiveOptions): Promise<unknown> {
    return this.#receive("messages", first, second);
  }

  /** @internal */
  receiveSignal(
    first?: ((signal: never) => boolean) | ReceiveOptions,
    second?: ReceiveOptions,
  ): Promise<unknown> {
    return this.#receive("signals", first, second);
  }

  /** @internal */
  receiveAny(options?: ReceiveOptions): Promise<unknown> {
    if (typeof options === "function")
      return Promise.reject(new OptionError("options", options, "an object"));
    return this.#receive("any", options, undefined);
  }

  /** @internal */
  messages(options?: ReceiveOptions): MessageStream<unknown> {
    const process = this.#live;
    if (process.handle !== undefined) throw new NotABodyError(process.pid);
    return new MailboxStream(process, options);
  }

  #receive(
    wanted: Wanted,
    first: ((item: never) => boolean) | ReceiveOptions | undefined,
    second: ReceiveOptions | undefined,
  ): Promise<unknown> {
    const process = this.#process;
    if (process.handle !== undefined) return Promise.reject(new NotABodyError(process.pid));
    const filter = typeof first === "function" ? first : undefined;
    return receive(process, wanted, filter, typeof first === "function" ? second : first);
  }
}
