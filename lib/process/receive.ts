// How a function body runs and receives: it takes entries from its mailbox in order of arrival, or only those that fit.

import { type Abortable, unwatchAbort, watchAbort } from "./abort.js";
import { Stop, type ValueBody } from "./behaviour.js";
import {
  contextOf,
  InspectionTask,
  isEntry,
  isGone,
  isSpecial,
  isWithdrawable,
  type Signal,
  SignalEntry,
  taken,
} from "./entries.js";
import type { Resumption } from "./environment.js";
import { ReceiveBusyError, ReceiveTimeoutError } from "./errors.js";
import type { InterceptedProcess, Settler } from "./interception.js";
import { onlyKnown } from "./known-options.js";
import { EMPTY } from "./mailbox.js";
import { delay } from "./options.js";
import { origin } from "./origin.js";
import type { Abandonable, Process } from "./process.js";
import { HELD, IDLE, READY, RUNNING, SUSPENDED } from "./process-state.js";
import { NORMAL } from "./reason.js";
import { type Request, refused } from "./request.js";
import { isThenable } from "./thenable.js";
import type { Due, Timer } from "./timer-queue.js";

/** Options of a receive. */
export interface ReceiveOptions {
  /** How many milliseconds to wait. 0 takes only what is already in the mailbox. Default: no limit. */
  readonly timeoutMs?: number;
  /** Ends the wait early; the receive rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/**
 * The entries that a receive takes: messages; signals; the first of either; or messages until the parent asks the process to
 * stop. The last one gets the signal with which the parent asks as an entry, since a message may look like any signal.
 */
export type Wanted = "messages" | "signals" | "any" | "until-stop";

/** A function body waiting for an entry of its mailbox. */
export class PendingReceive implements Due, Abandonable, Abortable, Settler, Resumption {
  /** Entries before this one have been looked at and left. */
  scanned = 0;
  readonly promise: Promise<unknown>;
  /** The wait is over, unless the activation that is due finds something. */
  ended: { readonly error: unknown } | undefined = undefined;
  private found: unknown = undefined;
  /** The process that receives. */
  readonly owner: Process;
  private readonly wanted: Wanted;
  private readonly filter: ((item: never) => boolean) | undefined;
  private readonly options: ReceiveOptions | undefined;
  timer: Timer | undefined = undefined;
  resolve!: (item: unknown) => void;
  reject!: (error: unknown) => void;

  constructor(
    process: Process,
    wanted: Wanted,
    filter: ((item: never) => boolean) | undefined,
    options: ReceiveOptions | undefined,
  ) {
    this.owner = process;
    this.wanted = wanted;
    this.filter = filter;
    this.options = options;
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    process.kernel.interception?.gate(process as InterceptedProcess, "a receive", this);
    const timeoutMs = options?.timeoutMs ?? Number.POSITIVE_INFINITY;
    if (timeoutMs !== Number.POSITIVE_INFINITY) this.timer = process.kernel.addTimer(timeoutMs, this);
    if (options?.signal !== undefined) watchAbort(options.signal, this);
  }

  /** Takes the first entry that fits out of the mailbox, or {@link EMPTY}. */
  take(): unknown {
    const { owner: process, filter } = this;
    while (this.scanned < process.length && process.state === RUNNING) {
      // Counted before the filter runs: that may send, and end calls, so that entries come and go.
      const skims = filter !== undefined && this.wanted === "messages" && this.scanned > 0;
      const entry = skims ? process.skim(this, filter) : process.peek(this.scanned++);
      if (entry === EMPTY) break;
      const item = skims && !isSpecial(entry) ? entry : this.look(entry);
      if (item !== EMPTY && this.claim(entry)) return item;
    }
    return EMPTY;
  }

  /** The value that the body gets for an entry, or {@link EMPTY} if the entry does not fit. */
  private look(entry: unknown): unknown {
    if (isGone(entry)) return EMPTY;
    const isOurs = isEntry(entry);
    const isSignal = isOurs && entry instanceof SignalEntry;
    if (isOurs && !isSignal && entry instanceof InspectionTask) return this.inspect(entry);
    if (this.wanted === "until-stop") {
      if (!isSignal) return isOurs ? (entry as Request).message : entry;
      return isFromParent(this.owner, entry.signal) ? entry : EMPTY;
    }
    if (this.wanted !== "any" && isSignal !== (this.wanted === "signals")) return EMPTY;
    const item = isSignal ? entry.signal : isOurs ? (entry as Request).message : entry;
    return this.filter === undefined || this.filter(item as never) ? item : EMPTY;
  }

  /** A body answers an inspector while it waits for a message. */
  private inspect(task: InspectionTask): typeof EMPTY {
    const { owner: process } = this;
    process.removeAt(this.scanned - 1);
    task.perform();
    return EMPTY;
  }

  /** Takes out the entry that was looked at last. False when its filter had it withdrawn or dropped. */
  private claim(entry: unknown): boolean {
    const { owner: process } = this;
    const index = this.scanned - 1;
    if (!Object.is(process.peek(index), entry) || isGone(entry)) return false;
    process.kernel.interception?.took(process as InterceptedProcess, index);
    process.takeAt(index);
    if (process.kernel.shared !== undefined && isWithdrawable(entry))
      process.kernel.shared.object(entry, "read");
    taken(entry);
    process.kernel.taps?.took(process, entry);
    process.kernel.witness?.took(process, entry);
    process.rare?.tracer?.took(entry);
    if (process.kernel.carriesContext) process.extras.sender = contextOf(entry);
    return true;
  }

  /** Continues the body with `item`. */
  fulfil(item: unknown): void {
    this.found = item;
    this.ended = undefined;
    this.end();
  }

  abandon(error: Error): void {
    this.ended = { error };
    this.end();
  }

  resume(): void {
    if (this.ended === undefined) this.resolve(this.found);
    else this.reject(this.ended.error);
  }

  /** The timeout. */
  fire(): void {
    this.giveUp(new ReceiveTimeoutError(this.owner.pid, this.options?.timeoutMs ?? 0));
  }

  aborted(reason: unknown): void {
    this.giveUp(reason);
  }

  /** Entries that arrived before the end of the wait still count: a body that is ready looks at them first. */
  private giveUp(error: unknown): void {
    const { kernel, pid } = this.owner;
    kernel.shared?.process(pid, "write");
    kernel.shared?.mailbox(pid, "read");
    if (this.owner.pendingReceive !== this) return;
    if (this.owner.state === READY || this.owner.state === HELD) this.ended = { error };
    else this.wake(error);
  }

  wake(error: unknown): void {
    this.owner.state = SUSPENDED;
    this.abandon(error as Error);
  }

  private end(): void {
    if (this.owner.pendingReceive === this) this.owner.pendingReceive = undefined;
    if (this.timer !== undefined) this.owner.kernel.cancelTimer(this.timer);
    const signal = this.options?.signal;
    if (signal !== undefined) {
      this.owner.kernel.shared?.signals();
      unwatchAbort(signal, this);
    }
    this.owner.kernel.scheduler.resume(this);
  }
}

/** A parent asks by an exit signal; for processes that have none the system does. */
export function isFromParent({ parent, kernel }: Process, signal: Signal): boolean {
  return signal.type === "exit" && signal.from === (parent ?? kernel.outside);
}

const RECEIVE_OPTIONS: ReadonlySet<string> = new Set<keyof ReceiveOptions>(["timeoutMs", "signal"]);

/** Waits for an entry. Never resolves within the caller's step: every receive is a turn of the scheduler. */
export function receive(
  process: Process,
  wanted: Wanted,
  filter: ((item: never) => boolean) | undefined,
  options: ReceiveOptions | undefined,
): Promise<unknown> {
  if (!process.alive) return refused(process);
  if (process.pendingReceive !== undefined) return Promise.reject(new ReceiveBusyError(process.pid));
  if (options !== undefined) {
    try {
      onlyKnown(options, RECEIVE_OPTIONS);
      if (options.timeoutMs !== undefined) delay("timeoutMs", options.timeoutMs, 0, true);
    } catch (error) {
      return Promise.reject(error);
    }
  }
  if (options?.signal !== undefined) process.kernel.shared?.signals();
  if (options?.signal?.aborted) return Promise.reject(options.signal.reason);
  noteReceive(process);
  const pendingReceive = new PendingReceive(process, wanted, filter, options);
  process.pendingReceive = pendingReceive;
  process.proceed();
  origin.settledHere = pendingReceive.promise;
  return pendingReceive.promise;
}

/** A body that receives while a call of it is open can answer others. It does not count as waiting; see call-cycle.ts. */
function noteReceive({ rare }: Process): void {
  if (rare?.waits !== undefined || rare?.calling !== undefined) rare.receivesMeanwhile = true;
}

/** First activation of a body. */
export function startBody(process: Process): void {
  process.state = SUSPENDED;
  process.kernel.started(process, undefined);
  try {
    const { behaviour, ctx } = process;
    const result =
      typeof behaviour === "function" ? behaviour(ctx as never) : (behaviour as ValueBody).run(ctx as never);
    if (isThenable(result)) {
      process.kernel.scheduler.resumed(process);
      const ended = Promise.resolve(result);
      origin.settledHere = ended;
      process.settling = ended.then(
        (value) => endBody(process, value),
        (error) => process.failed(error, process.rare?.message),
      );
    } else endBody(process, result);
  } catch (error) {
    process.failed(error, undefined);
  }
}

/** A body that waits in `receive` has new entries to look at. */
export function resumeBody(process: Process): void {
  const { pendingReceive } = process;
  if (pendingReceive === undefined) return;
  process.state = RUNNING;
  let item: unknown;
  try {
    item = pendingReceive.take();
  } catch (error) {
    if (process.alive) process.state = SUSPENDED;
    pendingReceive.abandon(error as Error);
    return;
  }
  // Its filter ended it, or an inspector suspended it.
  if (process.state !== RUNNING) return;
  if (item === EMPTY) {
    if (pendingReceive.ended === undefined) process.state = IDLE;
    else pendingReceive.wake(pendingReceive.ended.error);
    return;
  }
  process.handled++;
  process.state = SUSPENDED;
  process.extras.message = item;
  noteReceive(process);
  pendingReceive.fulfil(item);
}

/** The end of a function body. */
function endBody(process: Process, result: unknown): void {
  if (result instanceof Stop) {
    process.kernel.end(process, result.reason);
    return;
  }
  const { behaviour, rare } = process;
  if (typeof behaviour !== "function") (behaviour as ValueBody).returned(result);
  process.kernel.end(process, rare?.stopAsked ?? NORMAL);
}
