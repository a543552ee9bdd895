// Every limit of this floor, with its name and default, in one table.

/** The limits of one system. Durations are milliseconds. */
export interface Limits {
  /** A call waits this long for its reply, as a gen_server's does. */
  readonly callTimeoutMs: number;
  /** `init` of a started process may take this long; OTP waits for ever. */
  readonly startTimeoutMs: number;
  /** A stopping system gives a top-level process this long, unless its spawn asked for another `shutdown` time. */
  readonly shutdownMs: number;
  /** This long after the call of `stop`, the system kills everything that is left. */
  readonly stopTimeoutMs: number;
  /** Waiting messages at which a mailbox is reported (`highWater`), and again at each doubling. */
  readonly highWater: number;
  /** A turn ends after this many messages … */
  readonly turnMessages: number;
  /** … or this many milliseconds, and the host's I/O and timers have their go. */
  readonly turnMs: number;
  /** One process handles this many messages before the next ready one runs. */
  readonly activationMessages: number;
  /** A turn that one process held up for this long is reported (`longTurn`). */
  readonly longTurnMs: number;
  /** So many reports are printed within a second; one line counts the rest. `Infinity` prints all. */
  readonly reportsPerSecond: number;
}

export const SYSTEM_DEFAULTS: Limits = {
  callTimeoutMs: 5_000,
  startTimeoutMs: Number.POSITIVE_INFINITY,
  shutdownMs: 5_000,
  stopTimeoutMs: 60_000,
  highWater: 10_000,
  turnMessages: 10_000,
  turnMs: 5,
  activationMessages: 100,
  longTurnMs: 50,
  reportsPerSecond: 20,
};
