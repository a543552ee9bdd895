// Everything a process can do, as its code sees it. After the process's exit every one of these is refused.

import type { Behaviour, SpawnOptions } from "./behaviour.js";
import { NotABodyError, NotCallbacksError } from "./errors.js";
import { removeSignal } from "./links.js";
import type { Monitor } from "./monitor.js";
import { address, delay } from "./options.js";
import { OwnedTimer, type TimerRef } from "./owned-timer.js";
import type { Pid } from "./pid.js";
import type { Process } from "./process.js";
import { processSignal } from "./process-signal.js";
import { DEAD } from "./process-state.js";
import { type ExitInput, NORMAL, toReason } from "./reason.js";
import { type ReceiveOptions, receive, type Wanted } from "./receive.js";
import { type CallOptions, exitedError, type Reply, type ReplyTo, type Request } from "./request.js";
import { type ContextRunner, contextRunner } from "./sender-context.js";
import { type Startable, type StartOptions, startAwaited } from "./start.js";

/** A pid, or the name a process is registered under. */
export type Address<M> = Pid<M> | string;

/**
 * What a process made from callbacks is given; `BodyContext` adds receiving. There is no global "current
 * process": whoever holds the `ctx` acts in its process's name, for as long as that lives.
 */
export class Context<M = unknown> {
  readonly #process: Process;

  /** @internal */
  constructor(process: Process) {
    this.#process = process;
  }

  /** The process itself, once it is known to be alive. */
  get #live(): Process {
    const process = this.#process;
    if (process.state === DEAD) throw exitedError(process);
    return process;
  }

  /** The pid of this process. */
  get self(): Pid<M> {
    return this.#process.pid;
  }

  /** Who spawned it; undefined when that was no process. */
  get parent(): Pid | undefined {
    return this.#process.parent;
  }

  /** False once the process has ended. */
  get alive(): boolean {
    return this.#process.state !== DEAD;
  }

  /**
   * Aborted when the process ends: give it to `fetch` or a database call, and they end with the process. A listener of
   * this signal is code of this process: what it throws or rejects is a late error of this process.
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
   * Gives a function that runs others in the context of the sender of the message received last, then or later. Needs the
   * option `context: "sender"` of the system; without it they run in this process's own context.
   * @example const asSender = ctx.senderContext(); // asSender(() => log("done"))
   */
  senderContext(): ContextRunner {
    return contextRunner(this.#live);
  }

  /** Milliseconds of the system's clock: monotonic, virtual under a simulator. */
  now(): number {
    return this.#live.kernel.env.now();
  }

  /** A number in [0, 1) from the system's Environment: use it instead of `Math.random`. */
  random(): number {
    return this.#live.kernel.env.random();
  }

  /**
   * Sends a message; it is queued before this returns and handled in a later turn. To a process that is gone it is a
   * dead letter. @throws MailboxFullError when the receiver's mailbox is bounded with policy `reject` and full.
   */
  send<T>(to: Pid<T>, message: NoInfer<T>): void;
  send(to: string, message: unknown): void;
  send(to: Address<never>, message: unknown): void {
    const process = this.#process;
    if (process.state === DEAD) throw exitedError(process);
    if (typeof to === "object") {
      const target = to.process;
      if (target !== undefined && target.kernel === process.kernel) {
        target.deliver(message);
        return;
      }
    }
    process.kernel.send(to, message);
  }

  /**
   * Sends a request and waits for the reply. `build` makes the message around the address that the answer goes to;
   * the callee answers with `ctx.reply`. Rejects with CallTimeoutError, CalleeExitedError or the AbortSignal's reason,
   * whichever comes first.
   *
   * @example const left = await ctx.call(till, (replyTo: ReplyTo<number>) => ({ type: "left", replyTo }));
   */
  call<M, const T extends M, R>(
    to: Address<M>,
    build: (replyTo: ReplyTo<R>) => T,
    options?: CallOptions,
  ): Promise<R> {
    const process = this.#process;
    if (process.state === DEAD) return Promise.reject(exitedError(process));
    return process.kernel.calls.call(process, to, build, options);
  }

  /**
   * A call whose reply is handled between this process's messages, which go on meanwhile: for callbacks, where
   * awaiting a call would hold up everything else. `onReply` runs exactly once unless this process ends first.
   *
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
    process.kernel.calls.ask(process, to, build, onReply, options);
  }

  /** Answers a call. Dropped when the call has ended already. */
  reply<R>(to: ReplyTo<R>, value: R): void {
    this.#live;
    (to as unknown as Request<R>).fulfil(value);
  }

  /** Answers a call with an error: it rejects with exactly that. A refusal is protocol; a failure is a crash. */
  refuse(to: ReplyTo<never>, error: Error): void {
    this.#live;
    (to as unknown as Request).fail(error);
  }

  /** Starts a process that this one is not linked to. */
  spawn<T>(behaviour: Behaviour<T>, options?: SpawnOptions): Pid<T> {
    const process = this.#live;
    return process.kernel.spawn(behaviour, process, options).pid;
  }

  /** Starts a process linked to this one, atomically: however soon it ends, its EXIT comes. */
  spawnLink<T>(behaviour: Behaviour<T>, options?: SpawnOptions): Pid<T> {
    const process = this.#live;
    const child = process.kernel.spawn(behaviour, process, options);
    process.kernel.links.link(process, child.pid, child.exitReason);
    return child.pid;
  }

  /** Starts a process and monitors it, atomically: however soon it ends, its DOWN comes. */
  spawnMonitor<T>(
    behaviour: Behaviour<T>,
    options?: SpawnOptions,
  ): { readonly pid: Pid<T>; readonly ref: Monitor } {
    const process = this.#live;
    const child = process.kernel.spawn(behaviour, process, options);
    return { pid: child.pid, ref: process.kernel.links.monitor(process, child.pid, child.exitReason) };
  }

  /**
   * Starts a server, supervisor or the like, linked to this process, and waits until its `init` is done.
   *
   * @throws StartError when it fails, is ignored or takes too long
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
    return this.#start(what, args, options);
  }

  #start<Args extends readonly unknown[], Ref>(
    what: Startable<Args, Ref>,
    args: Args,
    options: StartOptions | undefined,
  ): Promise<Ref> {
    const process = this.#live;
    return startAwaited(process.kernel, process, what, args, options);
  }

  /** Counts this process as started, after an `init` that returned `deferStart`. Again changes nothing. */
  started(): void {
    const process = this.#live;
    process.kernel.notifyStart(process, { type: "started" });
  }

  /** Links both ways; once linked, again changes nothing. To a process that is gone: an EXIT `noproc` for this one. */
  link(to: Pid): void {
    const process = this.#live;
    process.kernel.links.link(process, to);
    this.#live;
  }

  /** Ends the link at once. An EXIT that is queued already stays, unless `flush` removes it. */
  unlink(from: Pid, options?: { readonly flush?: boolean }): void {
    const process = this.#live;
    process.kernel.links.unlink(process, from);
    if (options?.flush) removeSignal(process, (signal) => signal.type === "exit" && signal.from === from);
  }

  /** Watches a process: one DOWN comes when it ends, at once with `noproc` when it is gone already. */
  monitor(target: Address<never>): Monitor {
    const process = this.#live;
    const { links, names } = process.kernel;
    return links.monitor(
      process,
      typeof target === "string" ? (names.find(target)?.pid ?? process.kernel.nobody(target)) : target,
    );
  }

  /** Ends a monitor; with `flush` its queued DOWN is removed as well, so that none comes after this. */
  demonitor(ref: Monitor, options?: { readonly flush?: boolean }): void {
    const process = this.#live;
    process.kernel.links.demonitor(process, ref, options?.flush === true);
  }

  /** Ends this process with a reason, `normal` unless given. Nothing after this runs: it throws out of your code. */
  exit(reason?: ExitInput): never;
  /** Sends an exit signal to another process; `"kill"` cannot be trapped. */
  exit(to: Address<never>, reason: ExitInput): void;
  exit(first?: Address<never> | ExitInput, second?: ExitInput): void {
    const process = this.#live;
    if (second !== undefined) {
      const to = address("to", first);
      const reason = toReason(second);
      const pid = typeof to === "string" ? process.kernel.names.find(to)?.pid : to;
      if (pid !== undefined) process.kernel.links.exit(process.pid, pid, reason, "exit");
      this.#live;
      return;
    }
    process.kernel.stop(process, first === undefined ? NORMAL : toReason(first as ExitInput), undefined);
    throw exitedError(process);
  }

  /** Whether exit signals come as messages (EXIT) instead of ending this process. Returns what it was before. */
  trapExit(flag: boolean): boolean {
    const process = this.#live;
    const before = process.trapping;
    process.trapping = flag;
    return before;
  }

  /** Sends `message` after `delayMs`; not at all when this process ends before. */
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

  /** Sends `message` every `periodMs`, first after one period, until it is cancelled or this process ends. */
  sendInterval<T>(to: Pid<T>, message: NoInfer<T>, periodMs: number): TimerRef;
  sendInterval(to: string, message: unknown, periodMs: number): TimerRef;
  sendInterval(to: Address<never>, message: unknown, periodMs: number): TimerRef {
    const process = this.#live;
    const period = delay("periodMs", periodMs, 1);
    return new OwnedTimer(process.kernel, process, { to: address("to", to), message }, period, period);
  }

  /** Runs `fn` as part of this process after `delayMs`: a throw is its crash. Callbacks run it between messages. */
  runAfter(delayMs: number, fn: () => unknown): TimerRef {
    const process = this.#live;
    return new OwnedTimer(process.kernel, process, { run: fn }, delay("delayMs", delayMs));
  }

  /** False when the timer had fired or was cancelled before. */
  cancel(timer: TimerRef): boolean {
    this.#live;
    return (timer as OwnedTimer).cancel();
  }

  /**
   * Makes a function part of this process, for callbacks of the host (sockets, raw timers): a throw or rejection in it is
   * this process's crash, and after the process's exit it does nothing. It runs in the asynchronous context of this call.
   */
  wrap<A extends unknown[]>(fn: (...args: A) => unknown): (...args: A) => void {
    const process = this.#process;
    const context = process.kernel.env.captureContext();
    return (...args) => {
      if (process.state !== DEAD) context.runInAsyncScope(() => process.perform(() => void fn(...args)));
    };
  }

  /** Takes a name, for this process or the one given. @throws NameTakenError, NoProcessError */
  register(name: string, pid?: Pid): void {
    const { kernel } = this.#live;
    kernel.names.register(name, pid === undefined ? this.#process : kernel.locate(pid));
  }

  /** Gives the name of this process back. */
  unregister(): void {
    const { kernel } = this.#live;
    kernel.names.release(this.#process);
  }

  /** Who holds the name. */
  whereis(name: string): Pid<unknown> | undefined {
    return this.#live.kernel.names.find(name)?.pid;
  }

  /** Joins a process group; as often as it joined, it must leave. An exit leaves them all. */
  join(group: string): void {
    this.#live.kernel.groups.join(group, this.#process);
  }

  /** Leaves a process group once. False when it was no member. */
  leave(group: string): boolean {
    return this.#live.kernel.groups.leave(group, this.#process);
  }

  /** Members of a process group, each once. */
  members(group: string): Pid<unknown>[] {
    return this.#live.kernel.groups.members(group);
  }

  /** Members now; from now on a signal `group` for each first joining and last leaving. */
  monitorGroup(group: string): Pid<unknown>[] {
    return this.#live.kernel.groups.monitor(group, this.#process);
  }

  /** Ends the signals of {@link Context.monitorGroup}. */
  demonitorGroup(group: string): void {
    this.#live.kernel.groups.demonitor(group, this.#process);
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
    return this.#receive("any", options, undefined);
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
