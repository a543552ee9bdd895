// Values of columns: what comes back as it was written, and what is refused before it is written.

import { OptionError } from "signalbox";
import { type AnyRow, type Store, type Table, ValueError, type Write } from "signalbox/store";
import { expect, it } from "vitest";
import { log, pair, plain } from "../random-sets.js";
import { bench, empty, type Kind } from "./bench.js";

async function kept(store: Store, table: Table, row: AnyRow): Promise<AnyRow | undefined> {
  await store.commit({ writes: [{ type: "put", table, row }] });
  const [found] = await store.get(table, [table.key.map((name) => row[name] as string)]);
  return found;
}

const KEPT: readonly (readonly [name: string, table: Table, row: AnyRow, column: string])[] = [
  ["an empty text", plain, { id: "" }, "id"],
  ["a text with quotes and backslashes", plain, { id: `'"\\\n\t%_` }, "id"],
  ["a text beyond the basic plane", plain, { id: "😀\u{10ffff}\uffff" }, "id"],
  ["an empty payload", plain, { id: "a", body: "" }, "body"],
  ["empty bytes", plain, { id: "a", body: new Uint8Array() }, "body"],
  ["all bytes", plain, { id: "a", body: Uint8Array.from({ length: 256 }, (_, i) => i) }, "body"],
  ["bytes that look like text", plain, { id: "a", body: new Uint8Array([97, 98]) }, "body"],
  ["a text that looks like bytes", plain, { id: "a", body: "\\x6162" }, "body"],
  ["a text that looks like a number", plain, { id: "1e3", body: "12" }, "body"],
  ["the largest whole number", plain, { id: "a", n: Number.MAX_SAFE_INTEGER }, "n"],
  ["the smallest whole number", plain, { id: "a", n: Number.MIN_SAFE_INTEGER }, "n"],
  ["a fraction", pair, { a: "a", b: 1, x: 0.1 + 0.2 }, "x"],
  ["a whole number in a real column", pair, { a: "a", b: 1, x: 3 }, "x"],
  ["the largest number", pair, { a: "a", b: 1, x: Number.MAX_VALUE }, "x"],
  ["the smallest number", pair, { a: "a", b: 1, x: Number.MIN_VALUE }, "x"],
  ["a negative key", pair, { a: "a", b: -5 }, "b"],
];

const REFUSED: readonly (readonly [name: string, table: Table, row: object, column: string])[] = [
  ["NUL in a text", plain, { id: "a\0b" }, "id"],
  ["NUL in a payload", plain, { id: "a", body: "a\0b" }, "body"],
  ["a lone surrogate", plain, { id: "a\ud800" }, "id"],
  ["a lone surrogate in a payload", plain, { id: "a", body: "\udc00" }, "body"],
  ["a whole number that is too large", plain, { id: "a", n: 2 ** 53 }, "n"],
  ["a fraction for a whole number", plain, { id: "a", n: 1.5 }, "n"],
  ["NaN", pair, { a: "a", b: 1, x: Number.NaN }, "x"],
  ["Infinity", pair, { a: "a", b: 1, x: Number.POSITIVE_INFINITY }, "x"],
  ["a bigint", plain, { id: "a", n: 1n }, "n"],
  ["a text for a number", plain, { id: "a", n: "1" }, "n"],
  ["a number for a text", plain, { id: 1 }, "id"],
  ["a boolean", plain, { id: "a", n: true }, "n"],
  ["null in a key", plain, { id: null }, "id"],
  ["an object", plain, { id: "a", body: {} }, "body"],
  ["an array of bytes", plain, { id: "a", body: [1] }, "body"],
  ["no value where null is not allowed", plain, { n: 1 }, "id"],
  ["a column that the table does not have", plain, { id: "a", color: "red" }, "color"],
  ["another column instead of a missing one", plain, { id: "a", n: 1, bodi: null }, "bodi"],
];

export function valueTests(kind: Kind): void {
  const at = bench(kind);

  it.each(KEPT)("keep %s", async (_, table, row, column) => {
    const found = await kept(at().store, table, row);
    expect(found?.[column]).toEqual(row[column]);
    expect(typeof found?.[column]).toBe(typeof row[column]);
  });

  it("keep -0 as 0", async () => {
    const found = await kept(at().store, pair, { a: "zero", b: -0, x: -0 });
    expect(Object.is(found?.b, 0) && Object.is(found?.x, 0)).toBe(true);
  });

  it("read null for what a row left out", async () => {
    expect(await kept(at().store, plain, { id: "left" })).toEqual({ id: "left", n: null, body: null });
  });

  it.each(REFUSED)("refuse %s, by name", async (_, table, row, column) => {
    const refused = at().store.commit({ writes: [{ type: "put", table, row: row as AnyRow }] });
    await expect(refused).rejects.toThrow(ValueError);
    await expect(refused).rejects.toMatchObject({ code: "ERR_STORE_VALUE", table: table.name, column });
  });

  it("refuse changes that make no sense", async () => {
    const { store } = at();
    const refuses = async (write: object, column: string): Promise<void> => {
      const refused = store.commit({ writes: [write as Write] });
      await expect(refused).rejects.toMatchObject({ code: "ERR_STORE_VALUE", column });
    };
    await refuses({ type: "update", table: plain, key: ["a"], set: { id: "b" } }, "id");
    await refuses({ type: "update", table: plain, key: ["a"], add: { body: 1 } }, "body");
    await refuses({ type: "update", table: plain, key: ["a"], set: { n: 1 }, add: { n: 1 } }, "n");
    await refuses({ type: "update", table: plain, key: ["a"], add: { n: Number.NaN } }, "n");
    await refuses({ type: "update", table: plain, key: ["a", "b"], set: { n: 1 } }, "");
    await refuses({ type: "delete", table: plain, key: [] }, "");
    await refuses({ type: "insert", table: log, row: { no: 5, flow: "a" } }, "no");
    await refuses({ type: "put", table: log, row: { flow: "a" } }, "");
    await expect(store.commit({ writes: [{ type: "upsert" } as unknown as Write] })).rejects.toThrow(
      OptionError,
    );
    await expect(
      store.commit({ writes: [{ type: "clear", table: plain, index: "none", prefix: [] }] }),
    ).rejects.toThrow(/index must be one of by_n/);
  });

  it("refuse a sum that no store could keep, and nothing else of its group", async () => {
    const { store } = at();
    await empty(store);
    await store.commit({
      writes: [{ type: "put", table: plain, row: { id: "a", n: Number.MAX_SAFE_INTEGER } }],
    });
    const sum = store.commit({ writes: [{ type: "update", table: plain, key: ["a"], add: { n: 1 } }] });
    const fine = store.commit({ writes: [{ type: "update", table: plain, key: ["a"], add: { n: -1 } }] });
    await expect(sum).rejects.toThrow(ValueError);
    expect((await fine).results).toEqual([1]);
  });

  it("keep a row of 4 MB beside small ones", async () => {
    const { store } = at();
    await empty(store);
    const big = "0123456789abcdef".repeat(262_144);
    const row = (id: string, body: string | Uint8Array): Write => ({
      type: "put",
      table: plain,
      row: { id, body },
    });
    const bytes = new TextEncoder().encode(big);
    await Promise.all([
      store.commit({ writes: [row("a", "small")] }),
      store.commit({ writes: [row("b", big)] }),
      store.commit({ writes: [row("c", bytes)] }),
    ]);
    const [a, b, c] = await store.get(plain, [["a"], ["b"], ["c"]]);
    expect(a?.body).toBe("small");
    expect(b?.body === big).toBe(true);
    expect(c?.body instanceof Uint8Array && Buffer.from(c.body).equals(bytes)).toBe(true);
  });

  it("belong to the store: what a writer or reader changes later changes nothing", async () => {
    const { store } = at();
    await empty(store);
    const body = new Uint8Array([1, 2, 3]);
    await store.commit({ writes: [{ type: "put", table: plain, row: { id: "a", body } }] });
    body[0] = 9;
    const [read] = await store.get(plain, [["a"]]);
    (read?.body as Uint8Array)[1] = 9;
    expect((await store.get(plain, [["a"]]))[0]?.body).toEqual(new Uint8Array([1, 2, 3]));
  });
}
