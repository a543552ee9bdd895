// A message of very many children, and an end that comes while it publishes them.

import type { StoreSource, WriteSet } from "signalbox/store";
import { afterEach, describe, expect, it } from "vitest";
import { childId, sourceId } from "../../../lib/pipeline/definition/message-id.js";
import type { Message, Step } from "../../../lib/pipeline/ledger/ledger.js";
import { messages } from "../../../lib/pipeline/ledger/tables.js";
import { runsOnPglite } from "../../support/pglite.js";
import { proving } from "../../support/proof.js";
import { Bench, KINDS } from "./bench.js";

/** PGlite takes its time for a row. */
const childrenOn = (name: string): number => (name === "PGlite" ? 500 : proving ? 100_000 : 2_000);
const PARENT = sourceId(0, 0);

const settle = (message: Message, count: number): Step => ({
  type: "settle",
  message,
  children: Array.from({ length: count }, (_, n) => ({
    id: childId(message.id, n),
    queue: "b",
    value: n,
    key: undefined,
  })),
  entry: undefined,
  remember: undefined,
});
const CANCEL: Step = { type: "end", as: "cancelled", error: undefined };

/** Tells of each write set that is submitted to a store. */
function telling(source: StoreSource, tell: (set: WriteSet) => void): StoreSource {
  return {
    ...source,
    open: async (schemas, context) => {
      const store = await source.open(schemas, context);
      return new Proxy(store, {
        get: (target, name) => {
          const value: unknown = Reflect.get(target, name);
          if (typeof value !== "function") return value;
          if (name !== "submit") return value.bind(target);
          return (set: WriteSet, settled: never) => {
            tell(set);
            target.submit(set, settled);
          };
        },
      });
    },
  };
}

const LEFT_OUT = ["volatile", ...(runsOnPglite(proving) ? [] : ["PGlite"])];
for (const { name, place } of KINDS.filter((kind) => !LEFT_OUT.includes(kind.name)))
  describe(`many children: ${name}`, () => {
    const CHILDREN = childrenOn(name);
    const disposals: (() => Promise<void>)[] = [];
    afterEach(async () => {
      for (const dispose of disposals.splice(0).reverse()) await dispose();
    });

    /** An execution of one message, which is in work, and the sizes of the commits that publish its children. */
    async function inWork(): Promise<{ bench: Bench; parent: Message; published: number[] }> {
      const at = await place();
      const published: number[] = [];
      const source = telling(at.source as StoreSource, ({ writes }) => {
        const puts = writes.filter((one) => one.type === "put" && one.row.queue === "b");
        if (puts.length > 0) published.push(puts.length);
      });
      const bench = new Bench({ messages: [{ id: PARENT, queue: "a", value: 0, key: undefined }] });
      await bench.open(source);
      disposals.push(at.dispose, async () => {
        await bench.ledger.close();
        await bench.store?.close();
      });
      bench.ledger.want("a", 1);
      await bench.settled();
      return { bench, parent: bench.ear.take("a")[0] as Message, published };
    }

    const live = async ({ store, row }: Bench): Promise<number> =>
      (await store?.count(messages, { prefix: [row.number] })) ?? 0;

    it("publishes all in the commit that settles their parent, keeps in memory what was asked for, and counts them (bug 26) [Y37]", async () => {
      const { bench, parent, published } = await inWork();
      const { ledger, ear } = bench;
      ledger.want("b", 5);
      ledger.submit(settle(parent, CHILDREN));
      await bench.settled();
      expect(published).toEqual([CHILDREN]);
      expect(ear.take("b").map(({ value }) => value)).toEqual([0, 1, 2, 3, 4]);
      expect(await live(bench)).toBe(CHILDREN);
      expect(await bench.counts()).toEqual({ pending: CHILDREN, done: 1, dead: 0, inputs: 1 });
      ledger.want("b", 3);
      await bench.settled();
      expect(ear.take("b").map(({ value }) => value)).toEqual([5, 6, 7]);
      expect([ear.ends, ear.errors]).toEqual([[], []]);
    });

    for (const isFirst of [false, true])
      it(`has ${isFirst ? "none" : "all"} of them if the execution is cancelled ${isFirst ? "before" : "behind"} the step (bug 34) [Y37]`, async () => {
        const { bench, parent } = await inWork();
        const step = settle(parent, CHILDREN);
        for (const one of isFirst ? [CANCEL, step] : [step, CANCEL]) bench.ledger.submit(one);
        await bench.settled();
        expect(bench.ear.ends).toEqual(["cancelled"]);
        expect(await live(bench)).toBe(isFirst ? 1 : CHILDREN);
        const [pending, done] = isFirst ? [1, 0] : [CHILDREN, 1];
        expect(await bench.counts()).toEqual({ pending, done, dead: 0, inputs: 1 });
      });
  });
