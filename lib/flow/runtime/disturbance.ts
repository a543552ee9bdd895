// What the verifying replay of a flow changes for its code: the clock and random numbers. Code that depends on neither takes the
// recorded way all the same. Only the code of the replay sees the change: it has an asynchronous context
// of its own.

import type { AsyncLocalStorage as Storage } from "node:async_hooks";
import { globalObject, optionalModule } from "../../process/node-modules.js";

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
}

const DAY_MS = 24 * 60 * 60 * 1_000;
/** Most random numbers in a row that are all high, or all low: a loop that waits for another one goes on. */
const ROLLS = 8;

/** The kinds of replays. One is late and sees high numbers; the other is early, its steps take days, and its numbers are low. */
export const DISTURBANCES: readonly Disturbance[] = [
  { shiftMs: 400.5 * DAY_MS, stepMs: 0, lastBit: 0, rolls: Array(ROLLS).fill(0.999_999) },
  { shiftMs: -200 * DAY_MS, stepMs: DAY_MS, lastBit: 1, rolls: Array(ROLLS).fill(0.000_001) },
];

interface Disturbed extends Disturbance {
  readonly random: () => number;
  readings: number;
  rolled: number;
}

interface Globals {
  Date: DateConstructor;
  readonly Math: { random(): number };
}

const { AsyncLocalStorage } = optionalModule("node:async_hooks") ?? {};
const storage: Storage<Disturbed> | undefined = AsyncLocalStorage && new AsyncLocalStorage();
/** Replays that run now. The globals are replaced as long as there is one. */
let running = 0;
let restore: () => void = () => undefined;

/** Runs code that sees the disturbance, and all that follows from the code. On a host without asynchronous contexts nothing is changed. */
export function disturbed<T>(by: Disturbance, random: () => number, code: () => T): T {
  return storage === undefined ? code() : storage.run({ ...by, random, readings: 0, rolled: 0 }, code);
}

/** Replaces the clock and the random numbers until the work is done. */
export async function withDisturbances<T>(work: () => Promise<T>): Promise<T> {
  if (running++ === 0) restore = replace(globalObject as Globals);
  try {
    return await work();
  } finally {
    if (--running === 0) restore();
  }
}

function replace(globals: Globals): () => void {
  const { Math: numbers } = globals;
  const before = { Date: globals.Date, random: numbers.random };
  const now = (): number => {
    const given = storage?.getStore();
    const real = before.Date.now();
    if (given === undefined) return real;
    const shifted = Math.floor(real + given.shiftMs + given.stepMs * given.readings++);
    return shifted - (shifted & 1) + given.lastBit;
  };
  const random = (): number => {
    const given = storage?.getStore();
    if (given === undefined) return before.random();
    return given.rolls[given.rolled++] ?? given.random();
  };
  const clock = new Proxy(before.Date, {
    get: (target, name) => (name === "now" ? now : Reflect.get(target, name)),
    apply: (target) => new target(now()).toString(),
    construct: (target, args, made) => Reflect.construct(target, args.length === 0 ? [now()] : args, made),
  });
  globals.Date = clock;
  numbers.random = random;
  return () => {
    // Somebody else may have replaced them meanwhile.
    if (globals.Date === clock) globals.Date = before.Date;
    if (numbers.random === random) numbers.random = before.random;
  };
}
