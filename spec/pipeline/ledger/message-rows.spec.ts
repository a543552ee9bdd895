// The rows of messages, as people look for them, among very many that are delayed.

import fc from "fast-check";
import { memory, type Store } from "signalbox/store";
import { expect, it, onTestFinished } from "vitest";
import { childId, sourceId } from "../../../lib/pipeline/definition/message-id.js";
import { MessageRows, MOST_DELAYED } from "../../../lib/pipeline/ledger/message-rows.js";
import { messages, PIPELINE_SCHEMA, READY } from "../../../lib/pipeline/ledger/tables.js";
import { recordOf } from "../../../lib/pipeline/operations/message-view.js";
import { storeContext } from "../../support/store-context.js";

const SCOPE = 1;

/** Messages in a queue, and what a look reads of them. @param lanes - of each message, in the order of the ids */
async function delayed(lanes: readonly number[], idOf = (i: number) => sourceId(0, i)) {
  const store = await memory().open([PIPELINE_SCHEMA], storeContext());
  onTestFinished(() => store.close());
  const rows = lanes.map((lane, i) => ({ scope: SCOPE, queue: "late", lane, id: idOf(i), body: `${i}` }));
  for (let i = 0; i < rows.length; i += 1_000) {
    const writes = rows.slice(i, i + 1_000).map((row) => ({ type: "put", table: messages, row }) as const);
    await store.commit({ expect: [], writes });
  }
  const read = { scans: 0, rows: 0 };
  const counted = new Proxy(store, {
    get: (target, name) => {
      if (name !== "scan") return Reflect.get(target, name).bind(target);
      return async (...args: Parameters<Store["scan"]>) => {
        const found = await target.scan(...args);
        read.scans++;
        read.rows += found.length;
        return found;
      };
    },
  });
  const of = new MessageRows(counted, SCOPE);
  const statusOf = async (id: string, most?: number): Promise<string> =>
    recordOf(id, (await of.of([id], most))[0] as never).status;
  return { of, read, statusOf };
}

/** A time of its own for each. */
const times = (count: number): number[] => Array.from({ length: count }, (_, i) => READY + 1 + i);

it("a delayed message is found, whatever messages have its time, and one that is not there is not [N1645]", async () => {
  const lanes = fc.oneof(
    fc.array(fc.integer({ min: READY + 1, max: READY + 4 }), { maxLength: 40 }),
    fc.constantFrom([...times(999), 999], [...times(500), ...Array(1_500).fill(500)], Array(2_001).fill(7)),
  );
  await fc.assert(
    fc.asyncProperty(lanes, async (all) => {
      const { of, statusOf } = await delayed(all);
      const ids = all.map((_, i) => sourceId(0, i));
      expect((await of.of(ids)).map(({ live }) => live?.lane)).toEqual(all);
      expect(await statusOf(sourceId(1, 0))).toBe("forgotten");
    }),
    { numRuns: 20 },
  );
});

it("delayed messages are read a page at a time, though each has a time of its own [N1645]", async () => {
  const { read, statusOf } = await delayed(times(3_000));
  expect(await statusOf(sourceId(1, 0))).toBe("forgotten");
  expect(read.scans).toBeLessThan(20);
});

it("a look reads 10,000 delayed messages at most, and says of one behind them that it does not know [N1645]", async () => {
  const { read, statusOf } = await delayed(times(MOST_DELAYED + 2_000));
  expect(await statusOf(sourceId(0, MOST_DELAYED - 1), MOST_DELAYED)).toBe("delayed");
  read.rows = 0;
  expect(await statusOf(sourceId(0, MOST_DELAYED), MOST_DELAYED)).toBe("unknown");
  expect(await statusOf(sourceId(1, 0), MOST_DELAYED)).toBe("unknown");
  expect(read.rows).toBeLessThan(2 * (MOST_DELAYED + 2_000));
  // Who changes something must know.
  expect(await statusOf(sourceId(0, MOST_DELAYED))).toBe("delayed");
});

it("the children of a message that are delayed are listed as far as a look reads [N1645]", async () => {
  const parent = sourceId(0, 0);
  const { of, read } = await delayed(times(MOST_DELAYED + 1_000), (i) => childId(parent, i));
  let count = 0;
  for await (const _ of of.childrenOf(parent)) count++;
  expect(count).toBe(MOST_DELAYED);
  expect(read.rows).toBeLessThan(MOST_DELAYED + 2_000);
});
