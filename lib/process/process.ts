// A process: its state, and the code that an activation runs. inbox.ts decides which entries its mailbox takes, context.ts has its
// operations, kernel.ts its start and end.

import { type Body, type Callbacks, type Code, SetAside, type StartOutcome, Stop } from "./behaviour.js";
import type { MailboxLimits } from "./bound.js";
import { Context } from "./context.js";
import {
  type Entry,
  isEntry,
  isReturnable,
  plain,
  SIGNAL,
  type SignalEntry,
  TASK,
  TaskEntry,
  taken,
} from "./entries.js";
import type { AsyncContext, Scheduler } from "./environment.js";
import { Inbox, isOutsideBound } from "./inbox.js";
import type { Kernel } from "./kernel.js";
import { EMPTY } from "./mailbox.js";
import type { Monitor } from "./monitor.js";
import type { OneOrMany } from "./one-or-many.js";
import { inNameOf, origin } from "./origin.js";
import type { OwnedTimer } from "./owned-timer.js";
import type { Pid } from "./pid.js";
import {
  DEAD,
  HELD,
  IDLE,
  READY,
  RUNNING,
  STARTING,
  type State,
  SUSPENDED,
  TERMINATING,
} from "./process-state.js";
import { crash, type ExitReason } from "./reason.js";
import { type PendingReceive, resumeBody, startBody } from "./receive.js";
import { reportLate } from "./report-failure.js";
import { Request } from "./request.js";
import { captureSenderContext } from "./sender-context.js";
import { reportEarlyEnd } from "./start.js";
import { isThenable } from "./thenable.js";
import type { Holding } from "./via.js";

/** Fields that only some processes have, kept apart so that an idle process stays small. */
export interface Rare {
  name: string | undefined;
  groups: Set<string> | undefined;
  /** The registries and partitions that hold entries of the process. */
  holdings: Set<Holding> | undefined;
  abort: AbortController | undefined;
  onStart: ((outcome: StartOutcome) => void) | undefined;
  mailbox: MailboxLimits | undefined;
  /** How long it may take to stop, if its spawn said. */
  shutdownMs: number | undefined;
  /** Signals and tasks waiting, kept for bounded mailboxes only: they are outside the bound. */
  unbounded: number;
  waits: OneOrMany<Abandonable>;
  /** The first of its calls to other nodes. */
  farCalls: FarCall | undefined;
  /** The message an asynchronous callback is at work on. */
  message: unknown;
  /** The reason with which the parent has asked a function body to stop, once its stream of messages has ended for that. */
  stopAsked: ExitReason | undefined;
  /** The context that the message carried which a body received last. */
  sender: AsyncContext | undefined;
  /** The calls of its code that end with their replies, not with the process. */
  calling: OneOrMany<Request>;
  /** A body that receives while it waits for a reply. */
  receivesMeanwhile: boolean;
  /** Present while an inspector has suspended the process. */
  hold: Hold | undefined;
  /** Present while the process is traced. */
  tracer: ProcessTracer | undefined;
}

/** The suspension of a process. Its code comes with the inspector, so a program without one does not load it. */
export interface Hold {
  /** It is in the run queue. */
  queued: boolean;
  /** It waits for a request that takes longer, and answers no other. */
  busy: boolean;
  /** An entry has reached the process. */
  heard(process: Process, entry: unknown): void;
  /** An activation of the process. Returns how many requests it has answered. */
  attend(process: Process): number;
}

/** The traces of a process, as its code sees them. */
export interface ProcessTracer {
  /** A body has taken an entry out of its mailbox. */
  took(entry: unknown): void;
  /** Shows the state to the traces that want it, if it has changed. */
  look(): void;
}

/** A wait of the process's code. It rejects when the process ends, so that `finally` blocks run. */
export interface Abandonable {
  abandon(error: Error): void;
}

/** An open call to another node, in the list of its caller. */
export interface FarCall {
  readonly request: Request;
}

export class Process extends Inbox {
  state: State = STARTING;
  trapping = false;
  handled = 0;
  links: OneOrMany<Pid> = undefined;
  watching: OneOrMany<Monitor> = undefined;
  watchers: OneOrMany<Monitor> = undefined;
  timers: OneOrMany<OwnedTimer> = undefined;
  /** First of the calls that wait for this process's reply. */
  requests: Request | undefined = undefined;
  /** The receive of a function body that waits for an entry. */
  pendingReceive: PendingReceive | undefined = undefined;
  rare: Rare | undefined = undefined;
  /** Settled when the asynchronous handler at work, the `init` or the body has ended. */
  settling: Promise<unknown> | undefined = undefined;
  exitReason: ExitReason | undefined = undefined;
  next: Process | undefined = undefined;
  previous: Process | undefined = undefined;
  readonly kernel: Kernel;
  protected readonly scheduler: Scheduler;
  readonly pid: Pid<unknown>;
  readonly parent: Pid | undefined;
  behaviour: Code;
  handle: ((ctx: Context<unknown>, message: unknown) => unknown) | undefined;
  readonly ctx: Context<unknown>;

  constructor(kernel: Kernel, pid: Pid<unknown>, parent: Pid | undefined, behaviour: Code) {
    super();
    this.kernel = kernel;
    this.scheduler = kernel.scheduler;
    this.pid = pid;
    this.parent = parent;
    this.behaviour = behaviour;
    this.handle = typeof behaviour === "function" ? undefined : behaviour.handle;
    this.ctx = new Context(this);
  }

  get alive(): boolean {
    return this.state !== DEAD;
  }

  get extras(): Rare {
    this.rare ??= {
      name: undefined,
      groups: undefined,
      holdings: undefined,
      abort: undefined,
      onStart: undefined,
      mailbox: undefined,
      shutdownMs: undefined,
      unbounded: 0,
      waits: undefined,
      farCalls: undefined,
      message: undefined,
      stopAsked: undefined,
      sender: undefined,
      calling: undefined,
      receivesMeanwhile: false,
      hold: undefined,
      tracer: undefined,
    };
    return this.rare;
  }

  /**
   * Queues a task of the process itself before everything that waits. Called within a turn of the process, or before its first
   * one, so that nothing has to wake it.
   */
  runNext(run: () => unknown): void {
    const task = new TaskEntry(run);
    task.context = captureSenderContext(this.kernel);
    this.queueFirst(task);
  }

  protected override measure(): void {
    const { limits, events } = this.kernel;
    if (!this.isDeep(limits.highWater)) return;
    this.kernel.shared?.listeners("read");
    if (events.wants.highWater) events.publish("highWater", { pid: this.pid, depth: this.depth });
  }

  /** A message without room becomes a dead letter. A call rejects at once, with the reason. */
  protected override drop(entry: unknown, capacity: number): void {
    this.kernel.refuse(this.pid, entry, "mailbox-full");
    if (isEntry(entry) && entry instanceof Request) entry.fail(this.full(capacity), "undelivered");
  }

  protected override burst(message: unknown, capacity: number): void {
    if (isReturnable(plain(message))) this.kernel.refuse(this.pid, message, "exited");
    else this.drop(message, capacity);
    this.kernel.end(this, crash(this.full(capacity)));
  }

  protected override heard(entry: Entry): void {
    this.rare?.hold?.heard(this, entry);
  }

  /** It has ended, and drops its references: the scheduler or a promise may hold a dead process for long. */
  letGo(): void {
    this.behaviour = FORGOTTEN;
    this.handle = undefined;
    this.settling = undefined;
    if (this.rare !== undefined) this.rare.message = undefined;
  }

  /** Handles what waits, oldest first. */
  activate(limit: number): number {
    if (this.state !== READY || this.handle === undefined) return this.rouse();
    this.state = RUNNING;
    let count = 0;
    let message: unknown;
    try {
      do {
        message = this.shift();
        count++;
        const result = this.mixed ? this.open(message) : this.handle.call(this.behaviour, this.ctx, message);
        if (result !== undefined && this.settle(result, message)) break;
      } while (this.first !== EMPTY && count < limit && this.state === RUNNING);
    } catch (error) {
      this.failed(error, message);
    }
    this.handled += count;
    if (this.state === RUNNING) this.proceed();
    return count;
  }

  /** An activation that is not simply the next message of callbacks. */
  protected rouse(): number {
    if (this.state === DEAD) {
      reportEarlyEnd(this.kernel, this);
      return 0;
    }
    if (this.state === HELD) return this.rare?.hold?.attend(this) ?? 0;
    if (this.handle !== undefined) return this.state === STARTING ? this.start() : 0;
    if (this.state === STARTING) startBody(this);
    else resumeBody(this);
    return 1;
  }

  /** Ready again when something waits, idle otherwise. */
  proceed(): void {
    if (this.first === EMPTY) {
      this.state = IDLE;
      if (this.mixed) this.mixed = false;
    } else {
      this.state = READY;
      this.scheduler.ready(this);
    }
  }

  /** Runs `init`. The state stays `STARTING` until that is done. */
  private start(): number {
    const callbacks = this.behaviour as Callbacks<unknown>;
    try {
      const result = callbacks.init?.(this.ctx);
      if (isThenable(result)) this.kernel.awaitStart(this, result);
      else this.kernel.started(this, result);
    } catch (error) {
      this.failed(error, undefined);
    }
    return 1;
  }

  protected open(entry: unknown): unknown {
    if (!isEntry(entry)) {
      if (entry === EMPTY) {
        // The entry for which the process was woken has been taken back out of its mailbox.
        this.handled--;
        return undefined;
      }
      taken(entry);
      return this.handle?.call(this.behaviour, this.ctx, entry);
    }
    entry.queuedIn = undefined;
    if (this.rare?.mailbox !== undefined && isOutsideBound(entry)) this.rare.unbounded--;
    switch (entry.kind) {
      case SIGNAL:
        return this.kernel.openSignal(this, (entry as SignalEntry).signal);
      case TASK:
        return (entry as TaskEntry).run();
      default: {
        const request = entry as Request;
        // No process calls itself: a call of its own comes back as its reply.
        if (request.owner === this) return request.openReply();
        return this.handle?.call(this.behaviour, this.ctx, request.message);
      }
    }
  }

  /** Deals with the result of a callback. True when the process cannot take its next message now. */
  settle(result: unknown, message: unknown): boolean {
    if (result instanceof Stop) {
      this.kernel.stop(this, result.reason, message);
      return true;
    }
    if (result instanceof SetAside) return this.setAside(result, message);
    if (!isThenable(result)) return false;
    if (this.state !== RUNNING) return true;
    this.state = SUSPENDED;
    this.extras.message = message;
    this.scheduler.resumed(this);
    const settled = Promise.resolve(result);
    origin.settledHere = settled;
    this.settling = settled.then(
      (value) => {
        if (this.state !== SUSPENDED) return;
        (this.rare as Rare).message = undefined;
        if (value instanceof Stop) this.kernel.stop(this, value.reason, message);
        else if (!(value instanceof SetAside && this.setAside(value, message))) this.proceed();
      },
      (error) => this.failed(error, message),
    );
    return true;
  }

  /** Sets the present message aside. True when the process ends because there is no room for it. */
  private setAside(aside: SetAside, message: unknown): boolean {
    const { state } = this;
    const isReply = isEntry(message) && message instanceof Request && message.owner === this;
    try {
      aside.take(isReply ? message.replyEntry() : message);
    } catch (error) {
      this.failed(error, message);
    }
    return this.state !== state;
  }

  /** Runs code of this process from wherever: the promises that it makes are its own, and so is what it throws. */
  perform(code: () => unknown): void {
    try {
      const result = inNameOf(this.pid, code);
      if (result instanceof Stop) this.kernel.stop(this, result.reason, undefined);
    } catch (error) {
      this.failed(error, undefined);
    }
  }

  /** The process's code threw or rejected: its exit reason, or, after its exit, a late error. */
  failed(error: unknown, message: unknown): void {
    if (this.state === DEAD || this.state === TERMINATING) reportLate(this.kernel, this.pid, error);
    else this.kernel.stop(this, crash(error), message);
  }
}

declare module "./pid.js" {
  interface LocalProcess extends Process {}
}

/** The behaviour of the dead. */
const FORGOTTEN: Body<unknown> = () => undefined;
