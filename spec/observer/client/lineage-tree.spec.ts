// The tree of a message's descent: its ancestors above it, its children below, and further generations as they are opened.

import { expect, test } from "vitest";
import {
  fateOf,
  LINEAGE_ROWS,
  lineageTree,
  tookOf,
} from "../../../lib/observer/client/model/lineage-tree.js";
import type { MessageRecord } from "../../../lib/pipeline/operations/operations.js";

const record = (id: string, children = 0, more: Partial<MessageRecord> = {}): MessageRecord => ({
  id,
  status: "completed",
  attempt: 1,
  calls: [],
  children,
  errors: [],
  ...more,
});
const shown = ({ rows }: ReturnType<typeof lineageTree>): string[] =>
  rows.map(({ record: { id }, depth, role, open, unread }) => {
    const mark = open === undefined ? "" : open ? " open" : " closed";
    return `${"-".repeat(depth)}${id} ${role}${mark}${unread > 0 ? ` +${unread}` : ""}`;
  });

const lineage = {
  message: record("10.13.11", 3),
  chain: [record("10.13", 2)],
  children: [record("10.13.11.10", 5), record("10.13.11.11")],
};

test("ancestors stand above the message, children below it, each deeper by one [N1586]", () => {
  expect(shown(lineageTree(lineage))).toEqual([
    "10.13 ancestor",
    "-10.13.11 subject open +1",
    "--10.13.11.10 descendant closed +5",
    "--10.13.11.11 descendant",
  ]);
});

test("a descendant opens with the children that were read, and a message closes [N1586]", () => {
  const opened = new Map([["10.13.11.10", { children: [record("10.13.11.10.10")], more: true }]]);
  expect(shown(lineageTree(lineage, opened))).toEqual([
    "10.13 ancestor",
    "-10.13.11 subject open +1",
    "--10.13.11.10 descendant open +4",
    "---10.13.11.10.10 descendant",
    "--10.13.11.11 descendant",
  ]);
  expect(shown(lineageTree(lineage, opened, new Set(["10.13.11"])))).toEqual([
    "10.13 ancestor",
    "-10.13.11 subject closed +3",
  ]);
});

test("rows have a bound, and the tree says how many it left out [N1586]", () => {
  const children = Array.from({ length: LINEAGE_ROWS + 9 }, (_, i) => record(`10.13.11.${i}`));
  const tree = lineageTree({
    message: record("10.13.11", children.length),
    chain: [record("10.13")],
    children,
  });
  expect(tree.rows).toHaveLength(LINEAGE_ROWS);
  expect(tree.left).toBe(11);
});

test("a message is told by its status, its fate and its attempts", () => {
  expect(fateOf(record("10.1"))).toBe("completed");
  expect(fateOf(record("10.1", 0, { status: "completed", fate: "edited", attempt: 3 }))).toBe(
    "completed, edited later, 3 attempts",
  );
  expect(fateOf(record("10.1", 0, { status: "ready", setback: { times: 2, error: "busy" } }))).toBe(
    "ready, the store failed 2 times in a row",
  );
  expect(tookOf({ calls: [] })).toBeUndefined();
});
