// What a host keeps of flows that have ended.

import { describe, expect, test } from "vitest";
import { checkRetention, retain } from "../../../lib/flow/operations/retention.js";
import { flows, START, storedFlows } from "./support/stored-flows.js";

const day = 86_400_000;

async function left(options: Parameters<typeof checkRetention>[0]): Promise<string[]> {
  const stored = await storedFlows();
  const { add, pass, store, removals } = stored;
  for (const [i, status] of ["completed", "failed", "cancelled", "killed"].entries())
    for (const age of [1, 3]) await add({ id: `${status} ${age}`, status, finished: START - age * day - i });
  await add({ id: "waiting", created: START - 9 * day });
  pass(0);
  await retain(store, removals, checkRetention(options));
  return (await store.scan(flows, {})).map(({ id }) => id);
}

describe("retention", () => {
  test("by age goes by the status of a flow; other statuses are kept", async () => {
    expect(await left({ completed: "2 days", killed: "1 day" })).toEqual([
      ...["completed 1", "failed 1", "failed 3", "cancelled 1", "cancelled 3", "waiting"],
    ]);
    expect(await left({})).toHaveLength(9);
  });

  test("by number removes the ones that ended first", async () => {
    expect(await left({ most: 3 })).toEqual(["completed 1", "failed 1", "cancelled 1", "waiting"]);
    expect(await left({ most: 0 })).toEqual(["waiting"]);
  });

  test.each([
    [{ completed: "1 month" }, "retention.completed"],
    [{ most: -1 }, "retention.most"],
    [{ every: 10 }, "retention.every"],
    [{ complete: "1 day" }, "did you mean completed?"],
  ])("refuses %j: %s", (options, text) => {
    expect(() => checkRetention(options as never)).toThrow(text);
  });
});
