// Waits for notifications of a topic, for code that reads a row again and again until it has the expected value.

import type { Store } from "./store.js";

/** The notifications of a topic. */
export interface TopicWait {
  /** Waits for the next notification, or for the end of the time. Notifications from before the call count. Rejects with the reason of the signal. */
  next(): Promise<"notified" | "timeout">;
  /** Ends the wait. */
  end(): void;
}

/**
 * Listens to a topic: begin before the row is read, or an end in between is missed.
 *
 * @param timeoutMs - how long, for all calls of `next` together
 * @param after - sets a timer; returns the call that cancels it
 */
export function watchTopic(
  store: Store,
  topic: string,
  timeoutMs: number,
  signal: AbortSignal | undefined,
  after: (ms: number, fn: () => void) => () => void,
): TopicWait {
  let isNotified = false;
  let over = false;
  let settle: { resolve(what: "notified" | "timeout"): void; reject(error: unknown): void } | undefined;
  const notify = (): void => {
    isNotified = true;
    settle?.resolve("notified");
  };
  const unwatch = store.watch(topic, { notified: (which) => which === topic && notify(), again: notify });
  const cancel = Number.isFinite(timeoutMs)
    ? after(timeoutMs, () => {
        over = true;
        settle?.resolve("timeout");
      })
    : undefined;
  const abort = (): void => settle?.reject(signal?.reason);
  signal?.addEventListener("abort", abort);
  return {
    next: () =>
      new Promise<"notified" | "timeout">((resolve, reject) => {
        settle = { resolve, reject };
        if (signal?.aborted) return reject(signal.reason);
        if (isNotified) resolve("notified");
        else if (over) resolve("timeout");
        isNotified = false;
      }),
    end: () => {
      unwatch();
      cancel?.();
      signal?.removeEventListener("abort", abort);
    },
  };
}
