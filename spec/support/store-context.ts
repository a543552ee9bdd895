// The surroundings of a store that is opened without a system: the production environment, and the host's timers.

import type { StoreContext, StoreWarning } from "signalbox/store";
import { production } from "../../lib/process/production.js";
import { until } from "./until.js";

/** A context, and what the store warned of. */
export interface TestContext extends StoreContext {
  readonly warnings: StoreWarning[];
}

export function storeContext(): TestContext {
  const warnings: StoreWarning[] = [];
  return {
    environment: production,
    warnings,
    after(ms, fn) {
      const timer = setTimeout(fn, ms);
      return () => clearTimeout(timer);
    },
    warn: (warning) => warnings.push(warning),
  };
}

/** A context whose clock also leaps: a test waits for no time that it states, however slow its machine is. */
export interface LeapingContext extends TestContext {
  /** Leaps by so many milliseconds until the operation has ended. What the operation waits for comes meanwhile, or its limits pass. */
  leapUntil(operation: Promise<unknown>, ms: number): Promise<void>;
}

export function leapingContext(): LeapingContext {
  const context = storeContext();
  const timers = new Set<{ readonly at: number; readonly cancel: () => void; readonly fn: () => void }>();
  let leapt = 0;
  const now = (): number => production.now() + leapt;
  const leap = (ms: number): void => {
    leapt += ms;
    const due = [...timers].filter(({ at }) => at <= now());
    for (const { cancel, fn } of due) {
      cancel();
      fn();
    }
  };
  return {
    ...context,
    environment: Object.assign(Object.create(production), { now }),
    after(ms, fn) {
      const ended = context.after(ms, () => {
        timers.delete(timer);
        fn();
      });
      const timer = {
        at: now() + ms,
        fn,
        cancel() {
          timers.delete(timer);
          ended();
        },
      };
      timers.add(timer);
      return timer.cancel;
    },
    async leapUntil(operation, ms) {
      let isOver = false;
      const over = (): void => {
        isOver = true;
      };
      operation.then(over, over);
      await until(() => {
        if (!isOver) leap(ms);
        return isOver;
      });
    },
  };
}
