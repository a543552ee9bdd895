// What tests of SQLite stores share: folders, drivers, tables.

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineTable, type Schema, type Store, type StoreSource, type Table } from "signalbox/store";
import { storeContext, type TestContext } from "../../support/store-context.js";

/** The drivers that this Node has. */
export const DRIVERS: ("node" | "libsql")[] = isBuiltin("node:sqlite") ? ["node", "libsql"] : ["libsql"];

export interface Folder extends Disposable {
  readonly path: string;
  file(name: string): string;
  list(): string[];
}

/** A new folder, removed at the end. */
export function newFolder(): Folder {
  const path = mkdtempSync(join(tmpdir(), "signalbox-sqlite-"));
  return {
    path,
    file: (name) => join(path, name),
    list: () => readdirSync(path).sort(),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
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

/** Opens a store of orders. */
export function open(source: StoreSource, context: TestContext = storeContext()): Promise<Store> {
  return source.open([shop], context);
}

/** Adds an order. */
export const order = (id: string, total = 1): Parameters<Store["commit"]>[0] => ({
  writes: [{ type: "insert", table: orders, row: { id, total } }],
});
