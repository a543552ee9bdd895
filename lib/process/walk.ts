// A walk over all processes in slices: between two slices everybody else runs. So a look at 100,000 processes delays no turn by
// more than a slice.

import { Cursor } from "./cursor.js";
import type { Kernel } from "./kernel.js";
import { exclude, include } from "./one-or-many.js";
import type { Abandonable, Process } from "./process.js";

/** The limits of a slice. */
export interface SliceLimits {
  /** A slice ends after this many milliseconds … */
  readonly ms: number;
  /** … or after this many visits, where the clock stands still within a turn. */
  readonly visits: number;
  /** Visits between two looks at the clock. */
  readonly unseen: number;
}

/** A turn is delayed by at most 1 ms: what is left of it is room for visits that are slow. */
export const SLICE: SliceLimits = { ms: 0.75, visits: 4_096, unseen: 16 };

/** A slice costs at most so many times what it may take. */
const OVERRUN = 2;

/** Does something with each process, the newest first. */
export interface Visitor {
  /** Returns false when it has seen enough. */
  visit(process: Process): boolean;
  /** A slice begins. @param now - monotonic milliseconds */
  slice?(now: number): void;
}

/** How a walk went. */
export interface Walked {
  /** The time of all slices together, in milliseconds. */
  readonly costMs: number;
  /** From the first slice to the end of the last one. */
  readonly tookMs: number;
}

/**
 * Visits every process that lives through the whole walk once, and none that is spawned after its begin. The first slice runs at
 * once: in a small system it is the only one, and nothing has changed before this function returns.
 *
 * @throws SystemStoppedError when the system stops meanwhile
 */
export function walk(kernel: Kernel, visitor: Visitor, limits: SliceLimits = SLICE): Promise<Walked> {
  const cursor = new Cursor(kernel);
  const { env } = kernel;
  const begun = env.now();
  let costMs = 0;
  return new Promise((resolve, reject) => {
    const stop: Abandonable = {
      abandon: (error) => {
        end();
        reject(error);
      },
    };
    const end = (): void => {
      cursor.close();
      kernel.waits = exclude(kernel.waits, stop);
    };
    const advance = (): void => {
      const from = env.now();
      let goesOn: boolean;
      try {
        goesOn = slice(cursor, visitor, kernel, limits);
      } catch (error) {
        end();
        reject(error);
        return;
      }
      const now = env.now();
      // Where it took much longer, the host did something else meanwhile.
      costMs += Math.min(now - from, OVERRUN * limits.ms);
      if (goesOn) kernel.addTimer(0, { fire });
      else {
        end();
        resolve({ costMs, tookMs: now - begun });
      }
    };
    const fire = (): void => {
      // The stop of the system has ended the walk.
      if (!kernel.stopped) advance();
    };
    kernel.waits = include(kernel.waits, stop);
    advance();
  });
}

/** Returns whether something is left. */
function slice(
  cursor: Cursor<Process>,
  visitor: Visitor,
  { env }: Kernel,
  { ms, visits, unseen }: SliceLimits,
): boolean {
  const from = env.now();
  visitor.slice?.(from);
  for (let left = visits; left > 0; left--) {
    const process = cursor.next();
    if (process === undefined) return false;
    if (process.alive && !visitor.visit(process)) return false;
    if (left % unseen === 0 && env.now() - from >= ms) break;
  }
  return cursor.at !== undefined;
}

/**
 * Waits in the time of a system.
 *
 * @throws SystemStoppedError when the system stops meanwhile
 */
export function pause(kernel: Kernel, ms: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const wait: Abandonable = {
      abandon: (error) => {
        kernel.waits = exclude(kernel.waits, wait);
        kernel.cancelTimer(timer);
        reject(error);
      },
    };
    const fire = (): void => {
      kernel.waits = exclude(kernel.waits, wait);
      resolve();
    };
    const timer = kernel.addTimer(ms, { fire });
    kernel.waits = include(kernel.waits, wait);
  });
}
