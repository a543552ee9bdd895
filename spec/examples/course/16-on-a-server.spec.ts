// The copies of the course can be opened, so many are kept, and one that fails leaves the older ones and no half file.

import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { System } from "signalbox";
import { defineTable, openStore, sqlite } from "signalbox/store";
import { afterAll, beforeAll, expect, it } from "vitest";
import { backUp, copiesIn } from "../../../examples/course/16-on-a-server.js";

const orders = defineTable("orders", { columns: { id: "text" }, key: ["id"] });
const schemas = [{ name: "shop", version: 1, tables: [orders] }];
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "course-16-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

it("copies a store that works on, keeps the newest copies, and survives a copy that fails", async () => {
  await using system = new System({ report: false });
  const file = join(folder, "shop.db");
  const copies = mkdtempSync(join(folder, "copies-"));
  const store = await openStore(system, sqlite(file, { durability: "process-kill" }), schemas);
  for (const day of ["2026-01-30", "2026-01-31", "2026-02-01"]) {
    await store.commit({ writes: [{ type: "insert", table: orders, row: { id: day } }] });
    await backUp(store, copies, day, 2);
  }
  expect(await copiesIn(copies)).toEqual(["shop-2026-01-31.db", "shop-2026-02-01.db"]);

  const full = {
    backup: async (path: string) => {
      writeFileSync(path, "half of");
      throw new Error("the disk is full");
    },
  };
  await expect(backUp(full, copies, "2026-02-02", 1)).rejects.toThrow("the disk is full");
  expect(readdirSync(copies).sort()).toEqual(["shop-2026-01-31.db", "shop-2026-02-01.db"]);
  await store.close();

  const copy = await openStore(system, sqlite(join(copies, "shop-2026-01-31.db")), schemas);
  expect((await copy.scan(orders, {})).map(({ id }) => id)).toEqual(["2026-01-30", "2026-01-31"]);
  await copy.close();
});
