// Waits for notifications of topics, for code that reads a row again and again until it has the expected value.

import type { Store } from "./store.js";

/** The notifications of some topics. */
export interface TopicWait {
  /**
   * Waits until it is time to look again, after a notification or a poll, or for the end of the time. Notifications from before the call
   * count. Rejects with the reason of the signal.
   */
  next(): Promise<"notified" | "timeout">;
  /** Ends the wait. */
  end(): void;
}

/** Milliseconds between two looks without a notification: a host that is killed between its commit and the notice of it has told nobody. */
export const POLL_MS = 5_000;

/**
 * Listens to topics: begin before the row is read, or an end in between is missed.
 *
 * @param timeoutMs - how long, for all calls of `next` together
 * @param after - sets a timer; returns the call that cancels it
 */
export function watchTopics(
  store: Store,
  topics: readonly string[],
  timeoutMs: number,
  signal: AbortSignal | undefined,
  after: (ms: number, fn: () => void) => () => void,
): TopicWait {
  let isNotified = false;
  let over = false;
  let settle: { resolve(what: "notified" | "timeout"): void; reject(error: unknown): void } | undefined;
  const wake = (what: "notified" | "timeout"): void => {
    settle?.resolve(what);
    settle = undefined;
  };
  const notify = (): void => {
    isNotified = settle === undefined;
    wake("notified");
  };
  const unwatch = topics.map((topic) =>
    store.watch(topic, { notified: (which) => which === topic && notify(), again: notify }),
  );
  const cancel = Number.isFinite(timeoutMs)
    ? after(timeoutMs, () => {
        over = true;
        wake("timeout");
      })
    : undefined;
  let cancelPoll: (() => void) | undefined;
  const poll = (): void => {
    cancelPoll = after(POLL_MS, () => {
      notify();
      poll();
    });
  };
  if (store.shared) poll();
  const abort = (): void => settle?.reject(signal?.reason);
  signal?.addEventListener("abort", abort);
  return {
    next: () =>
      new Promise<"notified" | "timeout">((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        if (isNotified) resolve("notified");
        else if (over) resolve("timeout");
        else settle = { resolve, reject };
        isNotified = false;
      }),
    end: () => {
      for (const one of unwatch) one();
      cancel?.();
      cancelPoll?.();
      signal?.removeEventListener("abort", abort);
    },
  };
}
