// One behaviour of all ledgers: in memory alone, and over each kind of store.

import { afterEach, describe, expect, it } from "vitest";
import { childId, sourceId } from "../../../lib/pipeline/definition/message-id.js";
import type { Message, Publication, Step } from "../../../lib/pipeline/ledger/ledger.js";
import { deadLetters, lineage, messages, READY, sources } from "../../../lib/pipeline/ledger/tables.js";
import { runsOnPglite } from "../../support/pglite.js";
import { proving } from "../../support/proof.js";
import { Bench, KINDS, type Setup } from "./bench.js";

const message = (n: number, queue = "a", key?: string): Publication => ({
  id: sourceId(0, n),
  queue,
  value: { n },
  key,
});
const child = (of: Message, n: number, queue = "b"): Publication => ({
  id: childId(of.id, n),
  queue,
  value: { of: of.id, n },
  key: undefined,
});
const settle = (of: Message, children: readonly Publication[] = []): Step => ({
  type: "settle",
  message: of,
  children,
  entry: undefined,
  remember: undefined,
});
const give = (from: number, all: readonly Publication[]): Step => ({
  type: "source",
  source: "file",
  from,
  messages: all,
  checkpoint: from + all.length,
});
const ids = (all: readonly Message[]): string[] => all.map(({ id }) => id);

for (const { name, place } of KINDS.filter((kind) => kind.name !== "PGlite" || runsOnPglite(proving)))
  describe(`a ledger: ${name}`, () => {
    const disposals: (() => Promise<void>)[] = [];
    afterEach(async () => {
      for (const dispose of disposals.splice(0).reverse()) await dispose();
    });

    async function opened(setup: Setup): Promise<Bench> {
      const at = await place();
      const bench = new Bench(setup);
      await bench.open(at.source);
      disposals.push(at.dispose, async () => {
        await bench.ledger.close();
        await bench.store?.close();
      });
      return bench;
    }

    it("hands out what was asked for, and completes with the last message", async () => {
      const bench = await opened({ messages: [message(0), message(1), message(2)] });
      const { ledger, ear } = bench;
      ledger.want("a", 2);
      await bench.settled();
      const [first, second] = ear.take("a");
      expect(ids([first!, second!])).toEqual([sourceId(0, 0), sourceId(0, 1)]);
      expect(first).toMatchObject({ queue: "a", value: { n: 0 }, key: undefined, attempts: 0, errors: [] });
      ledger.want("a", 5);
      ledger.want("b", 5);
      ledger.submit(settle(first!, [child(first!, 0), child(first!, 1)]));
      await bench.settled();
      const [third] = ear.take("a");
      const children = ear.take("b");
      expect(ids(children)).toEqual([childId(first!.id, 0), childId(first!.id, 1)]);
      expect(children[0]?.value).toEqual({ of: first!.id, n: 0 });
      expect(await bench.counts()).toEqual({ pending: 4, done: 1, dead: 0, inputs: 3 });
      for (const one of [second!, third!, ...children]) ledger.submit(settle(one));
      await bench.settled();
      expect(ear.ends).toEqual(["completed"]);
      expect(ear.steps).toHaveLength(5);
      expect(await bench.counts()).toEqual({ pending: 0, done: 5, dead: 0, inputs: 3 });
    });

    it("waits for open sources, and reads what they gave", async () => {
      const bench = await opened({ sources: ["file"] });
      const { ledger, ear } = bench;
      await bench.settled();
      ledger.submit(give(0, [message(0), message(1)]));
      ledger.submit(give(2, [message(2)]));
      // It was overtaken: another host has given these.
      ledger.submit(give(1, [message(1), message(2)]));
      await bench.settled();
      expect(ear.late).toHaveLength(1);
      ledger.want("a", 10);
      await bench.settled();
      const all = ear.take("a");
      expect(ids(all)).toEqual([0, 1, 2].map((n) => sourceId(0, n)));
      for (const one of all) ledger.submit(settle(one));
      await bench.settled();
      expect(ear.ends).toEqual([]);
      ledger.submit({ type: "close", source: "file" });
      await bench.settled();
      expect(ear.ends).toEqual(["completed"]);
    });

    it("refuses a step of a source from a wrong place, and not the one behind it from the right place", async () => {
      const bench = await opened({ sources: ["file"] });
      const { ledger, ear } = bench;
      const wrong = [give(5, [message(5)]), give(1, []), give(4, [message(4)])];
      const right = [give(0, [message(0)]), give(1, [message(1), message(2)]), give(3, [])];
      for (const step of [wrong[0]!, right[0]!, right[1]!, wrong[1]!, right[2]!, wrong[2]!])
        ledger.submit(step);
      await bench.settled();
      expect(ear.late).toEqual(wrong);
      expect(ear.steps).toEqual(right);
      expect(await bench.counts()).toEqual({ pending: 4, done: 0, dead: 0, inputs: 3 });
    });

    it("closes a source once, and takes nothing of it from then on", async () => {
      const bench = await opened({ sources: ["file", "other"] });
      const { ledger, ear } = bench;
      const close: Step = { type: "close", source: "file" };
      const [first, behind, twice] = [give(0, [message(0)]), give(1, [message(1)]), { ...close }];
      for (const step of [first, close, behind, twice]) ledger.submit(step);
      await bench.settled();
      expect(ear.late).toEqual([behind, twice]);
      expect(ear.steps).toEqual([first, close]);
      expect(await bench.counts()).toEqual({ pending: 2, done: 0, dead: 0, inputs: 1 });
    });

    it("refuses a step about a message that was settled or retried before [Y8]", async () => {
      const bench = await opened({ messages: [message(0), message(1)] });
      const { ledger, ear } = bench;
      ledger.want("a", 2);
      await bench.settled();
      const [first, second] = ear.take("a");
      ledger.submit(settle(first!));
      ledger.submit(settle(first!, [child(first!, 0)]));
      ledger.submit({ type: "retry", message: second!, delayMs: 0, error: "once" });
      ledger.submit(settle(second!));
      await bench.settled();
      expect(ear.late).toHaveLength(2);
      ledger.want("a", 1);
      await bench.settled();
      const [again] = ear.take("a");
      expect(again).toMatchObject({ id: second!.id, attempts: 1, errors: ["once"], value: { n: 1 } });
      ledger.submit(settle(second!));
      ledger.submit(settle(again!));
      await bench.settled();
      expect(ear.late).toHaveLength(3);
      expect(await bench.counts()).toEqual({ pending: 0, done: 2, dead: 0, inputs: 2 });
      expect(ear.ends).toEqual(["completed"]);
    });

    it("gives a delayed message back when it is due, and does not complete before (bug 13) [Y10]", async () => {
      const bench = await opened({ messages: [message(0, "a", "k")] });
      const { ledger, ear, clock } = bench;
      ledger.want("a", 1);
      await bench.settled();
      const [first] = ear.take("a");
      ledger.want("a", 1);
      ledger.submit({ type: "retry", message: first!, delayMs: 1_000, error: "down" });
      await bench.settled();
      clock.pass(900);
      await bench.settled();
      expect(ear.take("a")).toEqual([]);
      expect(ear.ends).toEqual([]);
      clock.pass(200);
      await bench.settled();
      const [again] = ear.take("a");
      expect(again).toMatchObject({ attempts: 1, errors: ["down"], key: "k", value: { n: 0 } });
      ledger.want("a", 1);
      ledger.submit({ type: "retry", message: again!, delayMs: 500, error: undefined });
      await bench.settled();
      clock.pass(600);
      await bench.settled();
      const [third] = ear.take("a");
      expect(third).toMatchObject({ attempts: 1, errors: ["down"] });
      ledger.submit(settle(third!));
      await bench.settled();
      expect(ear.ends).toEqual(["completed"]);
    });

    it("completes with a dead letter as its last message, and counts it (bug 14)", async () => {
      const bench = await opened({ messages: [message(0)] });
      const { ledger, ear } = bench;
      ledger.want("a", 1);
      await bench.settled();
      const [first] = ear.take("a");
      ledger.submit({ type: "dead", message: first!, error: "no", entry: undefined });
      await bench.settled();
      expect(ear.ends).toEqual(["completed"]);
      expect(await bench.counts()).toEqual({ pending: 0, done: 1, dead: 1, inputs: 1 });
    });

    it("settles a batch together, or none of it [Y9]", async () => {
      const bench = await opened({ messages: [message(0), message(1), message(2)] });
      const { ledger, ear } = bench;
      ledger.want("a", 3);
      await bench.settled();
      const [first, second, third] = ear.take("a");
      ledger.submit(settle(first!));
      ledger.submit({
        type: "emit",
        messages: [first!, second!],
        children: [],
        entries: undefined,
        remember: undefined,
      });
      await bench.settled();
      expect(ear.late).toHaveLength(1);
      ledger.want("b", 1);
      ledger.submit({
        type: "emit",
        messages: [second!, third!, third!],
        children: [child(second!, 0)],
        entries: undefined,
        remember: undefined,
      });
      await bench.settled();
      expect(await bench.counts()).toEqual({ pending: 1, done: 3, dead: 0, inputs: 3 });
      ledger.submit(settle(ear.take("b")[0]!));
      await bench.settled();
      expect(ear.ends).toEqual(["completed"]);
    });

    it("tells when all that is pending is held, and when a queue is below its mark (bug 11)", async () => {
      const bench = await opened({ messages: [message(0), message(1), message(2)] });
      const { ledger, ear } = bench;
      ledger.want("a", 3);
      ledger.awaitBelow("a", 2);
      await bench.settled();
      const all = ear.take("a");
      expect(ledger.depth("a")).toBe(3);
      ledger.held(2, 0);
      await bench.settled();
      expect([ear.allHeld, ear.below]).toEqual([0, []]);
      ledger.submit(settle(all[0]!));
      await bench.settled();
      expect(ear.allHeld).toBeGreaterThan(0);
      expect(ear.below).toEqual([]);
      ledger.submit(settle(all[1]!));
      ledger.held(1, 0);
      await bench.settled();
      expect(ear.below).toEqual(["a"]);
    });

    it("remembers for adapters from the step on", async () => {
      const bench = await opened({ messages: [message(0)] });
      const { ledger, ear } = bench;
      ledger.want("a", 1);
      await bench.settled();
      const [first] = ear.take("a");
      expect(await ledger.recall("dedupe", "k")).toBeUndefined();
      ledger.submit({
        type: "settle",
        message: first!,
        children: [child(first!, 0)],
        entry: undefined,
        remember: [{ adapter: "dedupe", key: "k", value: { seen: 1 } }],
      });
      await bench.settled();
      expect(await ledger.recall("dedupe", "k")).toEqual({ seen: 1 });
      expect(await ledger.recall("other", "k")).toBeUndefined();
    });

    it("remembers for the adapters of a batch, and nothing of a batch that came too late", async () => {
      const bench = await opened({ messages: [message(0), message(1), message(2)] });
      const { ledger, ear } = bench;
      ledger.want("a", 3);
      await bench.settled();
      const [first, second, third] = ear.take("a");
      const batch = (of: readonly Message[], value: unknown): Step => ({
        ...{ type: "emit", messages: of, children: [], entries: undefined },
        remember: ["k", "l"].map((key) => ({ adapter: "gather", key, value })),
      });
      expect(await ledger.recall("gather", "k")).toBeUndefined();
      ledger.submit(batch([first!, second!], "early"));
      ledger.submit(batch([second!, third!], "late"));
      const soon = ledger.recall("gather", "k");
      await bench.settled();
      expect(ear.late).toHaveLength(1);
      expect([await soon, await ledger.recall("gather", "l")]).toEqual(["early", "early"]);
      ledger.submit(batch([third!], "last"));
      expect(await ledger.recall("gather", "k")).toBe("last");
    });

    it("recalls what a step before is about to remember, and nothing of a step that came too late [Y7]", async () => {
      const bench = await opened({ messages: [message(0), message(1)] });
      const { ledger, ear } = bench;
      ledger.want("a", 2);
      await bench.settled();
      const [first, second] = ear.take("a");
      const remember = (of: Message, value: unknown): Step => ({
        ...{ type: "settle", message: of, children: [], entry: undefined },
        remember: [{ adapter: "dedupe", key: "k", value }],
      });
      ledger.submit(remember(first!, "first"));
      ledger.submit(remember(first!, "twice"));
      const early = ledger.recall("dedupe", "k");
      await bench.settled();
      expect(ear.late).toHaveLength(1);
      expect([await early, await ledger.recall("dedupe", "k")]).toEqual(["first", "first"]);
      ledger.submit(remember(second!, "second"));
      await ledger.close();
    });

    it.runIf(name.startsWith("shared"))(
      "recalls nothing of a step that another host was faster than, once it is known [Y7]",
      async () => {
        const bench = await opened({ messages: [message(0), message(1), message(2)] });
        const { ledger, ear } = bench;
        ledger.want("a", 3);
        await bench.settled();
        const [first, second] = ear.take("a");
        const key = [bench.row.number, "a", READY, first!.id];
        await bench.store!.commit({
          writes: [{ type: "update", table: messages, key, set: { holder: 4_711 } }],
        });
        for (const [of, value] of [
          [second!, "in time"],
          [first!, "overtaken"],
        ] as const)
          ledger.submit({
            ...{ type: "settle", message: of, children: [], entry: undefined },
            remember: [{ adapter: "dedupe", key: "k", value }],
          });
        const early = ledger.recall("dedupe", "k");
        await bench.settled();
        expect(ear.late).toHaveLength(1);
        expect([await early, await ledger.recall("dedupe", "k")]).toEqual(["in time", "in time"]);
      },
    );

    it("ends an execution that fails, and refuses what comes behind", async () => {
      const bench = await opened({ messages: [message(0)], sources: ["file"] });
      const { ledger, ear } = bench;
      ledger.want("a", 1);
      await bench.settled();
      const [first] = ear.take("a");
      ledger.submit({ type: "end", as: "failed", error: new Error("the source threw") });
      await bench.settled();
      ledger.submit(settle(first!));
      await bench.settled();
      expect(ear.ends).toEqual(["failed"]);
      expect(ear.steps).toHaveLength(1);
    });

    it("completes an execution of nothing at once", async () => {
      const bench = await opened({});
      await bench.settled();
      expect(bench.ear.ends).toEqual(["completed"]);
    });

    it.runIf(name !== "volatile")("goes on where it was when it is opened again", async () => {
      const at = await place();
      const bench = new Bench({ messages: [message(0), message(1)], sources: ["file"] });
      await bench.open(at.source);
      bench.ledger.want("a", 2);
      await bench.settled();
      const [first, second] = bench.ear.take("a");
      const entry = {
        id: first!.id,
        route: "r",
        status: "completed",
        attempt: 1,
        calls: [],
        children: 1,
      } as const;
      bench.ledger.submit({
        type: "settle",
        message: first!,
        children: [child(first!, 0)],
        entry,
        remember: undefined,
      });
      bench.ledger.submit({ type: "source", source: "file", from: 0, messages: [], checkpoint: { line: 7 } });
      await bench.settled();
      await bench.ledger.close();
      await bench.claim.release();
      await bench.store!.close();
      await bench.open(at.source);
      // It was handed out by the ledger before.
      bench.ledger.submit(settle(second!));
      await bench.settled();
      expect(bench.ear.late).toHaveLength(1);
      const scope = bench.row.number;
      expect(await bench.store!.scan(lineage, { prefix: [scope] })).toHaveLength(1);
      expect((await bench.store!.scan(sources, { prefix: [scope] }))[0]).toMatchObject({ given: 0, open: 1 });
      bench.ledger.want("a", 5);
      bench.ledger.want("b", 5);
      await bench.settled();
      const rest = [...bench.ear.take("a"), ...bench.ear.take("b")];
      expect(ids(rest)).toEqual([second!.id, childId(first!.id, 0)]);
      bench.ledger.submit({ type: "dead", message: rest[0]!, error: "bad", entry: undefined });
      bench.ledger.submit(settle(rest[1]!));
      bench.ledger.submit({ type: "close", source: "file" });
      await bench.settled();
      expect(bench.ear.ends).toEqual(["completed"]);
      expect(await bench.store!.count(messages, {})).toBe(0);
      expect(await bench.store!.scan(deadLetters, {})).toMatchObject([
        { scope, queue: "a", id: second!.id, history: '["bad"]' },
      ]);
      await bench.ledger.close();
      await bench.store!.close();
      await at.dispose();
    });
  });
