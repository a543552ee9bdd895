// The one seam to the world. Production has one Environment (production.ts), a simulator has another.

import type { AsyncContext } from "./entries.js";
import type { Interception } from "./interception.js";

export type { AsyncContext };

/** Something the scheduler can run for a while: a process. */
export interface Runnable {
  /** In whose name its code runs: the owner of the promises that it makes. */
  readonly pid?: object;
  /** Handles at most `limit` messages and returns how many it handled. */
  activate(limit: number): number;
}

/** A promise that has been settled, as far as everybody but its awaiter knows. */
export interface Resumption {
  /** The process whose code awaits it, if one does. */
  readonly owner: Runnable | undefined;
  /** Settles it: that code goes on in a microtask. */
  resume(): void;
}

/** The part of a system that its scheduler may use. */
export interface ScheduledSystem {
  /** Fires timers that are due now, in their order: at least one, and no further ones once `turnMs` have passed. */
  fireTimers(): void;
  /** A turn has ended at `now`: calls made since the last one, and still open, begin their timeouts. */
  turnEnded(now: number): void;
  /** Deadline of the first pending timer, in `now()` milliseconds. */
  nextTimer(): number | undefined;
  /** Tells that a turn ran for `elapsedMs`, and who may be the cause: surely, if there is one suspect alone. */
  longTurn(suspects: readonly Runnable[], elapsedMs: number): void;
}

/**
 * Gets the times that a scheduler takes anyway. Each method returns after how many further activations some shall be timed one by one: 0
 * for no wish.
 */
export interface TurnProfile {
  /**
   * Activations took `ms` milliseconds and ended at `now`.
   *
   * @param one - what ran, if it was one activation alone
   * @param isClose - it is one of those that were to be timed one by one
   */
  ran(one: Runnable | undefined, activations: number, ms: number, now: number, isClose: boolean): number;
  /**
   * Code of `owners` that was resumed has run for `ms` milliseconds.
   *
   * @param unseen - activations ran between it, and are part of the time
   */
  wentOn(owners: readonly Runnable[], unseen: number, ms: number, now: number, isClose: boolean): number;
}

/** Decides which ready process runs next, and when. */
export interface Scheduler {
  /** The process that is being activated, if one is. */
  readonly running: Runnable | undefined;
  /** `runnable` has something to do. Called once until it has been activated. */
  ready(runnable: Runnable): void;
  /** A process's waiting code continues in microtasks of its own after this activation. */
  resumed(runnable: Runnable | undefined): void;
  /** Resumes at once, or, when the code of enough others goes on already, in a later turn. */
  resume(one: Resumption): void;
  /** Something waits for the end of a turn: there is to be one soon, even if nothing is ready. */
  nudge(): void;
  /** The first pending timer changed. */
  alarm(): void;
  /**
   * Calls `fn` in a macrotask of its own, when all code that was resumed has run as far as it can without the host. Absent where
   * every step of a process ends so: a simulator's.
   */
  drained?(fn: () => void): void;
  /**
   * Calls `fn` after at least `ms` milliseconds. The wait does not keep the program alive, and ends with the system. Returns the call that cancels
   * it; undefined, or absent, where no program ends by itself: on a clock of a test.
   */
  eventually?(ms: number, fn: () => void): (() => void) | undefined;
  /** Passes the times of activations on from now on, or no longer. Absent where no time passes: in a simulator. */
  profile?(profile: TurnProfile | undefined): void;
  /** Resolves when nothing is ready and nothing that the scheduler can see is about to be. */
  idle(): Promise<void>;
  /** Runs nothing more and lets go of the host's timers. */
  stop(): void;
}

/**
 * Takes an unhandled promise rejection, with the pid of the process that made the promise. Returns true when that process is
 * one of its own.
 */
export type RejectionListener = (owner: object, error: unknown) => boolean;

/** Limits of a turn of the scheduler; see SYSTEM_DEFAULTS in limits.ts. */
export interface TurnLimits {
  readonly turnMessages: number;
  readonly turnMs: number;
  readonly activationMessages: number;
  readonly longTurnMs: number;
}

/**
 * Clock, randomness, ids and scheduling, as one system sees them. The production environment is the default; `testClock()`
 * and the simulator of `signalbox/testing` have others. Programs pass one on, and do not build their own.
 */
export interface Environment {
  /** Monotonic milliseconds, fractions included. */
  now(): number;
  /** Milliseconds since 1970, for people and for other systems. */
  wallTime(): number;
  /** A number in [0, 1). */
  random(): number;
  /** An id that no other system makes. */
  id(): string;
  /** Whether a point that code marks with `ctx.buggify` fires now. Absent in production, where none does. */
  buggify?(label: string, probability?: number): boolean;
  /** @internal */
  createScheduler(host: ScheduledSystem, limits: TurnLimits): Scheduler;
  /** The asynchronous context of the code that calls this. */
  captureContext(): AsyncContext;
  /**
   * Starts attributing promises to the processes that make them; returns the call that ends it. Undefined where the host
   * cannot say which code made a promise.
   *
   * @internal
   */
  watchRejections(listener: RejectionListener): (() => void) | undefined;
  /** @internal Sees, holds and orders what passes between processes. Production has none. */
  readonly interception?: Interception;
}
