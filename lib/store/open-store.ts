// Opens a store in the name of a system: its clock, its timers, its reports.

import type { Kernel } from "../process/kernel.js";
import { kernelOf, withMethod } from "../process/options.js";
import type { ProcessSystem } from "../process/system.js";
import type { Schema } from "./schema.js";
import type { Store, StoreContext, StoreSource } from "./store.js";

/**
 * Opens a store for a program. Close the store before the system stops: its timers are the system's.
 *
 * @param schemas - the tables that the program uses, with their versions
 * @throws StoreVersionError, StoreUnsupportedError, StoreError, OptionError, and what the kind of store adds
 * @example
 * const orders = defineTable("orders", { columns: { id: "text", total: "real" }, key: ["id"] });
 * await using shop = await openStore(system, memory(), [{ name: "shop", version: 1, tables: [orders] }]);
 * await shop.commit({ writes: [{ type: "put", table: orders, row: { id: "7", total: 12.5 } }] });
 */
export function openStore(
  system: ProcessSystem,
  source: StoreSource,
  schemas: readonly Schema[],
): Promise<Store> {
  const kernel = kernelOf(system);
  withMethod("source", source, "open", "a kind of store, such as memory() or sqlite(path)");
  return source.open(schemas, storeContext(kernel));
}

/** The context of a store that a system opens. Warnings of the store become reports. */
export function storeContext(kernel: Kernel): StoreContext {
  return {
    environment: kernel.env,
    after(ms, fn) {
      const timer = kernel.addTimer(ms, { fire: fn });
      return () => void kernel.cancelTimer(timer);
    },
    warn({ message }) {
      if (!kernel.reports.admits("store")) return;
      kernel.reports.write({ level: "warn", event: "store", path: kernel.node.name, text: message });
    },
  };
}
