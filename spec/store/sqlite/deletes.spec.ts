// Many rows of a key with several columns are removed together, by what their keys have in common.

import { defineTable, sqlite } from "signalbox/store";
import { describe, expect, it } from "vitest";
import { storeContext } from "../../support/store-context.js";
import { DRIVERS, newFolder } from "./support.js";

const seats = defineTable("seats", {
  columns: { hall: "text", row: "integer", seat: "integer", guest: "payload" },
  key: ["hall", "row", "seat"],
});

describe.each(DRIVERS)("deletes on %s", (driver) => {
  it("take the rows that were named, and no others", async () => {
    using folder = newFolder();
    const source = sqlite(folder.file("a.db"), { driver, thread: false, durability: "process-kill" });
    const store = await source.open([{ name: "theatre", version: 1, tables: [seats] }], storeContext());
    const all = ["a", "b"].flatMap((hall) =>
      [1, 2].flatMap((row) => Array.from({ length: 120 }, (_, seat) => ({ hall, row, seat }))),
    );
    await store.commit({
      writes: all.map((key) => ({ type: "put", table: seats, row: { ...key, guest: "x" } })),
    });
    // Full statements, the rest of one, and a beginning that few keys have.
    const isGone = ({ hall, row, seat }: (typeof all)[number]): boolean =>
      hall === "a" ? row === 1 || seat % 3 === 0 : row === 2 && seat < 2;
    await store.commit({
      writes: all.filter(isGone).map(({ hall, row, seat }) => ({
        ...{ type: "delete", table: seats, key: [hall, row, seat] as const, blind: true },
      })),
    });
    const rows = await store.scan(seats, { limit: 1_000 });
    expect(rows.map(({ hall, row, seat }) => ({ hall, row, seat }))).toEqual(
      all.filter((one) => !isGone(one)),
    );
    await store.close();
  });
});
