// The life of a store: opening, versions, watching, closing.

import {
  defineTable,
  type Schema,
  type Store,
  StoreClosedError,
  StoreVersionError,
  type Table,
  type Watcher,
} from "signalbox/store";
import { describe, expect, it } from "vitest";
import { storeContext } from "../../support/store-context.js";
import { plain } from "../random-sets.js";
import { bench, empty, type Kind, type Place, SCHEMA } from "./bench.js";

const put = (id: string, notify?: readonly string[]): Parameters<Store["commit"]>[0] => ({
  writes: [{ type: "put", table: plain, row: { id } }],
  ...(notify && { notify }),
});

const heard = (): { readonly topics: string[]; readonly watcher: Watcher } => {
  const topics: string[] = [];
  return { topics, watcher: { notified: (topic) => topics.push(topic), again: () => topics.push("again") } };
};

async function within(kind: Kind, body: (place: Place) => Promise<void>): Promise<void> {
  const place = await kind.make();
  try {
    await body(place);
  } finally {
    await place.dispose();
  }
}

const open = (place: Place, schema: Schema): Promise<Store> => place.source.open([schema], storeContext());

const books1: Table = defineTable("books", { columns: { id: "text", title: "text?" }, key: ["id"] });
const books2: Table = defineTable("books", {
  columns: { id: "text", title: "text?", year: "integer?" },
  key: ["id"],
  indexes: { year: ["year"], title: ["title"] },
});
const shops: Table = defineTable("shops", { columns: { id: "text" }, key: ["id"] });
const version1: Schema = { name: "library", version: 1, tables: [books1, shops] };
const version2: Schema = {
  name: "library",
  version: 2,
  tables: [books2],
  migrations: { 2: { drop: ["shops"] } },
};

export function lifeTests(kind: Kind): void {
  describe("open", () => {
    const at = bench(kind);

    it("notifies those who watch a prefix of a committed topic, once for each topic of a group", async () => {
      const { store } = at();
      const all = heard();
      const some = heard();
      const none = heard();
      store.watch("", all.watcher);
      const end = store.watch("mail/", some.watcher);
      store.watch("mail/x", none.watcher);
      await Promise.all([
        store.commit(put("a", ["mail/1", "due"])),
        store.commit(put("b", ["mail/1"])),
        store
          .commit({ expect: [{ table: plain, key: ["a"], is: "absent" }], ...put("c", ["mail/refused"]) })
          .catch(() => 0),
      ]);
      await store.commit({ writes: [] });
      expect(some.topics).toEqual(["mail/1"]);
      expect(all.topics.sort()).toEqual(["due", "mail/1"]);
      expect(none.topics).toEqual([]);
      end();
      await store.commit(put("a", ["mail/2"]));
      await store.commit({ writes: [] });
      expect(some.topics).toEqual(["mail/1"]);
      await expect(store.commit(put("a", [""]))).rejects.toMatchObject({
        code: "ERR_OPTION",
        path: "notify",
      });
    });

    it("has a clock near that of this machine", async () => {
      const now = await at().store.clock();
      expect(Math.abs(now - Date.now())).toBeLessThan(24 * 3_600_000);
    });

    it("refuses tables that no schema has", async () => {
      const { store } = at();
      await expect(
        store.commit({ writes: [{ type: "put", table: books1, row: { id: "a" } }] }),
      ).rejects.toMatchObject({
        code: "ERR_OPTION",
        path: "table",
      });
      await expect(store.scan(books1, {})).rejects.toMatchObject({ path: "table" });
      await expect(store.get(books1, [["a"]])).rejects.toMatchObject({ path: "table" });
    });

    it("says for people which store it is", () => {
      expect(at().store.label).toBe(at().place.source.label);
    });
  });

  it("keeps its rows, numbers and tokens when it is closed and opened again", () =>
    within(kind, async (place) => {
      const first = await open(place, SCHEMA);
      await empty(first);
      await first.commit(put("a"));
      const token = (await first.claim("life", { owner: "a" }))?.token as number;
      await first.close();
      const second = await open(place, SCHEMA);
      expect(await second.scan(plain, {})).toEqual([{ id: "a", n: null, body: null }]);
      expect((await second.claim("life", { owner: "b" }))?.token).toBeGreaterThan(token);
      await second.close();
    }));

  it("has many handles, and is open until the last one is closed", () =>
    within(kind, async (place) => {
      const one = await open(place, SCHEMA);
      const more: Schema = { name: "more", version: 1, tables: [shops] };
      const other = await place.source.open([SCHEMA, more], storeContext());
      await one.close();
      await other.commit(put("a"));
      await other.commit({ writes: [{ type: "put", table: shops, row: { id: "a" } }] });
      expect(await other.get(plain, [["a"]])).toMatchObject([{ id: "a" }]);
      await other.close();
    }));

  it("settles what was submitted before it closes, and refuses everything after", () =>
    within(kind, async (place) => {
      const store = await open(place, SCHEMA);
      const settled: string[] = [];
      for (let i = 0; i < 50; i++)
        store.submit(put(`${i}`), (error) => settled.push(error?.name ?? "applied"));
      const closing = store.close();
      expect(store.close()).toBe(closing);
      const late = new Promise((resolve) => store.submit(put("late"), resolve));
      await closing;
      expect(settled).toEqual(Array.from({ length: 50 }, () => "applied"));
      expect(await late).toBeInstanceOf(StoreClosedError);
      await expect(store.commit(put("late"))).rejects.toThrow(StoreClosedError);
      await expect(store.get(plain, [["a"]])).rejects.toThrow(StoreClosedError);
      await expect(store.scan(plain, {})).rejects.toMatchObject({ code: "ERR_STORE_CLOSED" });
      await expect(store.claim("a", { owner: "a" })).rejects.toThrow(StoreClosedError);
      await expect(store.clock()).rejects.toThrow(StoreClosedError);
      expect(() => store.watch("", heard().watcher)).toThrow(StoreClosedError);
      const again = await open(place, SCHEMA);
      expect(await again.count(plain, {})).toBe(50);
      await again.close();
    }));

  it("brings older tables to a newer version, and keeps their rows", () =>
    within(kind, async (place) => {
      const old = await open(place, version1);
      await old.commit({
        writes: [
          { type: "put", table: books1, row: { id: "b", title: "Z" } },
          { type: "put", table: books1, row: { id: "a", title: null } },
        ],
      });
      await old.close();
      const now = await open(place, version2);
      expect(await now.scan(books2, {})).toEqual([
        { id: "a", title: null, year: null },
        { id: "b", title: "Z", year: null },
      ]);
      expect(await now.scan(books2, { index: "title" })).toMatchObject([{ id: "b" }]);
      await now.commit({ writes: [{ type: "update", table: books2, key: ["a"], set: { year: 1979 } }] });
      expect(await now.scan(books2, { index: "year" })).toMatchObject([{ id: "a" }]);
      await now.close();
    }));

  it("refuses tables of a newer version, and changes nothing", () =>
    within(kind, async (place) => {
      await (await open(place, version2)).close();
      const refused = open(place, version1);
      await expect(refused).rejects.toThrow(StoreVersionError);
      await expect(refused).rejects.toMatchObject({
        code: "ERR_STORE_VERSION",
        schema: "library",
        found: 2,
        known: 1,
      });
      await (await open(place, version2)).close();
    }));

  it("refuses tables from before the first release, and changes nothing [K340]", () =>
    within(kind, async (place) => {
      const unreleased: Schema = { name: "library", version: 1, tables: [books1] };
      await (await open(place, unreleased)).close();
      const released: Schema = {
        ...version2,
        tables: [books2, shops],
        requires: [shops.name],
        migrations: {},
      };
      const refused = open(place, released);
      await expect(refused).rejects.toThrow(StoreVersionError);
      await expect(refused).rejects.toThrow("version 1 of library as it was before the first release");
      await expect(refused).rejects.toMatchObject({ found: 1, known: 2, missing: "shops" });
      await (await open(place, unreleased)).close();
    }));

  it("takes tables that it can read, whatever their version [K340]", () =>
    within(kind, async (place) => {
      await (await open(place, version1)).close();
      const released: Schema = {
        ...version2,
        tables: [books2, shops],
        requires: [shops.name],
        migrations: {},
      };
      await (await open(place, released)).close();
      await (await open(place, released)).close();
    }));

  it("refuses schemas that cannot be", () =>
    within(kind, async (place) => {
      const schema = (given: object): Schema => ({ name: "a", version: 1, tables: [], ...given }) as Schema;
      await expect(open(place, schema({ name: "A" }))).rejects.toMatchObject({ path: "schemas[0].name" });
      await expect(open(place, schema({ version: 0 }))).rejects.toMatchObject({ path: "schemas[0].version" });
      const twice = place.source.open(
        [version1, { name: "other", version: 1, tables: [shops] }],
        storeContext(),
      );
      await expect(twice).rejects.toMatchObject({ path: "schemas[1].tables" });
    }));

  it.runIf(kind.advance !== undefined)("shares its rows with other processes, which are notified", () =>
    within(kind, async (place) => {
      const one = await open(place, SCHEMA);
      const two = await (place.other ?? place.source).open([SCHEMA], storeContext());
      const watched = new Promise<string>((resolve) => {
        two.watch("mail/", { notified: resolve, again: () => undefined });
      });
      await one.commit(put("a", ["mail/7"]));
      expect(await watched).toBe("mail/7");
      expect(await two.get(plain, [["a"]])).toMatchObject([{ id: "a" }]);
      await one.close();
      await two.commit(put("b"));
      await two.close();
    }),
  );
}
