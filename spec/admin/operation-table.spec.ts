// The compiler knows what a table of operations lacks: this file is compiled with the types, and runs as a service and its client.

import { expect, test } from "vitest";
import { remoteOf } from "../../lib/admin/operations/remote.js";
import { serviceOf } from "../../lib/admin/operations/service.js";
import { ITEMS, type OperationTable } from "../../lib/admin/operations/table.js";
import { answering, collect, wireTo } from "./support/wire.js";

interface Lamps {
  count(): Promise<number>;
  light(room: string, options?: { readonly colour?: string; readonly id?: string }): Promise<void>;
  all(options?: { readonly after?: number; readonly limit?: number }): AsyncIterable<number>;
  sum(): Promise<number>;
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
