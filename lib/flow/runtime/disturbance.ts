// The changes that a verifying replay makes for the code of a flow: the clock, random numbers, and when timers and outcomes come. Code that depends
// on none of them takes the recorded way all the same. Only the code of the replay sees the change: it has an asynchronous context of
// its own.

import type { AsyncLocalStorage as Storage } from "node:async_hooks";
import type { Environment } from "../../process/environment.js";
import { globalObject, optionalModule } from "../../process/node-modules.js";
import { ReplayTimer, ReplayTimers } from "./replay-timers.js";

/** How a replay differs from the run that was recorded. */
export interface Disturbance {
  /** Milliseconds that are added to the clock. */
  readonly shiftMs: number;
  /** Milliseconds that pass from one reading of the clock to the next, besides those that do. */
  readonly stepMs: number;
  /** The last bit of every reading: code that looks at odd milliseconds meets both. */
  readonly lastBit: 0 | 1;
  /** The first random numbers; behind them come ordinary ones. */
  readonly rolls: readonly number[];
  /** Outcomes come late, behind all timers of the code, and timers that run at the same time fire in another order. */
  readonly isLate: boolean;
}

const DAY_MS = 24 * 60 * 60 * 1_000;
/** Most random numbers in a row that are all high, or all low: a loop that waits for another one goes on. */
const ROLLS = 8;

/**
 * The kinds of replays. One is later than now, sees high numbers, and gets outcomes at once. The other is earlier, its steps take days,
 * its numbers are low, and outcomes come late.
 */
export const DISTURBANCES: readonly Disturbance[] = [
  { shiftMs: 400.5 * DAY_MS, stepMs: 0, lastBit: 0, rolls: Array(ROLLS).fill(0.999_999), isLate: false },
  { shiftMs: -200 * DAY_MS, stepMs: DAY_MS, lastBit: 1, rolls: Array(ROLLS).fill(0.000_001), isLate: true },
];

/** One replay with a disturbance: what its code has seen so far. */
export class Disturbed {
  /** The timers of its code, where they do not fire by the clock. */
  readonly timers: ReplayTimers | undefined;
  readonly #by: Disturbance;
  readonly #env: Environment;
  #readings = 0;
  #rolled = 0;

  constructor(by: Disturbance, env: Environment) {
    this.#by = by;
    this.#env = env;
    this.timers = by.isLate ? new ReplayTimers() : undefined;
  }

  /** Runs code that sees the disturbance, and all that follows from it. Without asynchronous contexts nothing is changed. */
  run<T>(code: () => T): T {
    return storage === undefined ? code() : storage.run(this, code);
  }

  now(): number {
    const { shiftMs, stepMs, lastBit } = this.#by;
    const shifted = Math.floor(this.#env.wallTime() + shiftMs + stepMs * this.#readings++);
    return shifted - (shifted & 1) + lastBit;
  }

  random(): number {
    return this.#by.rolls[this.#rolled++] ?? this.#env.random();
  }
}

interface Globals {
  Date: DateConstructor;
  readonly Math: { random(): number };
  setTimeout: typeof setTimeout;
  clearTimeout: typeof clearTimeout;
}

const { AsyncLocalStorage } = optionalModule("node:async_hooks") ?? {};
const storage: Storage<Disturbed | undefined> | undefined = AsyncLocalStorage && new AsyncLocalStorage();
/** Replays that run now. The globals are replaced as long as there is one. */
let running = 0;
let restore: () => void = () => undefined;

/** Replaces the clock, the random numbers and the timers until the work is done. */
export async function withDisturbances<T>(work: () => Promise<T>): Promise<T> {
  if (running++ === 0) restore = replace(globalObject as Globals);
  try {
    return await work();
  } finally {
    if (--running === 0) restore();
  }
}

/** Looks at the disturbance, for code of a replay. The look itself reads the real clock and numbers, so it runs outside of the replay. */
function seen<T>(look: (by: Disturbed) => T, otherwise: () => T): T {
  const by = storage?.getStore();
  return by === undefined
    ? otherwise()
    : (storage as Storage<Disturbed | undefined>).run(undefined, look, by);
}

function replace(globals: Globals): () => void {
  const { Math: numbers } = globals;
  const before = { Date: globals.Date, random: numbers.random };
  const now = (): number => seen((by) => by.now(), before.Date.now);
  const random = (): number => seen((by) => by.random(), before.random);
  const clock = new Proxy(before.Date, {
    get: (target, name) => (name === "now" ? now : Reflect.get(target, name)),
    apply: (target) => new target(now()).toString(),
    construct: (target, args, made) => Reflect.construct(target, args.length === 0 ? [now()] : args, made),
  });
  globals.Date = clock;
  numbers.random = random;
  const putTimersBack = replaceTimers(globals);
  return () => {
    putTimersBack();
    // Other code may have replaced them meanwhile.
    if (globals.Date === clock) globals.Date = before.Date;
    if (numbers.random === random) numbers.random = before.random;
  };
}

function replaceTimers(globals: Globals): () => void {
  const { setTimeout: before, clearTimeout: clearBefore } = globals;
  const set = new Proxy(before, {
    apply: (target, self, [fn, ms, ...given]: [() => unknown, unknown, ...unknown[]]) => {
      const timers = storage?.getStore()?.timers;
      if (timers === undefined || typeof fn !== "function")
        return Reflect.apply(target, self, [fn, ms, ...given]);
      const bound = AsyncLocalStorage?.bind(() => Reflect.apply(fn, undefined, given)) ?? fn;
      return timers.set(bound, Number(ms) || 0);
    },
  });
  const clear = new Proxy(clearBefore, {
    apply: (target, self, [timer]: [unknown]) =>
      timer instanceof ReplayTimer ? timer.close() : Reflect.apply(target, self, [timer]),
  });
  globals.setTimeout = set;
  globals.clearTimeout = clear;
  return () => {
    if (globals.setTimeout === set) globals.setTimeout = before;
    if (globals.clearTimeout === clear) globals.clearTimeout = clearBefore;
  };
}
