// A suspect message that is tried alone, and whose step is refused since another host was faster.

import { memory, type Store } from "signalbox/store";
import { expect, it } from "vitest";
import { sourceId } from "../../../lib/pipeline/definition/message-id.js";
import type { Message, Publication, Step } from "../../../lib/pipeline/ledger/ledger.js";
import { memory as memoryTable, messages, READY } from "../../../lib/pipeline/ledger/tables.js";
import { Bench } from "./bench.js";

const given = (n: number): Publication => ({
  ...{ id: sourceId(1, n), queue: "a", value: n, key: undefined },
});
const settle = (message: Message): Step => ({
  ...{ type: "settle", message, children: [], entry: undefined },
  remember: [{ adapter: "once", key: "k", value: "mine" }],
});
const OTHER = 4_711;

/** A host that has found three suspects, and tries the first one. */
async function suspicious(): Promise<{ bench: Bench; store: Store; rowOf(n: number): (string | number)[] }> {
  const bench = new Bench({ messages: [0, 1, 2].map(given) });
  await bench.open(memory({ shared: true }));
  const store = bench.store as Store;
  const scope = bench.row.number;
  const rowOf = (n: number): (string | number)[] => [scope, "a", READY, sourceId(1, n)];
  const marks = { ends: 2, attempts: 2, history: '["x","x"]', suspect: scope };
  await store.commit({
    writes: [0, 1, 2].map((n) => ({
      ...({ type: "update", table: messages } as const),
      ...{ key: rowOf(n), set: marks },
    })),
  });
  for (let tick = 0; tick < 8; tick++) {
    bench.clock.pass(1_000);
    await bench.settled();
  }
  bench.ledger.want("a", 3);
  await bench.settled();
  return { bench, store, rowOf };
}

it("a suspect whose step finds that another host remembers something comes again, alone, and all end [Y136]", async () => {
  const { bench, store } = await suspicious();
  const { ledger, ear } = bench;
  const [first, ...others] = ear.take("a");
  expect([first?.id, others]).toEqual([sourceId(1, 0), []]);
  expect(await ledger.recall("once", "k")).toBeUndefined();
  const theirs = { scope: bench.row.number, adapter: "once", key: "k", value: '"theirs"' };
  await store.commit({ writes: [{ type: "put", table: memoryTable, row: theirs }] });
  ledger.submit(settle(first as Message));
  await bench.settled();
  expect(ear.late).toHaveLength(1);

  const [again, ...more] = ear.take("a");
  expect([again?.id, again?.attempts, more]).toEqual([sourceId(1, 0), first?.attempts, []]);
  // The attempt was counted before it began, and is no other one.
  const [row] = await store.get(messages, [[bench.row.number, "a", READY, sourceId(1, 0)]]);
  expect([row?.ends, row?.attempts]).toEqual([3, 3]);
  expect(await ledger.recall("once", "k")).toBe("theirs");
  for (let message = again; message !== undefined; [message] = ear.take("a")) {
    ledger.submit({ ...settle(message), remember: [] } as Step);
    ledger.want("a", 1);
    await bench.settled();
  }
  expect(ear.ends).toEqual(["completed"]);
});

it("a suspect that another host has by now is that host's affair: the next one is tried [Y136]", async () => {
  const { bench, store, rowOf } = await suspicious();
  const { ledger, ear } = bench;
  const [first] = ear.take("a");
  await store.commit({
    writes: [{ type: "update", table: messages, key: rowOf(0), set: { holder: OTHER } }],
  });
  ledger.submit(settle(first as Message));
  await bench.settled();
  expect(ear.late).toHaveLength(1);
  const [next, ...others] = ear.take("a");
  expect([next?.id, others]).toEqual([sourceId(1, 1), []]);
  await ledger.close();
});
