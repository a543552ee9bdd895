// The surroundings of a store that is opened without a system: the production environment, and the host's timers.

import type { StoreContext, StoreWarning } from "signalbox/store";
import { production } from "../../lib/process/production.js";

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
