// Removing what has ended: nothing too much, nothing too little, in small write sets.

import { describe, expect, test } from "vitest";
import { BlobWriter, blobs } from "../../../lib/flow/journal/blobs.js";
import { encodeHead } from "../../../lib/flow/journal/entry.js";
import { events, remains } from "../../../lib/flow/journal/tables.js";
import { FLOW_STATUSES } from "../../../lib/flow/operations/operations.js";
import { REMOVAL_LIMITS, Removals } from "../../../lib/flow/operations/removals.js";
import type { Write } from "../../../lib/store/index.js";
import { flows, journal, mail, START, type Stored, storedFlows, values } from "./support/stored-flows.js";

/** All that belongs to a flow, besides its row. */
async function belongings({ store }: Stored, flow: number): Promise<number> {
  const all = await Promise.all([
    store.count(journal, { index: "flow", prefix: [flow] }),
    store.count(mail, { index: "id", prefix: [flow] }),
    store.count(events, { index: "flow", prefix: [flow] }),
    store.count(remains, { prefix: [flow] }),
  ]);
  return all.reduce((sum, count) => sum + count, 0);
}

async function furnish({ store, entries }: Stored, flow: number): Promise<void> {
  await entries(flow, "a", "b");
  const letter = (id: string, unread: number | null) => ({
    flow,
    id,
    topic: "t",
    value: null,
    sender: null,
    unread,
    at: START,
  });
  await store.commit({
    writes: [
      { type: "insert", table: mail, row: letter("read", null) },
      { type: "insert", table: mail, row: letter("unread", flow) },
      { type: "insert", table: events, row: { flow, topic: "t", value: null, at: START } },
    ],
  });
}

test("removes a flow with its journal, read and unread mail and events; its id is free at once [Z13]", async () => {
  const stored = await storedFlows();
  const [one, other] = [
    await stored.add({ id: "a", status: "completed", finished: START }),
    await stored.add({ id: "b" }),
  ];
  await furnish(stored, one);
  await furnish(stored, other);
  await stored.operations.remove("a");
  expect(await stored.row("a")).toBeUndefined();
  expect(await belongings(stored, one)).toBe(0);
  expect(await belongings(stored, other)).toBe(5);
  expect(await stored.add({ id: "a" })).toBeGreaterThan(other);
});

test("removes large values with their flow, and not those of a copy or of a new flow with its id", async () => {
  const stored = await storedFlows();
  const { store, operations } = stored;
  const apart = new BlobWriter(1, 10);
  const writes: Write[] = [];
  const text = values.encode("x".repeat(100), "", "input") as string;
  const input = apart.split(text, "input/a", writes);
  const number = await stored.add({ id: "a", status: "completed", finished: START, input });
  const value = apart.split(text, `journal/${number}`, writes);
  const head = encodeHead(START, [], { type: "done", key: "s", ok: true });
  writes.push({ type: "insert", table: journal, row: { flow: number, seq: 0, head, value } });
  await store.commit({ writes });
  await stored.entries(number, "last");
  expect(await operations.inspect("a")).toMatchObject({ input: "x".repeat(100) });
  await operations.fork("a", { id: "copy", from: "last" });
  expect(await store.count(blobs, {})).toBe(2);
  await operations.remove("a");
  expect(await store.count(blobs, {})).toBe(0);
  expect(await operations.inspect("copy")).toMatchObject({ input: "x".repeat(100), entries: 1 });
  for await (const event of operations.history("copy")) expect(event.value).toBe("x".repeat(100));
});

describe("prune", () => {
  test("removes what ended long enough ago, whatever is null in its row, and nothing else (38) [Z14]", async () => {
    const stored = await storedFlows();
    for (const status of FLOW_STATUSES) {
      const ended = ["completed", "failed", "cancelled", "killed"].includes(status);
      // All other columns that may be null are null, and then none is.
      await stored.add({ id: `old ${status}`, status, finished: ended ? START - 10 : null });
      await stored.add({
        ...{
          id: `full ${status}`,
          status,
          finished: ended ? START - 10 : null,
          parent: 99_999,
          parent_key: "k",
        },
        ...{
          wish: "cancel",
          queue: "q",
          queue_key: "k",
          hospital: "{}",
          progress: "{}",
          trace: "t",
          outcome: "{}",
        },
      });
      await stored.add({ id: `new ${status}`, status, finished: ended ? START - 9 : null });
    }
    expect(await stored.operations.prune({ olderThanMs: 10 })).toBe(8);
    const left = (await stored.store.scan(flows, {})).map(({ id }) => id);
    expect(left.filter((id) => /^(old|full) (completed|failed|cancelled|killed)$/.test(id))).toEqual([]);
    expect(left.length).toBe(3 * FLOW_STATUSES.length - 8);
  });

  test("by status and name leaves the others", async () => {
    const { operations, add, store } = await storedFlows();
    for (const name of ["order", "refund"])
      for (const status of ["failed", "completed"])
        await add({ id: `${name} ${status}`, name, status, finished: START });
    expect(await operations.prune({ status: "failed", name: "order" })).toBe(1);
    expect((await store.scan(flows, {})).map(({ id }) => id)).toEqual([
      "order completed",
      "refund failed",
      "refund completed",
    ]);
  });

  test("removes any number of flows that ended in the same millisecond", async () => {
    const count = 2 * REMOVAL_LIMITS.page + 3;
    const stored = await storedFlows();
    for (let i = 0; i < count; i++)
      await stored.add({ status: i % 2 ? "completed" : "failed", finished: START });
    await stored.add({ id: "later", status: "completed", finished: START + 5 });
    stored.pass(10);
    expect(await stored.operations.prune({ status: "completed" })).toBe(Math.floor(count / 2) + 1);
    expect(await stored.store.count(flows, {})).toBe(Math.ceil(count / 2));
  });

  test("keeps a child of a parent that goes on, and takes it when the parent has ended or is gone (38)", async () => {
    const { operations, add, row, store } = await storedFlows();
    const parent = await add({ id: "mother", status: "waiting" });
    await add({ id: "child", status: "completed", parent, parent_key: "call", finished: START });
    await add({ id: "orphan", status: "completed", parent: 99_999, finished: START });
    expect(await operations.prune()).toBe(1);
    await expect(operations.remove("child")).rejects.toThrow("its parent is not");
    expect(await row("child")).toBeDefined();
    const ended = { status: "failed", finished: START };
    await store.commit({ writes: [{ type: "update", table: flows, key: [parent], set: ended }] });
    expect(await operations.prune()).toBe(2);
  });

  test("leaves a flow that is tried again at the same moment", async () => {
    const { operations, add, row } = await storedFlows();
    await add({ id: "a", status: "failed", finished: START });
    const [pruned, retried] = await Promise.allSettled([operations.prune(), operations.retry("a")]);
    const removed = (await row("a")) === undefined;
    expect(pruned).toMatchObject({ value: removed ? 1 : 0 });
    expect(retried).toMatchObject(
      removed ? { reason: { code: "ERR_FLOW_NOT_FOUND" } } : { status: "fulfilled" },
    );
  });

  test.each([
    [{ status: "running" }, "status must be one of"],
    [{ olderThanMs: -1 }, "olderThanMs must be"],
    [{ olderThanMs: "1 day" }, "olderThanMs must be a number"],
    [{ olderThan: 5 }, "did you mean olderThanMs?"],
  ])("refuses %j", async (options, text) => {
    const { operations } = await storedFlows();
    await expect(operations.prune(options as never)).rejects.toThrow(text);
  });
});

test("no write set of a removal is large, and one that was interrupted is finished later [Z15]", async () => {
  const stored = await storedFlows();
  const number = await stored.add({ id: "a", status: "completed", finished: START });
  await stored.entries(number, ...Array.from({ length: 3 * REMOVAL_LIMITS.rows }, (_, i) => `s#${i}`));
  const { store } = stored;
  const commit = store.commit.bind(store);
  const sizes: number[] = [];
  store.commit = async (set) => {
    sizes.push(set.writes.length);
    if (sizes.length === 3) throw new Error("the host is gone");
    return commit(set);
  };
  await expect(stored.operations.remove("a")).rejects.toThrow("the host is gone");
  expect(await stored.row("a")).toBeUndefined();
  expect(await belongings(stored, number)).toBe(2 * REMOVAL_LIMITS.rows + 1);
  await stored.removals.finish();
  expect(await belongings(stored, number)).toBe(0);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(REMOVAL_LIMITS.rows);
});

test("many small flows are removed page by page, with few commits for each page [U321]", async () => {
  const stored = await storedFlows();
  const pages = 3;
  const numbers: number[] = [];
  for (let i = 0; i < pages * REMOVAL_LIMITS.together; i++)
    numbers.push(await stored.add({ id: `f${i}`, status: "completed", finished: START }));
  for (const number of numbers) await stored.entries(number, "a");
  let commits = 0;
  const counting = new Proxy(stored.store, {
    get: (target, name) => {
      if (name === "commit") commits++;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  expect(await new Removals(counting).removeEnded(() => true, START + 1)).toBe(numbers.length);
  // One that takes the rows of a page, and one for each portion of what belongs to them.
  const belonging = 2 * REMOVAL_LIMITS.together;
  expect(commits).toBeLessThanOrEqual(pages * (1 + Math.ceil(belonging / REMOVAL_LIMITS.rows)));
  const { store } = stored;
  const left = [store.count(flows, {}), store.count(journal, {}), store.count(remains, {})];
  expect(await Promise.all(left)).toEqual([0, 0, 0]);
});

test("a page of which another writer changes one flow loses the others all the same", async () => {
  const stored = await storedFlows();
  for (const id of ["a", "b", "c"]) await stored.add({ id, status: "completed", finished: START });
  const { number } = (await stored.row("b")) as { readonly number: number };
  let isChanged = false;
  const racing = new Proxy(stored.store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (name !== "commit" || isChanged) return typeof value === "function" ? value.bind(target) : value;
      return async (set: never) => {
        isChanged = true;
        await target.commit({
          writes: [{ type: "update", table: flows, key: [number], set: { status: "pending" } }],
        });
        return target.commit(set);
      };
    },
  });
  expect(await new Removals(racing).removeEnded(() => true, START + 1)).toBe(2);
  expect((await stored.store.scan(flows, {})).map(({ id }) => id)).toEqual(["b"]);
});
