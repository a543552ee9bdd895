// The compiler knows what a table of operations lacks: this file is compiled with the types, and runs as a service and its client.

import { expect, test } from "vitest";
import { passedOn } from "../../lib/admin/operations/passing.js";
import { remoteOf } from "../../lib/admin/operations/remote.js";
import { serviceOf } from "../../lib/admin/operations/service.js";
import { ITEMS, type OperationTable } from "../../lib/admin/operations/table.js";
import { answering, collect, wireTo } from "./support/wire.js";

interface Lamps {
  count(): Promise<number>;
  light(room: string, options?: { readonly colour?: string; readonly id?: string }): Promise<void>;
  all(options?: { readonly after?: number; readonly limit?: number }): AsyncIterable<number>;
  sum(): Promise<number>;
  flashes(options?: { readonly after?: number; readonly timeoutMs?: number }): AsyncIterable<number>;
}

const TABLE: OperationTable<Lamps> = {
  count: { kind: "ask", leave: "look", placed: [] },
  light: { kind: "ask", leave: "change", placed: ["room"], options: { colour: true, id: "lamp" } },
  all: {
    kind: "list",
    leave: "look",
    placed: [],
    options: { after: true, limit: true },
    page: ITEMS,
    behind: (last) => ({ after: last }),
  },
  sum: { kind: "made", of: (on) => async () => (await collect(on.all())).reduce((sum, one) => sum + one, 0) },
  flashes: {
    kind: "follow",
    leave: "look",
    placed: [],
    options: { after: true, timeoutMs: true },
    more: ["limit"],
    after: (last) => last,
    timeout: "ERR_LAMP_TIMEOUT",
    late: () => new Error("no flash"),
  },
};

/** What does not compile. */
const WRONG: readonly object[] = [
  // @ts-expect-error -- `all` and others have no row
  { count: TABLE.count } satisfies OperationTable<Lamps>,
  // @ts-expect-error -- a place has no name
  { ...TABLE, light: { ...TABLE.light, placed: [] } } satisfies OperationTable<Lamps>,
  {
    ...TABLE,
    // @ts-expect-error -- the option `id` is missing
    light: { kind: "ask", leave: "change", placed: ["room"], options: { colour: true } },
  } satisfies OperationTable<Lamps>,
  // @ts-expect-error -- a list is no question
  { ...TABLE, all: TABLE.count } satisfies OperationTable<Lamps>,
];

test("one row each gives the service of a host and its client [Z697]", async () => {
  expect(WRONG).toHaveLength(4);
  const seen: unknown[] = [];
  const lamps = answering<Lamps>(
    {
      count: 3,
      light: (...args: unknown[]) => void seen.push(args),
      all: ({ after = 0 }: { after?: number }) => [1, 2, 3].filter((one) => one > after),
    },
    ["all"],
  );
  const wire = wireTo(serviceOf(TABLE, lamps, { name: "lamps", prefix: "lamps.", shares: false }));
  const remote = remoteOf(TABLE, wire.ask, "lamps.");
  expect(await remote.count()).toBe(3);
  await remote.light("hall", { id: "a", colour: "red" });
  expect(seen).toEqual([["hall", { id: "a", colour: "red" }]]);
  expect(await collect(remote.all({ after: 1 }))).toEqual([2, 3]);
  expect(await remote.sum()).toBe(6);
  expect(wire.lines[2]).toBe(
    '> {"v":1,"id":2,"op":"lamps.light","args":{"colour":"red","lamp":"a","room":"hall"}}',
  );
});

test("the same rows pass operations on: looks again with the next host, changes once, lists behind what was read [Z697]", async () => {
  const gone = new Error("gone");
  const seen: string[] = [];
  /** A host that ends at its second call, or behind the first item of a list. */
  const host = (name: string): Lamps => {
    let calls = 0;
    const call = (op: string): void => {
      seen.push(`${name} ${op}`);
      if (++calls > 1) throw gone;
    };
    return {
      count: async () => {
        call("count");
        return 3;
      },
      light: async () => call("light"),
      all: async function* ({ after = 0 } = {}) {
        for (const one of [1, 2, 3].filter((each) => each > after)) {
          call(`all ${one}`);
          yield one;
        }
      },
      sum: async () => Promise.reject(new Error("it is made of the list")),
      flashes: async function* ({ after = 0 } = {}) {
        call(`flashes ${after}`);
        yield after + 1;
      },
    };
  };
  let hosts = 0;
  let current = host("0");
  const on = async (): Promise<Lamps> => current;
  const isOver = (error: unknown): boolean => {
    if (error === gone) current = host(String(++hosts));
    return error === gone;
  };
  const lamps = passedOn(TABLE, { on, isOver, own: {} });
  expect([await lamps.count(), await lamps.count()]).toEqual([3, 3]);
  expect(seen.splice(0)).toEqual(["0 count", "0 count", "1 count"]);
  await expect(lamps.light("hall")).rejects.toBe(gone);
  expect(seen.splice(0)).toEqual(["1 light"]);
  current = host("a");
  expect(await collect(lamps.all())).toEqual([1, 2, 3]);
  expect(seen.splice(0)).toEqual(["a all 1", "a all 2", "2 all 2", "2 all 3", "3 all 3"]);
  current = host("b");
  expect(await lamps.sum()).toBe(6);
  current = host("c");
  expect(await collect(lamps.flashes({ after: 4 }))).toEqual([5]);
});
