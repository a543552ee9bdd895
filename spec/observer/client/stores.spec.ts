// Which store a view is about, where a program has several hosts of one kind.

import { expect, test } from "vitest";
import { parseRoute } from "../../../lib/observer/client/model/route.js";
import {
  addressed,
  storeCarried,
  storeMeant,
  storesSearched,
} from "../../../lib/observer/client/model/stores.js";

const KNOWN = { flows: ["east", "west"], pipelines: ["west", "wide"], queues: ["east"] };

test.each<[string, string, string | undefined, string]>([
  ["list", "#/flows", "east", "the first one of a list"],
  ["list", "#/flows?store=west", "west", "the chosen one"],
  ["timeline", "#/flow?id=a&store=west", "west", "the one of the link"],
  ["timeline", "#/flow?id=a", undefined, "whichever has it"],
  ["schedules", "#/schedules?store=west", "west", "the chosen one"],
  ["pipelines.lineage", "#/lineage?id=a&message=1&store=wide", "wide", "the one of the link"],
  ["list", "#/flows?store=north", "north", "one that is there no more, which is an error and no other list"],
  ["queues.list", "#/queues?store=east", undefined, "the only one"],
  ["queues.list", "#/queues?store=west", "west", "one that queues do not have, which is an error"],
  ["queues.list", "#/queues", undefined, "the only one"],
  ["system.top", "#/flows?store=west", undefined, "none of its own"],
  ["list", "#/message?find=a&store=west", undefined, "none, as the page is not about flows"],
])("%s on the page %s asks the store %s: %s [N1633]", (op, address, store, _why) => {
  const args = { limit: 7 };
  const expected = store === undefined ? args : { ...args, store };
  expect(addressed(op, args, parseRoute(address), KNOWN)).toEqual(expected);
});

test("a program that says nothing of stores is asked as before [N1633]", () => {
  const route = parseRoute("#/flows?store=east");
  expect([storeMeant("flows", route, {}), storeCarried("flow", route, {})]).toEqual([undefined, undefined]);
});

test.each([
  ["#/flows", "flow", "east"],
  ["#/flows?store=west", "flow", "west"],
  ["#/flow?id=a&store=west", "flows", "west"],
  ["#/flow?id=a", "flows", undefined],
  ["#/flows?store=west", "pipelines", "west"],
  ["#/flows?store=east", "pipelines", undefined],
  ["#/flows?store=north", "flow", undefined],
  ["#/incidents", "flow", undefined],
  ["#/queues?store=east", "queues", undefined],
  ["#/flows?store=west", "processes", undefined],
])("a link on %s to the page %s carries the store %s [N1634]", (address, page, store) => {
  expect(storeCarried(page, parseRoute(address), KNOWN)).toBe(store);
});

test("a thing whose name does not say where it is is looked for in each store, six at most [N1638]", () => {
  expect(storesSearched("flows", KNOWN)).toEqual(["east", "west"]);
  expect([storesSearched("queues", KNOWN), storesSearched("flows", {})]).toEqual([[undefined], [undefined]]);
  const many = Array.from({ length: 20 }, (_, i) => `store-${i}`);
  expect(storesSearched("flows", { flows: many })).toEqual(many.slice(0, 6));
});
