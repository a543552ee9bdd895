// Waits for the notifications of topics, over a store that is nothing but its watchers, and by timers that the test fires.

import { describe, expect, test } from "vitest";
import type { Store, Watcher } from "../../lib/store/index.js";
import { POLL_MS, watchTopics } from "../../lib/store/topic-wait.js";

function surroundings(shared: boolean) {
  const watchers = new Map<Watcher, string>();
  const timers = new Set<{ readonly ms: number; fire(): void }>();
  const watch: Store["watch"] = (prefix, watcher) => {
    watchers.set(watcher, prefix);
    return () => void watchers.delete(watcher);
  };
  return {
    store: { shared, watch } as unknown as Store,
    timers,
    watchers,
    after: (ms: number, fn: () => void) => {
      const timer = {
        ms,
        fire: () => {
          timers.delete(timer);
          fn();
        },
      };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    notify: (topic: string) => {
      for (const [one, prefix] of watchers) if (topic.startsWith(prefix)) one.notified(topic);
    },
    /** The milliseconds of the timers that are set. */
    set: () => [...timers].map(({ ms }) => ms),
    fire: (ms: number) => [...timers].find((one) => one.ms === ms)?.fire(),
  };
}

describe("a wait for the notifications of topics", () => {
  test("looks again at a shared store after each poll, and releases its timers at its end [N1515]", async () => {
    const on = surroundings(true);
    const wait = watchTopics(on.store, ["a"], 60_000, undefined, on.after);
    for (let i = 0; i < 3; i++) {
      const next = wait.next();
      expect(on.set().toSorted()).toEqual([POLL_MS, 60_000].toSorted());
      on.fire(POLL_MS);
      expect(await next).toBe("notified");
    }
    const last = wait.next();
    on.fire(60_000);
    expect(await last).toBe("timeout");
    wait.end();
    expect([on.timers.size, on.watchers.size]).toEqual([0, 0]);
  });

  test("an abort releases the timers with the end of the wait [N1515]", async () => {
    const on = surroundings(true);
    const control = new AbortController();
    const wait = watchTopics(on.store, ["a"], Number.POSITIVE_INFINITY, control.signal, on.after);
    const next = wait.next();
    control.abort("enough");
    await expect(next).rejects.toBe("enough");
    wait.end();
    expect([on.timers.size, on.watchers.size]).toEqual([0, 0]);
  });

  test("has no poll at a store of one process, which loses no notice [N1515]", () => {
    const on = surroundings(false);
    const wait = watchTopics(on.store, ["a"], Number.POSITIVE_INFINITY, undefined, on.after);
    expect(on.timers.size).toBe(0);
    wait.end();
  });

  test("each notification of one of the topics leads to one look, also one from between two calls [N1515]", async () => {
    const on = surroundings(false);
    const wait = watchTopics(on.store, ["a", "b"], 1_000, undefined, on.after);
    const first = wait.next();
    on.notify("b");
    expect(await first).toBe("notified");
    on.notify("a");
    on.notify("aa");
    expect(await wait.next()).toBe("notified");
    const last = wait.next();
    on.notify("aa");
    on.fire(1_000);
    expect(await last).toBe("timeout");
    wait.end();
  });
});
