// The production Environment: the only file of the library that reaches the host's clock, timers, randomness and ids.

import { nanoid } from "nanoid";
import type { Environment, RejectionListener, Scheduler, SchedulerHost, TurnLimits } from "./environment.js";
import { ProcessExitedError } from "./errors.js";
import { markPromises, ownerOf } from "./origin.js";
import { type HostLoop, TurnScheduler } from "./scheduler.js";

/** Node fires a timer of more than this many milliseconds at once, so longer waits go in stages. */
const LONGEST_TIMEOUT = 2_147_483_647;

const settled = Promise.resolve();
const clock = globalThis.performance;

const hostLoop: HostLoop = {
  now: () => clock.now(),
  soon: (fn) => {
    void settled.then(fn);
  },
  later: (fn) => {
    setImmediate(fn);
  },
  at: (deadline, fn) => {
    let timeout: NodeJS.Timeout;
    const arm = (): void => {
      const wait = Math.ceil(deadline - clock.now());
      timeout = setTimeout(
        () => (clock.now() < deadline ? arm() : fn()),
        Math.min(Math.max(wait, 0), LONGEST_TIMEOUT),
      );
    };
    arm();
    return () => clearTimeout(timeout);
  },
};

const listeners = new Set<RejectionListener>();

/**
 * A rejection of a process's promise is that process's crash. Any other is the host's own affair, as without us; so is
 * one of a process whose system has stopped, unless it is only the refusal of an effect.
 */
function onUnhandledRejection(error: unknown, promise: Promise<unknown>): void {
  const owner = ownerOf(promise);
  if (owner !== undefined) {
    for (const listener of listeners) if (listener(owner, error)) return;
    if (error instanceof ProcessExitedError) return;
  }
  if (process.listenerCount("unhandledRejection") === 1) throw error;
}

/** What a System runs on unless it is given another Environment. */
export const production: Environment = {
  now: () => clock.now(),
  wallTime: () => Date.now(),
  random: () => Math.random(),
  id: () => nanoid(),
  createScheduler: (host: SchedulerHost, limits: TurnLimits): Scheduler =>
    new TurnScheduler(host, hostLoop, limits),
  watchRejections: (listener) => {
    const unmark = markPromises();
    if (listeners.size === 0) process.on("unhandledRejection", onUnhandledRejection);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) process.off("unhandledRejection", onUnhandledRejection);
      unmark();
    };
  },
};
