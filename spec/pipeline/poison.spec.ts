// A message that ends the machine of its host, again and again.

import { definePipeline, many, type PipelineHost, pipelineHost, queue, route } from "signalbox/pipeline";
import { openStore } from "signalbox/store";
import type { Simulation } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { deadLetters, executions, messages, PIPELINE_SCHEMA } from "../../lib/pipeline/ledger/tables.js";
import { explored } from "../support/proof.js";
import { audited } from "./simulated/audit.js";

interface Shape {
  readonly attempts: number;
  readonly concurrency: number;
  readonly batch: boolean;
}

const LINES = ["a b c", "d e POISON f", "g h i", "j k l"];
const GOOD = 12;

/** Lines become words, and what comes of the words is gathered. The queue behind the poison is often full. */
function pipeline({ attempts, concurrency, batch }: Shape, word: (one: string) => Promise<string>) {
  const [lines, words, out] = [queue<string>("lines"), queue<string>("words"), queue<string>("out")];
  const retry = { attempts, backoff: { minMs: 1, maxMs: 1 } };
  const split = route("split", { from: lines, retry, highWaterMark: 4 })
    .via("split", (line) => many(line.split(" ")))
    .to(words);
  const work = batch
    ? route("work", { from: words, retry })
        .batch("work", { size: 3, everyMs: 3_600_000 }, async (all) => {
          for (const one of all) await word(one);
          return all;
        })
        .to(out)
    : route("work", { from: words, retry, concurrency, highWaterMark: 2 }).via("work", word).to(out);
  const end = route("end", { from: out, retry }).via("end", () => undefined);
  return { lines, definition: definePipeline("poison", { routes: [split, work, end] }) };
}

/** Runs an execution to its end, over as many lives of its machine as that takes. */
async function lived(sim: Simulation, shape: Shape): Promise<void> {
  const tries = { poison: 0 };
  const word = async (one: string): Promise<string> => {
    await sim.sleep(1);
    if (one !== "POISON") return one;
    tries.poison++;
    shop.crash();
    return new Promise(() => undefined);
  };
  const { lines, definition } = pipeline(shape, word);
  const shop = sim.node("shop", (node): Promise<PipelineHost> => {
    const host = pipelineHost({ store: node.store, pipelines: [definition], drainMs: 1 });
    return node.system().start(host);
  });
  const start = { id: "one", messages: { to: lines, values: LINES } };
  let ended = false;
  while (!ended) {
    const host = await shop.ready();
    const work = async (): Promise<boolean> => {
      await host.start(definition, start);
      await host.get("one").completed();
      return true;
    };
    const lost = async (): Promise<boolean> => {
      while (shop.powered) await sim.sleep(5);
      return false;
    };
    ended = await Promise.race([work().catch(() => false), lost()]);
    shop.restart();
    expect(shop.boots).toBeLessThan(20);
  }
  const store = await openStore(sim.system({ name: "reader" }), shop.store, [PIPELINE_SCHEMA]);
  const [row] = await store.scan(executions, {});
  // Each line, its words, and what came of the good ones.
  expect(row).toMatchObject({
    status: "completed",
    inputs: 4,
    dead: 1,
    done: 4 + GOOD + 1 + GOOD,
    pending: 0,
  });
  await audited(store, "one");
  const letters = await store.scan(deadLetters, {});
  expect(letters.map(({ body, queue: of }) => [of, body])).toEqual([["words", '"POISON"']]);
  const history = JSON.parse(letters[0]?.history ?? "[]") as string[];
  expect(history.slice(0, -1)).toEqual(Array(tries.poison).fill("interrupted by the end of its process"));
  expect(tries.poison).toBe(Math.max(shape.attempts, 3));
  expect(await store.count(messages, {})).toBe(0);
  await store.close();
}

describe("a message that ends the process of its host", () => {
  const shapes: readonly (readonly [string, Shape])[] = [
    ["among those of several workers", { attempts: 3, concurrency: 4, batch: false }],
    ["with one worker and five attempts", { attempts: 5, concurrency: 1, batch: false }],
    ["that allows one attempt", { attempts: 1, concurrency: 4, batch: false }],
    ["in a batch", { attempts: 3, concurrency: 1, batch: true }],
  ];
  for (const [name, shape] of shapes)
    it(`becomes a dead letter with its history, and no other message does: ${name} (bug 15) [Y33]`, async () => {
      await explored((sim) => lived(sim, shape), { quick: 2, share: 0.1, seed: 33 });
    });
});

describe("a host that ends cleanly", () => {
  it("counts no attempt at what was in work, not even at a message that is tried alone [Y34]", async () => {
    await explored(
      async (sim) => {
        const begun: string[] = [];
        const open = (): Promise<never> => new Promise(() => undefined);
        const word = async (one: string): Promise<string> => {
          begun.push(one);
          return open();
        };
        const { lines, definition } = pipeline({ attempts: 3, concurrency: 2, batch: false }, word);
        const shop = sim.node("shop", (node): Promise<PipelineHost> => {
          const host = pipelineHost({ store: node.store, pipelines: [definition], drainMs: 1 });
          return node.system().start(host);
        });
        const marks = async (): Promise<unknown[]> => {
          const store = await openStore(sim.system({ name: `reader ${begun.length}` }), shop.store, [
            PIPELINE_SCHEMA,
          ]);
          const rows = await store.scan(messages, {});
          await store.close();
          return rows.filter(({ queue: of }) => of === "words").map(({ attempts, ends }) => [attempts, ends]);
        };
        const inWork = async (count: number): Promise<void> => {
          while (begun.length < count) await sim.sleep(1);
        };
        let host = await shop.ready();
        await host.start(definition, { id: "one", messages: { to: lines, values: ["a b"] } });
        await inWork(2);
        await host.stop();
        expect(await marks()).toEqual([
          [null, null],
          [null, null],
        ]);
        // Twice without a word: then they are tried alone.
        for (const count of [2, 2, 1]) {
          begun.length = 0;
          shop.crash();
          shop.restart();
          host = await shop.ready();
          await inWork(count);
        }
        expect(begun).toEqual(["a"]);
        await host.stop();
        expect(await marks()).toEqual([
          [2, 2],
          [2, 2],
        ]);
      },
      { quick: 1, share: 0.05, seed: 34 },
    );
  });
});
