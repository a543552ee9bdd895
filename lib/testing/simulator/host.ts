// What the simulator takes from the host: to know when the event loop has run dry and what it is at work on, and to catch
// code under simulation at using the host's timers.

import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers";
import timersPromises from "node:timers/promises";
import { promisify } from "node:util";
import { promiseHooks } from "node:v8";
import { origin } from "../../process/origin.js";
import { later } from "../kit/event-loop.js";

type Callback = (...args: never[]) => unknown;

/** Told when code uses a timer of the host; it throws when that is not to be. */
export type TimerWatch = (name: string) => void;

const realTimeout = globalThis.setTimeout;
const clock = globalThis.performance;

let watched = 0;
let unwatch: (() => void) | undefined;
const watches = new Set<TimerWatch>();

/** The host, as the simulator uses it. */
export interface SimulatorHost {
  /** Promises made and settled so far: when a step has not changed it, nothing waits in the host for that step's end. */
  readonly promises: {
    count: number;
    /** Told of each promise made; `awaited`: it stands for an await, or a `then`, of another. */
    made: ((promise: object, awaited: boolean) => void) | undefined;
    settled: ((promise: object) => void) | undefined;
  };
  /** Resolves when all microtasks have run, before the host's I/O has its go. */
  microtasks(): Promise<void>;
  /** Resolves in the next macrotask: after all microtasks, and after the host has told of rejections. */
  drain(): Promise<void>;
  /** What the host is at work on that it was not before, handles and requests by kind. */
  busy(): string[];
  /** Waits in real time, at most `ms`, until `done` holds. */
  until(done: () => boolean, ms: number): Promise<boolean>;
  /** Starts counting promises and watching timers; returns the call that ends it. Several may watch at once. */
  watch(timers: TimerWatch): () => void;
  /** The call stack, as text. */
  stack(): string;
}

export const host: SimulatorHost = {
  promises: { count: 0, made: undefined, settled: undefined },

  microtasks() {
    return new Promise((done) => {
      process.nextTick(done);
    });
  },

  drain() {
    return new Promise((done) => {
      later(done);
    });
  },

  busy() {
    const now = process.getActiveResourcesInfo().filter((kind) => kind !== "Immediate");
    const known: string[] = [];
    for (const kind of baseline) {
      const index = now.indexOf(kind);
      if (index >= 0) known.push(...now.splice(index, 1));
    }
    // What has come to its end since is known no more: the next of its kind is another.
    baseline = known;
    return now;
  },

  async until(done, ms) {
    const end = clock.now() + ms;
    while (!done()) {
      if (clock.now() > end) return false;
      await new Promise<void>((next) => {
        realTimeout(next, 1);
      });
      await host.drain();
    }
    return true;
  },

  watch(timers) {
    watches.add(timers);
    if (watched++ === 0) {
      baseline = process.getActiveResourcesInfo();
      const { promises } = host;
      const unhook = promiseHooks.createHook({
        init: (promise, parent) => {
          promises.count++;
          promises.made?.(promise, (parent as unknown) !== undefined);
        },
        settled: (promise) => {
          promises.count++;
          promises.settled?.(promise);
        },
      }) as unknown as () => void;
      const restore = guardTimers();
      unwatch = () => {
        unhook();
        restore();
      };
    }
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      watches.delete(timers);
      if (--watched === 0) unwatch?.();
    };
  },

  stack: () => new Error().stack ?? "",
};

let baseline: string[] = [];

/** Replaces the host's timers by ones that ask first. */
function guardTimers(): () => void {
  const undo: (() => void)[] = [];
  const guard = (holder: object, name: string, label: string, promised?: unknown): void => {
    const real = Reflect.get(holder, name) as Callback;
    const guarded = function (this: unknown, ...args: never[]): unknown {
      if (origin.current !== undefined || origin.scheduler !== undefined)
        for (const watch of watches) watch(label);
      return Reflect.apply(real, this, args);
    };
    const own: PropertyDescriptorMap & { [promisify.custom]?: PropertyDescriptor } =
      Object.getOwnPropertyDescriptors(real);
    if (promised !== undefined) own[promisify.custom] = { value: promised, configurable: true };
    Object.defineProperties(guarded, own);
    Reflect.set(holder, name, guarded);
    undo.push(() => {
      if (Reflect.get(holder, name) === guarded) Reflect.set(holder, name, real);
    });
  };
  const names = ["setTimeout", "setInterval", "setImmediate"] as const;
  for (const name of names) guard(timersPromises, name, `${name} of node:timers/promises`);
  guard(timersPromises.scheduler, "wait", "scheduler.wait of node:timers/promises");
  for (const name of names) {
    const promised = name === "setInterval" ? undefined : timersPromises[name];
    guard(globalThis, name, name, promised);
    guard(timers, name, `${name} of node:timers`, promised);
  }
  guard(AbortSignal, "timeout", "AbortSignal.timeout");
  // What was imported by name from the modules follows.
  syncBuiltinESMExports();
  return () => {
    for (const one of undo) one();
    syncBuiltinESMExports();
  };
}
