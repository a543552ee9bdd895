// A clock that a test moves: the production scheduler on an event loop whose time stands still until the test advances it.

import type { Environment, Runnable, ScheduledSystem, TurnLimits } from "../../process/environment.js";
import { SignalboxError } from "../../process/errors.js";
import { Kernel } from "../../process/kernel.js";
import { only } from "../../process/known-options.js";
import { count, delay } from "../../process/options.js";
import { Process } from "../../process/process.js";
import { production } from "../../process/production.js";
import { type EventLoop, TurnScheduler } from "../../process/scheduler.js";
import { later, soon } from "./event-loop.js";
import { Random } from "./random.js";

/** Options of a test clock. */
export interface TestClockOptions {
  /** Seed of the random numbers that the systems on this clock draw. Default 1. */
  readonly seed?: number;
  /** Time at which the clock starts, in milliseconds since 1970. Default: 1 January 2020, UTC. */
  readonly wallTime?: number;
  /** Turns of the event loop for which systems may stay busy at one instant; then the clock gives up. Default 500. */
  readonly turns?: number;
}

/** Limits how far one call moves the clock. */
export interface ClockRunOptions {
  /** Most stops at which timers fire; `Infinity` for no limit. Default 10,000. */
  readonly limit?: number;
}

/** Defaults of {@link TestClockOptions} and {@link ClockRunOptions}. */
export const CLOCK_DEFAULTS: {
  /** Seed of the random numbers. */
  readonly seed: number;
  /** Time at which the clock starts, in milliseconds since 1970. */
  readonly wallTime: number;
  /** Turns of the event loop for which systems may stay busy at one instant. */
  readonly turns: number;
  /** Most stops at which timers fire in one call. */
  readonly limit: number;
} = { seed: 1, wallTime: 1_577_836_800_000, turns: 500, limit: 10_000 };

/**
 * The systems on a test clock were still busy after the limit of turns. The message names the processes
 * that ran last.
 *
 * @remedy Look for processes that send each other messages for ever; raise the limit only when the work
 * really is that long.
 */
export class ClockLimitError extends SignalboxError {
  static override readonly name: string = "ClockLimitError";
  readonly code = "ERR_CLOCK_LIMIT";
  /** The limit that was reached: `turns` of the clock, or `limit` of the call. */
  readonly limit: number;
  /** The latest first. */
  readonly processes: readonly string[];
  constructor(what: string, limit: number, processes: readonly string[], remedy: string) {
    super(`${what}; ran last: ${processes.join(", ") || "no process"}. ${remedy}`);
    this.limit = limit;
    this.processes = processes;
  }
}

/**
 * A test waits for something that cannot happen any more: no process can run, and no timer is set.
 *
 * @remedy Send the message or settle the promise that the code waits for. Promises of real I/O do not
 * settle on a test clock: use a fake.
 */
export class ClockStuckError extends SignalboxError {
  static override readonly name: string = "ClockStuckError";
  readonly code = "ERR_CLOCK_STUCK";
  constructor(now: number) {
    super(
      `the promise cannot settle: at ${now} ms nothing is left to run and no timer is set. ` +
        "If it waits for I/O or a timer of the host, await it without the clock",
    );
  }
}

interface Alarm {
  readonly deadline: number;
  readonly ring: () => void;
}

/** How many of the last scheduled processes an error names. */
const REMEMBERED = 8;

const never = (): boolean => false;

/**
 * A clock for tests. Processes run by themselves, as in production; timers, timeouts and restarts wait until the test
 * moves the time. Several systems may share one clock. Systems that send to each other must share one, because each clock
 * counts its own ids.
 *
 * The clock sees only what its systems do. A process that awaits real I/O or a timer of the host counts as idle.
 *
 * @example
 * const clock = testClock();
 * await using system = new System({ environment: clock.environment });
 * const inbox = system.spawn<string>({ handle: (ctx, text) => console.log(text, ctx.now()) });
 * system.sendAfter(inbox, "late", 1_000);
 * await clock.advance(999); // not yet
 * await clock.advance(1); // late 1000
 */
export class TestClock {
  /** For `new System({ environment })`. */
  readonly environment: Environment;
  #time = 0;
  readonly #turns: number;
  readonly #kernels = new Set<ScheduledSystem>();
  readonly #alarms = new Set<Alarm>();
  /** Grows each time a scheduler asks for a turn or sets an alarm. */
  #activity = 0;
  #busyTurns = 0;
  readonly #latest: (Runnable | undefined)[] = new Array(REMEMBERED).fill(undefined);
  #made = 0;

  /** @throws OptionError */
  constructor(options: TestClockOptions = {}) {
    only("", options, ["seed", "wallTime", "turns"]);
    const random = new Random(count("seed", options.seed ?? CLOCK_DEFAULTS.seed, 0));
    const wallTime = count("wallTime", options.wallTime ?? CLOCK_DEFAULTS.wallTime, 0);
    this.#turns = count("turns", options.turns ?? CLOCK_DEFAULTS.turns, 1);
    let lastId = 0;
    this.environment = {
      now: () => this.#time,
      wallTime: () => wallTime + this.#time,
      random: () => random.unit(),
      id: () => `test-${++lastId}`,
      createScheduler: (host, limits) => {
        this.#kernels.add(host);
        return new ClockScheduler(host, this.#loop(), limits, {
          ready: (runnable) => {
            this.#latest[this.#made++ % REMEMBERED] = runnable;
          },
          stop: () => this.#kernels.delete(host),
        });
      },
      captureContext: production.captureContext,
      watchRejections: production.watchRejections,
    };
    clocks.set(this.environment, this);
  }

  /** Milliseconds since the clock was made; equal to `ctx.now()`. */
  get now(): number {
    return this.#time;
  }

  /** Number of timers set in the systems on this clock: `sendAfter`, `runAfter` and every kind of timeout. */
  get pendingTimers(): number {
    let sum = 0;
    for (const host of this.#kernels) if (host instanceof Kernel) sum += host.pendingTimers;
    return sum;
  }

  /**
   * Number of wake-ups that the systems on this clock have requested: one for each system that has a timer set, and none
   * for a stopped system.
   */
  get pendingAlarms(): number {
    return this.#alarms.size;
  }

  /** The time at which the first timer is due, on the scale of `now`; undefined when no timer is set. */
  get nextTimer(): number | undefined {
    const times = [...this.#kernels].map((host) => host.nextTimer() ?? Number.POSITIVE_INFINITY);
    const first = Math.min(...times);
    return first === Number.POSITIVE_INFINITY ? undefined : first;
  }

  /**
   * Waits until no system on this clock can do anything more at this instant. No time passes.
   *
   * @throws ClockLimitError when the systems stay busy, for instance because they send to each other forever
   */
  async settle(): Promise<void> {
    this.#busyTurns = 0;
    await this.#rest();
  }

  /**
   * Advances the time by `ms`, from timer to timer. At each timer, and at the end, the clock waits until every process that
   * became ready has run, asynchronous handlers included. `advance(0)` fires the timers that are due now.
   *
   * @throws OptionError
   * @throws ClockLimitError when the systems stay busy at one of the stops
   */
  async advance(ms: number): Promise<void> {
    const end = this.#time + delay("ms", ms);
    this.#busyTurns = 0;
    while (await this.#step(end, never));
  }

  /**
   * Advances the time by `ms` at once: no process runs and no timer fires, as when code blocks the event loop. Timers that
   * became due fire late, the next time the clock is moved.
   *
   * @throws OptionError
   * @example
   * const clock = testClock();
   * await using system = new System({ environment: clock.environment });
   * const busy = system.spawn({ handle: () => clock.elapse(30) }, { label: "busy" });
   * system.send(busy, "take your time");
   * await clock.settle();
   * console.log(clock.now); // 30
   */
  elapse(ms: number): void {
    this.#time += delay("ms", ms);
  }

  /**
   * Advances the time until no timer is set.
   *
   * @throws OptionError
   * @throws ClockLimitError when timers never end: an interval fires until it is cancelled
   * @example
   * const clock = testClock();
   * const system = new System({ environment: clock.environment });
   * system.sendAfter("night porter", "wake up", 8 * 3_600_000);
   * await clock.runAll();
   * console.log(clock.now); // 28800000
   */
  async runAll(options?: ClockRunOptions): Promise<void> {
    const limit = alarmLimit(options);
    await this.#run(limit, never);
    if (this.#alarms.size > 0) throw this.#endless(limit, "no timer was left");
  }

  /**
   * Advances the time until `promise` has settled, and returns its result. Use it for calls, for dispatches, and for
   * stopping a system whose processes need time to end.
   *
   * @throws OptionError
   * @throws ClockStuckError when the promise is pending, and nothing is left that could settle it
   * @throws ClockLimitError when timers keep firing and the promise does not settle
   * @example
   * const clock = testClock();
   * const system = new System({ environment: clock.environment });
   * const slow = system.spawn<{ replyTo: ReplyTo<string> }>({
   *   handle: (ctx, { replyTo }) => void ctx.runAfter(500, () => ctx.reply(replyTo, "done")),
   * });
   * const reply = system.call(slow, (replyTo: ReplyTo<string>) => ({ replyTo }));
   * console.log(await clock.until(reply), clock.now); // done 500
   * await clock.until(system.stop());
   */
  async until<T>(promise: PromiseLike<T>, options?: ClockRunOptions): Promise<T> {
    const limit = alarmLimit(options);
    let settled = false;
    const settle = (): void => {
      settled = true;
    };
    promise.then(settle, settle);
    await this.#run(limit, () => settled);
    if (settled) return promise;
    if (this.#alarms.size > 0) throw this.#endless(limit, "the promise had settled");
    throw new ClockStuckError(this.#time);
  }

  async #run(limit: number, enough: () => boolean): Promise<void> {
    let stops = 0;
    this.#busyTurns = 0;
    while (await this.#step(Number.POSITIVE_INFINITY, () => stops === limit || enough())) stops++;
  }

  /** Settles, then moves to the next alarm and fires it; without an alarm up to `end`, moves to `end`. True if one fired. */
  async #step(end: number, enough: () => boolean): Promise<boolean> {
    await this.#rest();
    if (enough()) return false;
    const alarm = this.#firstAlarm();
    if (alarm === undefined || alarm.deadline > end) {
      if (end !== Number.POSITIVE_INFINITY) this.#goTo(end);
      return false;
    }
    this.#goTo(alarm.deadline);
    this.#countTurn();
    // Concurrent calls that move the clock settle again before they go on.
    this.#activity++;
    this.#alarms.delete(alarm);
    alarm.ring();
    return true;
  }

  #goTo(time: number): void {
    if (time <= this.#time) return;
    this.#time = time;
    this.#busyTurns = 0;
  }

  /** The first alarm that is due; of several due together, the one that was set first. */
  #firstAlarm(): Alarm | undefined {
    let first: Alarm | undefined;
    for (const alarm of this.#alarms)
      if (first === undefined || alarm.deadline < first.deadline) first = alarm;
    return first;
  }

  /** Waits for two idle macrotasks in a row: a transport between systems may deliver in the next macrotask. */
  async #rest(): Promise<void> {
    let quiet = 0;
    while (quiet < 2) {
      const before = this.#activity;
      await new Promise<void>(later);
      quiet = this.#activity === before ? quiet + 1 : 0;
      if (quiet === 0) this.#countTurn();
    }
  }

  #countTurn(): void {
    if (++this.#busyTurns <= this.#turns) return;
    throw new ClockLimitError(
      `the systems on this clock were still busy after ${this.#turns} turns at ${this.#time} ms`,
      this.#turns,
      this.#ranLast(),
      "Do they send to each other, or set timers of 0 ms, without end? If not, raise `turns` of the clock",
    );
  }

  #endless(limit: number, what: string): ClockLimitError {
    return new ClockLimitError(
      `timers fired at ${limit} stops before ${what}, and at ${this.#time} ms there are more`,
      limit,
      this.#ranLast(),
      "Is there an interval that is never cancelled? Move the time with advance(ms), or raise `limit`",
    );
  }

  #ranLast(): string[] {
    const names = new Set<string>();
    for (let i = this.#made + REMEMBERED - 1; i >= this.#made; i--) {
      const runnable = this.#latest[i % REMEMBERED];
      if (runnable instanceof Process) names.add(String(runnable.pid));
    }
    return [...names];
  }

  /** Runs in the context of the code that creates the system, as production does: a test moves the time from another context. */
  #loop(): EventLoop {
    const context = production.captureContext();
    return {
      now: () => this.#time,
      soon: (fn) => {
        this.#activity++;
        context.runInAsyncScope(soon, undefined, fn);
      },
      later: (fn) => {
        this.#activity++;
        context.runInAsyncScope(later, undefined, fn);
      },
      at: (deadline, ring) => {
        const own = context.runInAsyncScope(production.captureContext);
        const alarm = { deadline, ring: () => own.runInAsyncScope(ring) };
        this.#alarms.add(alarm);
        return () => {
          this.#alarms.delete(alarm);
        };
      },
    };
  }
}

/** The production scheduler; it also reports which process becomes ready, and that it stops. */
class ClockScheduler extends TurnScheduler {
  readonly #observer: { ready(runnable: Runnable): void; stop(): void };

  constructor(
    host: ScheduledSystem,
    loop: EventLoop,
    limits: TurnLimits,
    tell: { ready(runnable: Runnable): void; stop(): void },
  ) {
    super(host, loop, limits);
    this.#observer = tell;
  }

  override ready(runnable: Runnable): void {
    this.#observer.ready(runnable);
    super.ready(runnable);
  }

  override stop(): void {
    this.#observer.stop();
    super.stop();
  }
}

const clocks = new WeakMap<Environment, TestClock>();

/** The clock that an Environment belongs to; undefined for any other Environment. */
export function clockOf(environment: Environment): TestClock | undefined {
  return clocks.get(environment);
}

function alarmLimit(options: ClockRunOptions = {}): number {
  only("", options, ["limit"]);
  return count("limit", options.limit ?? CLOCK_DEFAULTS.limit, 1, true);
}

/**
 * Makes a {@link TestClock}.
 *
 * @throws OptionError
 * @example
 * const clock = testClock({ seed: 7, wallTime: 1_893_456_000_000 });
 * await using system = new System({ environment: clock.environment });
 * await clock.advance(60_000);
 */
export function testClock(options?: TestClockOptions): TestClock {
  return new TestClock(options);
}
