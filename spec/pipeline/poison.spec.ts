// A message that ends the machine of its host, again and again.

import {
  definePipeline,
  many,
  PIPELINE_DEFAULTS,
  type PipelineHost,
  pipelineHost,
  queue,
  route,
} from "signalbox/pipeline";
import { openStore } from "signalbox/store";
import type { Simulation } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { batchesOf } from "../../lib/pipeline/ledger/blame.js";
import { deadLetters, executions, messages, PIPELINE_SCHEMA } from "../../lib/pipeline/ledger/tables.js";
import { EvidenceBox } from "../support/evidence-box.js";
import { explored } from "../support/proof.js";
import { audited } from "./simulated/audit.js";

interface Shape {
  readonly concurrency: number;
  readonly batch: boolean;
  /** `exit`: the witness has the last word of the program; `standing`: there is none, and lives end while the same code runs. */
  readonly evidence: "exit" | "standing";
}

/** What a word becomes. `name`: in which code runs for it. */
type Word = (one: string, name: string) => Promise<string>;

const LINES = ["a b c", "d e POISON f", "g h i", "j k l"];
const GOOD = 12;
/** Ends without a word: more than any limit of attempts. */
const ENDS = 4;

/** Lines become words, and what comes of the words is gathered. The queue behind the poison is often full. */
function pipeline({ concurrency, batch }: Pick<Shape, "concurrency" | "batch">, word: Word) {
  const [lines, words, out] = [queue<string>("lines"), queue<string>("words"), queue<string>("out")];
  const split = route("split", { from: lines, highWaterMark: 4 })
    .via("split", (line) => many(line.split(" ")))
    .to(words);
  const work = batch
    ? route("work", { from: words })
        .batch("work", { size: 3, everyMs: 3_600_000 }, async (all, { ids }) => {
          const [only] = ids as [string];
          for (const one of all) await word(one, ids.length === 1 ? only : batchesOf("words"));
          return all;
        })
        .to(out)
    : route("work", { from: words, concurrency, highWaterMark: 2 })
        .via("work", (one, { id }) => word(one, id))
        .to(out);
  const end = route("end", { from: out }).via("end", () => undefined);
  return { lines, definition: definePipeline("poison", { routes: [split, work, end] }) };
}

/** Runs an execution to its end, over as many lives of its machine as that takes. */
async function lived(sim: Simulation, shape: Shape): Promise<void> {
  const evidence = new EvidenceBox();
  let deaths = 0;
  const word: Word = async (one, name) => {
    await sim.sleep(1);
    if (one !== "POISON") return one;
    deaths++;
    evidence.end(shape.evidence === "exit" ? { subject: `message:1/${name}`, kind: "exit" } : undefined);
    shop.crash();
    return new Promise(() => undefined);
  };
  const { lines, definition } = pipeline(shape, word);
  const shop = sim.node("shop", (node): Promise<PipelineHost> => {
    const host = pipelineHost({ store: node.store, pipelines: [definition], evidence, drainMs: 1 });
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
      while (shop.powered) await sim.sleep(5_000);
      return false;
    };
    ended = await Promise.race([work().catch(() => false), lost()]);
    shop.restart();
    expect(shop.boots).toBeLessThan(30);
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
  const kind = shape.evidence;
  expect(history).toEqual([
    `ended its process (${kind}), once`,
    `ended its process (${kind}), 2 times`,
    `ended its process (${kind}), 3 times`,
  ]);
  if (kind === "exit") expect(deaths).toBe(PIPELINE_DEFAULTS.route.quarantine.ends + (shape.batch ? 1 : 0));
  expect(await store.count(messages, {})).toBe(0);
  await store.close();
}

describe("a message that ends the process of its host", () => {
  const shapes: readonly (readonly [string, Shape])[] = [
    ["among those of several workers", { concurrency: 4, batch: false, evidence: "exit" }],
    ["with one worker", { concurrency: 1, batch: false, evidence: "exit" }],
    ["in a batch", { concurrency: 1, batch: true, evidence: "exit" }],
    ["without a last word", { concurrency: 1, batch: false, evidence: "standing" }],
  ];
  for (const [name, shape] of shapes)
    it(`becomes a dead letter with its history, and no other message does: ${name} (bug 15) [Y33]`, async () => {
      await explored((sim) => lived(sim, shape), { quick: 2, share: 0.1, seed: 33 });
    });
});

describe("a host that ends cleanly", () => {
  it("counts no attempt at the messages in work, nor does a host that is killed [Y34]", async () => {
    await explored(
      async (sim) => {
        const begun: string[] = [];
        const open = (): Promise<never> => new Promise(() => undefined);
        const word = async (one: string): Promise<string> => {
          begun.push(one);
          return open();
        };
        const { lines, definition } = pipeline({ concurrency: 2, batch: false }, word);
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
          return rows
            .filter(({ queue: of }) => of === "words")
            .map(({ attempts, quarantines }) => [attempts, quarantines]);
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
        for (let end = 0; end < ENDS; end++) {
          begun.length = 0;
          shop.crash();
          shop.restart();
          host = await shop.ready();
          await inWork(2);
        }
        expect([...begun].sort()).toEqual(["a", "b"]);
        await host.stop();
        expect(await marks()).toEqual([
          [null, null],
          [null, null],
        ]);
      },
      { quick: 1, share: 0.05, seed: 34 },
    );
  });
});
