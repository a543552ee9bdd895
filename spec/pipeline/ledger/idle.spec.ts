// Hosts that share a store and have nothing to do.

import { memory, type Store, type StoreSource } from "signalbox/store";
import { describe, expect, it } from "vitest";
import { sourceId } from "../../../lib/pipeline/definition/message-id.js";
import { LEDGER_DEFAULTS } from "../../../lib/pipeline/ledger/limits.js";
import { messages } from "../../../lib/pipeline/ledger/tables.js";
import { Bench } from "./bench.js";

/** Counts the takes of messages: each writes to the store. */
function counted(source: StoreSource, took: () => void): StoreSource {
  return {
    ...source,
    open: async (schemas, context) => {
      const store = await source.open(schemas, context);
      const take: Store["take"] = (table, of) => {
        if ((table as unknown) === messages) took();
        return store.take(table, of);
      };
      return new Proxy(store, {
        get: (target, name) => {
          const value = name === "take" ? take : Reflect.get(target, name);
          return typeof value === "function" ? (value as () => unknown).bind(target) : value;
        },
      });
    },
  };
}

describe("a host of a shared store", () => {
  it("reads and writes nothing while there is nothing to take, and takes what another host publishes [Y712]", async () => {
    let takes = 0;
    const first = { id: sourceId(0, 0), queue: "a", value: "first", key: undefined };
    const bench = new Bench({ sources: ["s"], messages: [first], ownTime: true });
    await bench.open(counted(memory({ shared: true }), () => takes++));
    const { ledger, ear, clock, row } = bench;
    ledger.want("a", 5);
    await bench.settled();
    const [message] = ear.take("a");
    ledger.submit({
      type: "settle",
      message: message as never,
      children: [],
      entry: undefined,
      remember: undefined,
    });
    await bench.settled();
    const tick = async (): Promise<void> => {
      clock.pass(LEDGER_DEFAULTS.pollMs);
      await bench.settled();
    };
    await tick();
    const before = takes;
    for (let ticks = 0; ticks < 10; ticks++) await tick();
    expect(takes).toBe(before);
    // Its notification was lost.
    const next = {
      scope: row.number,
      queue: "a",
      lane: 0,
      id: sourceId(0, 1),
      body: bench.payloads.store("next", "message"),
    };
    await bench.store?.commit({ writes: [{ type: "insert", table: messages, row: next as never }] });
    await tick();
    expect(ear.take("a").map(({ value }) => value)).toEqual(["next"]);
    await ledger.close();
    await bench.store?.close();
  });
});
