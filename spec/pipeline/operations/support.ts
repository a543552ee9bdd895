// A pipeline whose messages take every turn: fan-out, batches, retries and dead letters. And a store for it.

import { System } from "signalbox";
import { memory, pglite, type StoreSource } from "signalbox/store";
import { onTestFinished } from "vitest";
import { many } from "../../../lib/pipeline/definition/adapter.js";
import { definePipeline, type PipelineDefinition } from "../../../lib/pipeline/definition/pipeline.js";
import { type Queue, queue } from "../../../lib/pipeline/definition/queue.js";
import { route } from "../../../lib/pipeline/definition/route.js";
import { type PipelineHost, pipelineHost } from "../../../lib/pipeline/host.js";
import { sharedPglite } from "../../support/pglite.js";
import { proving } from "../../support/proof.js";

let schemas = 0;
const database = proving ? await sharedPglite() : undefined;
/** A store of its own: in memory in `npm test`, in PostgreSQL in `npm run prove`. */
export function newStore(): StoreSource {
  return database === undefined ? memory() : pglite(database, { schema: `operations_${schemas++}` });
}

export const lines: Queue<string> = queue<string>("lines");
export const words: Queue<string> = queue<string>("words");

/** Splits lines into words and gathers these. `flaky` fails once, `bad` always. */
export function wordPipeline(name = "words"): PipelineDefinition {
  const failed = new Set<string>();
  const retry = { attempts: 2, backoff: { minMs: 1, maxMs: 1 } };
  const split = route("split", { from: lines, retry })
    .via("words", (line) => {
      if (line === "") throw new Error("an empty line");
      return many(line.split(" "), (word) => word[0]);
    })
    .to(words);
  const check = route("check", { from: words, retry })
    .via("check", (word, ctx) => {
      if (word === "bad") throw new TypeError(`bad word in attempt ${ctx.attempt}`);
      if (word === "flaky" && !failed.has(ctx.execution)) {
        failed.add(ctx.execution);
        throw new Error("not yet");
      }
      return word;
    })
    .batch("gather", { size: 2, everyMs: 3_600_000 }, () => undefined);
  return definePipeline(name, { routes: [split, check] });
}

export function system(): System {
  const made = new System({ report: false });
  onTestFinished(() => made.stop());
  return made;
}

export function hostOf(
  on: System,
  store: StoreSource | undefined,
  ...pipelines: PipelineDefinition<never>[]
): Promise<PipelineHost> {
  return on.start(pipelineHost({ pipelines, drainMs: 10, ...(store === undefined ? {} : { store }) }));
}

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}
