// Pages of dead letters and their records: what is read of the store, and that nothing is left out.

import { memory, type Store } from "signalbox/store";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { pagesOf, recordsIn } from "../../../lib/pipeline/messages/pages.js";
import { deadMessages, deadRecords } from "../../../lib/pipeline/queues/tables.js";
import { storeContext } from "../../support/store-context.js";

const LETTER = {
  ...{ queue: "q", named: 0, body: "1", tag: null, attempts: 1, history: null, at: 1, trace: null },
};
const RECORD = { ...LETTER, fate: "retried", actor: "a person", reason: null, done: 1, copies: null };
/** More than a page. */
const MANY = 1_200;

let store: Store;
/** Notes how many rows each scan gives. */
let counting: Store;
let read: number[] = [];

beforeEach(async () => {
  const schema = { name: "pages", version: 1, tables: [deadMessages, deadRecords] };
  store = await memory().open([schema], storeContext());
  const scan: Store["scan"] = async (...args) => {
    const rows = await store.scan(...args);
    read.push(rows.length);
    return rows;
  };
  counting = { scan } as Store;
  read = [];
});
afterEach(() => store.close());

const idOf = (i: number): string => `m${String(i).padStart(5, "0")}`;

async function put(ids: readonly string[]): Promise<void> {
  await store.commit({
    writes: ids.map((id) => ({ type: "put", table: deadMessages, row: { ...LETTER, id } })),
  });
}

/** Records of messages, by the number of their turns. */
async function record(...turns: readonly number[]): Promise<string[]> {
  const rows = turns.flatMap((most, i) =>
    [...Array(most)].map((_, turn) => ({ ...RECORD, id: idOf(i), turn: turn + 1 })),
  );
  await store.commit({ writes: rows.map((row) => ({ type: "put", table: deadRecords, row })) });
  return rows.map(({ id, turn }) => `${id} ${turn}`);
}

async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const row of rows) found.push(row);
  return found;
}

async function records(id: string | undefined, wanted: Parameters<typeof recordsIn>[4]): Promise<string[]> {
  const rows = await all(recordsIn(counting, deadRecords, ["q"], id, wanted));
  return rows.map((row) => `${row.id} ${row.turn}`);
}

describe("pages of dead letters", () => {
  it("read as many rows as are wanted, and no more [Y888]", async () => {
    const ids = [...Array(20).keys()].map(idOf);
    await put(ids);
    const rows = await all(pagesOf(counting, deadMessages, ["q"], { behind: ids[2] as string, most: 3 }));
    expect(rows.map(({ id }) => id)).toEqual(ids.slice(3, 6));
    expect(read).toEqual([3]);
  });

  it("have all rows, whichever page they are on", async () => {
    const ids = [...Array(MANY).keys()].map(idOf);
    await put(ids);
    const rows = await all(pagesOf(counting, deadMessages, ["q"]));
    expect(rows.map(({ id }) => id)).toEqual(ids);
    expect(await all(pagesOf(counting, deadMessages, ["q"], { most: MANY - 1 }))).toHaveLength(MANY - 1);
  });
});

describe("pages of records", () => {
  it("read as many rows as are wanted, turn by turn", async () => {
    const rows = await record(3, 2, 4);
    for (let most = 1; most <= rows.length; most++) {
      read = [];
      expect(await records(undefined, { most })).toEqual(rows.slice(0, most));
      // The last message of a page is read once more, with all its turns.
      expect(Math.max(...read)).toBeLessThanOrEqual(most);
    }
  });

  it("go on behind any of them, with those of one message or of all", async () => {
    const rows = await record(3, 2, 4);
    const [first] = rows as [string];
    for (const [i, row] of rows.entries()) {
      const [id, turn] = row.split(" ") as [string, string];
      const behind = { id, turn: Number(turn) };
      expect(await records(undefined, { behind })).toEqual(rows.slice(i + 1));
      expect(await records(undefined, { behind, most: 2 })).toEqual(rows.slice(i + 1, i + 3));
      expect(await records(id, { behind })).toEqual(rows.slice(i + 1).filter((one) => one.startsWith(id)));
    }
    expect(await records(first.split(" ")[0], {})).toEqual(rows.slice(0, 3));
  });

  it("have all turns of a message that was given up more often than a page has rows [Y889]", async () => {
    const rows = await record(2, MANY, 1);
    expect(await records(undefined, {})).toEqual(rows);
    expect(await records(idOf(1), {})).toEqual(rows.slice(2, 2 + MANY));
  });
});
