// Work of a host that no caller waits for. A store that fails only puts it off: it is tried again, after waits that grow, until it is done.

import { type Backoff, backoffMs } from "../../process/backoff.js";
import { classOf } from "../../store/error-classes.js";
import { StoreError, StoreOverloadedError, StoreVersionError } from "../../store/index.js";
import { isHostOver } from "../handles/errors.js";
import type { StoreOutage } from "./outage.js";

/** Waits before work is tried again that the store failed. */
export const STORE_RETRY: Backoff = { minMs: 100, maxMs: 5_000, jitter: 0.2 };

/** The port of background work to its host. */
export interface BackgroundPort {
  /** Milliseconds, by any clock. */
  now(): number;
  /** In [0, 1). */
  random(): number;
  /** Calls after so many milliseconds, unless the host has ended. */
  after(ms: number, fn: () => void): void;
  /** Once when the store begins to fail, and once when all that had failed is done. */
  told(outage: StoreOutage): void;
  /** An error that no further attempt cures. */
  end(error: unknown): void;
}

type Work = () => Promise<unknown>;

/** Work that has failed and is not done. */
interface Late {
  attempts: number;
  /** It waits for its next attempt. */
  waits: boolean;
}

/** Whether the same work may succeed at another time. */
export function isCurable(error: unknown): error is Error {
  return error instanceof StoreError || error instanceof StoreOverloadedError;
}

/** Whether the store has no space, memory or connection now. A host that starts then waits: to start it again would meet the same, again and again. */
export function isFull(error: unknown): error is Error {
  return isCurable(error) && classOf(error) === "exhausted";
}

export class Background {
  readonly #port: BackgroundPort;
  readonly #late = new Map<string, Late>();
  #failures = 0;
  #since = 0;

  constructor(port: BackgroundPort) {
    this.#port = port;
  }

  /**
   * Does work until it is done.
   *
   * @param key - names the work: work that already waits for its next attempt is not done twice
   */
  do(key: string, work: Work): void {
    if (this.#late.get(key)?.waits !== true) void this.#attempt(key, work);
  }

  /** Work has failed: does it, or something that makes up for it, after a wait. */
  again(key: string, error: unknown, work: Work): void {
    if (!isCurable(error)) this.#port.end(error);
    else if (this.#late.get(key)?.waits !== true)
      this.#later(key, error, () => void this.#attempt(key, work));
  }

  /** The outcome of work that is tried until it is done. @throws errors that no further attempt cures */
  async until<T>(
    key: string,
    work: () => Promise<T>,
    cures: (error: unknown) => boolean = isCurable,
  ): Promise<T> {
    for (;;) {
      try {
        const value = await work();
        this.worked(key);
        return value;
      } catch (error) {
        if (!cures(error)) {
          this.worked(key);
          throw error;
        }
        await new Promise<void>((go) => this.#later(key, error as Error, go));
      }
    }
  }

  /** Work has failed that has timers of its own. Returns after how many milliseconds to try again. */
  failed(key: string, error: Error): number {
    const { now, random, told, end } = this.#port;
    this.#failures++;
    if (error instanceof StoreVersionError || isHostOver(error)) end(error);
    else if (this.#late.size === 0) {
      this.#since = now();
      told({ type: "began", error });
    }
    const late = this.#late.get(key) ?? { attempts: 0, waits: false };
    this.#late.set(key, late);
    late.attempts++;
    return backoffMs(STORE_RETRY, late.attempts, random());
  }

  /** Work is done that may have failed before. */
  worked(key: string): void {
    // Work that has failed again meanwhile is not done.
    if (this.#late.get(key)?.waits !== false) return;
    this.#late.delete(key);
    if (this.#late.size > 0) return;
    this.#port.told({ type: "ended", failures: this.#failures, tookMs: this.#port.now() - this.#since });
    this.#failures = 0;
  }

  async #attempt(key: string, work: Work): Promise<void> {
    try {
      await work();
      this.worked(key);
    } catch (error) {
      this.again(key, error, work);
    }
  }

  #later(key: string, error: Error, next: () => void): void {
    const ms = this.failed(key, error);
    const late = this.#late.get(key) as Late;
    late.waits = true;
    this.#port.after(ms, () => {
      late.waits = false;
      next();
    });
  }
}
