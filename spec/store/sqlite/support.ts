// What tests of SQLite stores share: folders, contexts, drivers.

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { production } from "../../../lib/process/production.js";
import type { Schema, StoreContext, StoreWarning } from "../../../lib/store/index.js";
import { defineTable, type Table } from "../../../lib/store/index.js";

/** The drivers that this Node has. */
export const DRIVERS: ("node" | "libsql")[] = isBuiltin("node:sqlite") ? ["node", "libsql"] : ["libsql"];

/** A new folder, removed at the end. */
export function newFolder(): {
  readonly path: string;
  file(name: string): string;
  list(): string[];
} & Disposable {
  const path = mkdtempSync(join(tmpdir(), "signalbox-sqlite-"));
  return {
    path,
    file: (name) => join(path, name),
    list: () => readdirSync(path).sort(),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

/** Surroundings of a store: timers fire when the test says so. */
export class TestContext implements StoreContext {
  readonly environment: StoreContext["environment"] = production;
  readonly warnings: StoreWarning[] = [];
  readonly timers: { readonly ms: number; readonly fn: () => void }[] = [];

  after(ms: number, fn: () => void): () => void {
    const timer = { ms, fn };
    this.timers.push(timer);
    return () => {
      const at = this.timers.indexOf(timer);
      if (at !== -1) this.timers.splice(at, 1);
    };
  }

  warn(warning: StoreWarning): void {
    this.warnings.push(warning);
  }

  /** Fires the oldest timer. */
  fire(): void {
    this.timers.shift()?.fn();
  }
}

export const orders: Table = defineTable("orders", {
  columns: { id: "text", total: "real", due: "integer?", body: "payload?" },
  key: ["id"],
  indexes: { due: ["due"] },
});
export const journal: Table = defineTable("journal", {
  columns: { position: "integer", flow: "text", entry: "payload" },
  key: ["position"],
  counted: "position",
  indexes: { flow: ["flow"] },
});
export const shop: Schema = { name: "shop", version: 1, tables: [orders, journal] };
