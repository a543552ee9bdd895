// Large values of flows, in a table of their own.

import { describe, expect, test } from "vitest";
import { BlobWriter, blobs, release, releaseAll, resolved } from "../../../lib/flow/journal/blobs.js";
import type { Stored } from "../../../lib/host/payload/marks.js";
import { Payloads } from "../../../lib/host/payload/payloads.js";
import type { Store, Write } from "../../../lib/store/index.js";

describe("a large value", () => {
  test("goes to a table of its own in the same write set, and comes back [J49]", async () => {
    const payloads = new Payloads({ apartBytes: 20 });
    const writer = new BlobWriter(7, payloads.limits.apartBytes);
    const writes: Write[] = [];
    const values = ["small", "large".repeat(10), null, { large: "x".repeat(30) }];
    const rows = values.map((value) =>
      writer.split(payloads.store(value, "result") as Stored, "journal/3", writes),
    );
    expect(rows).toEqual(['"small"', "@7.1.52", "null", "@7.2.42"]);
    expect(writes).toMatchObject([
      { type: "insert", table: blobs, row: { writer: 7, number: 1, owner: "journal/3" } },
      { type: "insert", table: blobs, row: { writer: 7, number: 2, owner: "journal/3" } },
    ]);
    const gets: unknown[] = [];
    const kept = new Map(
      writes.map((write) => ("row" in write ? [`${write.row.number}`, write.row] : ["", {}])),
    );
    const store = {
      get: async (_table: unknown, keys: readonly (readonly unknown[])[]) => {
        gets.push(keys);
        return keys.map(([, number]) => kept.get(String(number)));
      },
    } as unknown as Store;
    const back = await resolved(store, [...rows, null]);
    expect(back.slice(0, 4).map((row) => payloads.load(row as Stored))).toEqual(values);
    expect(back[4]).toBeNull();
    expect(gets).toEqual([
      [
        [7, 1],
        [7, 2],
      ],
    ]);
    expect(await resolved(store, ["1"])).toEqual(["1"]);
    expect(gets).toHaveLength(1);
    await expect(resolved(store, ["@7.9.1"])).rejects.toThrow(/large value @7\.9\.1 is missing/);
    expect(() => payloads.load("@7.1.52")).toThrow(/references are resolved before/);
  });

  test("is removed with its flow or by itself [J49]", () => {
    expect(release("@7.1.52")).toEqual({ type: "delete", table: blobs, key: [7, 1] });
    expect([release("1"), release(null), release(new Uint8Array(2))]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(releaseAll("flow/3")).toEqual({ type: "clear", table: blobs, index: "owner", prefix: ["flow/3"] });
  });
});
