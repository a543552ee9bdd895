// Takes: the first rows of a range that nobody else is changing.

import * as fc from "fast-check";
import { OptionError } from "signalbox";
import { defineTable, FencedError, type Row, type Take, ValueError } from "signalbox/store";
import { expect, it } from "vitest";
import { bench, type Kind } from "./bench.js";

const jobs = defineTable("jobs", {
  columns: {
    queue: "text",
    id: "integer",
    holder: "integer?",
    due: "integer?",
    body: "payload?",
    only: "text?",
  },
  key: ["queue", "id"],
  indexes: { due: ["due"], only: ["only"] },
  unique: ["only"],
});
type Job = Row<typeof jobs>;

const job = (queue: string, id: number, more: Partial<Job> = {}): Job => ({
  queue,
  id,
  holder: null,
  due: null,
  body: null,
  only: null,
  ...more,
});
const free = { where: { holder: null }, set: { holder: 1 } } as const;

const row = fc.record({
  queue: fc.constantFrom("a", "b"),
  id: fc.integer({ min: 0, max: 20 }),
  holder: fc.option(fc.integer({ min: 1, max: 2 }), { nil: null }),
  due: fc.option(fc.integer({ min: 0, max: 9 }), { nil: null }),
});
const take = fc.record({
  by: fc.constantFrom("queue", "due"),
  below: fc.option(fc.integer({ min: 0, max: 20 }), { nil: undefined }),
  limit: fc.integer({ min: 1, max: 5 }),
  body: fc.constantFrom("x", new Uint8Array([7])),
});

export function takeTests(kind: Kind): void {
  const at = bench(kind, { name: "jobs", version: 1, tables: [jobs] });

  async function fill(rows: readonly Job[]): Promise<void> {
    await at().store.commit({
      writes: [
        { type: "clear", table: jobs, prefix: [] },
        ...rows.map((one) => ({ type: "insert", table: jobs, row: one }) as const),
      ],
    });
  }

  it("change the rows that a naive filter and sort finds, and no others", async () => {
    const { store } = at();
    const rows = fc.uniqueArray(row, { maxLength: 30, selector: ({ queue, id }) => `${queue}${id}` });
    const property = fc.asyncProperty(rows, take, async (some, { by, below, limit, body }) => {
      const all = some.map((one) => job(one.queue, one.id, one));
      await fill(all);
      const isIn = (one: Job): boolean =>
        by === "queue"
          ? one.queue === "a" && (below === undefined || one.id < below)
          : one.due !== null && (below === undefined || one.due < below);
      const order = (one: Job, other: Job): number =>
        (by === "due" ? (one.due ?? 0) - (other.due ?? 0) : 0) ||
        (one.queue < other.queue ? -1 : one.queue > other.queue ? 1 : one.id - other.id);
      const wanted = all
        .filter((one) => isIn(one) && one.holder === null)
        .sort(order)
        .slice(0, limit)
        .map((one) => ({ ...one, holder: 7, body }));
      const taken = await store.take(jobs, {
        ...(by === "due" ? { index: "due" } : { prefix: ["a"] }),
        ...(below !== undefined && { below }),
        limit,
        where: { holder: null },
        set: { holder: 7, body },
      });
      expect(taken).toEqual(wanted);
      const after = all.map(
        (one) => wanted.find(({ queue, id }) => queue === one.queue && id === one.id) ?? one,
      );
      expect(await store.scan(jobs, {})).toEqual(
        after.sort((one, other) => order({ ...one, due: 0 }, { ...other, due: 0 })),
      );
    });
    await fc.assert(property, { numRuns: kind.runs, seed: 5 });
  });

  it("give each row to one of those who take at the same time", async () => {
    const { store, place, context } = at();
    const other = await (place.other ?? place.source).open(
      [{ name: "jobs", version: 1, tables: [jobs] }],
      context,
    );
    await fill(Array.from({ length: 40 }, (_, i) => job("a", i)));
    const taken = await Promise.all(
      [store, other, store, other].map((one) => one.take(jobs, { prefix: ["a"], limit: 10, ...free })),
    );
    const ids = taken.flat().map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (let more = ids.length; more < 40; ) {
      const rest = await store.take(jobs, { prefix: ["a"], limit: 40, ...free });
      expect(rest.length).toBeGreaterThan(0);
      for (const { id } of rest) expect(ids).not.toContain(id);
      more += rest.length;
    }
    expect(await store.take(jobs, { prefix: ["a"], limit: 10, ...free })).toEqual([]);
    await other.close();
  });

  it("see what was committed before, and are seen by what is committed after", async () => {
    const { store } = at();
    await fill([job("a", 1), job("a", 2)]);
    await store.commit({ writes: [{ type: "delete", table: jobs, key: ["a", 1] }] });
    expect(await store.take(jobs, { prefix: ["a"], limit: 5, ...free })).toEqual([
      job("a", 2, { holder: 1 }),
    ]);
    await store.commit({
      expect: [{ table: jobs, key: ["a", 2], is: { holder: 1 } }],
      writes: [{ type: "delete", table: jobs, key: ["a", 2] }],
    });
    expect(await store.count(jobs, {})).toBe(0);
  });

  it("are refused under a claim that is lost, and change nothing", async () => {
    const { store } = at();
    await fill([job("a", 1)]);
    const claim = (await store.claim("takes", { owner: "test" })) as NonNullable<Take["claim"]>;
    expect(await store.take(jobs, { limit: 1, claim, where: { holder: 3 }, set: { holder: 2 } })).toEqual([]);
    await store.revoke("takes", claim.token);
    await expect(store.take(jobs, { limit: 1, claim, ...free })).rejects.toThrow(FencedError);
    expect(await store.scan(jobs, {})).toEqual([job("a", 1)]);
  });

  it.each<[string, object]>([
    ["an unknown option", { limt: 1 }],
    ["no limit", { limit: undefined }],
    ["a limit of 0", { limit: 0 }],
    ["nothing to set", { set: {} }],
    ["a column of a unique index", { set: { only: "a" } }],
    ["an index that does not exist", { index: "nothing" }],
  ])("refuse %s", async (_, more) => {
    await expect(at().store.take(jobs, { limit: 1, ...free, ...more } as Take)).rejects.toThrow(OptionError);
  });

  it.each<[string, object]>([
    ["a column of the key", { set: { id: 1 } }],
    ["a value of another type", { set: { holder: "me" } }],
    ["a column that does not exist", { where: { nothing: 1 } }],
  ])("refuse %s", async (_, more) => {
    await expect(at().store.take(jobs, { limit: 1, ...free, ...more } as Take)).rejects.toThrow(ValueError);
  });
}
