// Every limit of this floor, with its name and default, in one table.

/** The limits of one system. Durations are milliseconds. */
export interface Limits {
  /** How long a call waits for its reply unless it says otherwise. */
  readonly callTimeoutMs: number;
  /** How long the `init` of a started process may take. */
  readonly startTimeoutMs: number;
  /** How long a stopping system waits for a top-level process whose spawn gives no `shutdown` time. */
  readonly shutdownMs: number;
  /** How long after the call of `stop` the system kills every process that is left. */
  readonly stopTimeoutMs: number;
  /** The number of waiting messages at which the event `highWater` is emitted, and again at each doubling. */
  readonly highWater: number;
  /** A turn ends after this many messages … */
  readonly turnMessages: number;
  /** … or after this many milliseconds. Then the I/O and the timers of the host run. */
  readonly turnMs: number;
  /** How many messages one process handles before the next ready process runs. */
  readonly activationMessages: number;
  /** The event `longTurn` is emitted for a turn that one process delays by this many milliseconds. */
  readonly longTurnMs: number;
  /**
   * How many reports of each kind are printed within one second. Beside these the first report of each of up to 64 supervisors or parents
   * is printed. One line counts the others. `Infinity` prints all.
   */
  readonly reportsPerSecond: number;
}

/** The default of every limit of a system. */
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
