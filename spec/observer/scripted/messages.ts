// A pipeline with dead letters, and durable queues.

import type { System } from "signalbox";
import {
  dead,
  definePipeline,
  done,
  many,
  openQueues,
  type PipelineHost,
  type PipelineHostDefinition,
  pipelineHost,
  type Queues,
  queue,
  route,
} from "signalbox/pipeline";
import type { StoreSource } from "signalbox/store";
import { TEXTS } from "./hostile.js";

const lines = queue<string>("lines");
const words = queue<string>("words");
const parse = route("parse", {
  from: lines,
  concurrency: 2,
  retry: { attempts: 2, backoff: { minMs: 1, maxMs: 5 } },
})
  .via("parse", (line, ctx) => {
    if (line.startsWith("bad")) return ctx.giveUp(`${line}: no line`);
    if (line.startsWith("<")) throw new Error(`cannot read ${line}`);
    return many(line.split(" "));
  })
  .to(words);
const store = route("store", { from: words, concurrency: 2 }).via("store", async (word, ctx) => {
  // The execution goes on, so that there is something to see.
  if (word === "last") await ctx.sleep(3_600_000);
});
const reading = definePipeline("reading", { routes: [parse, store] });

export function pipelinesOf(source: StoreSource, socket: string): PipelineHostDefinition {
  return pipelineHost({ name: "pipelines", store: source, socket, pipelines: [reading] });
}

/** Starts an execution that ends, and one that goes on; both have dead letters. */
export async function read(pipelines: PipelineHost): Promise<void> {
  const values = ["to be or not to be", "bad 1", TEXTS.markup, "the end"];
  const ended = await pipelines.start(reading, { id: "monday", messages: { to: lines, values } });
  await ended.completed();
  await pipelines.start(reading, {
    id: "tuesday",
    messages: { to: lines, values: [...values, "last one"] },
  });
}

/** Opens queues: one with ready messages, one with dead letters, one that is worked on. */
export async function queuesOf(system: System, source: StoreSource, socket: string): Promise<Queues> {
  const queues = await openQueues(system, { store: source, socket });
  await queues.queue<number>("jobs").publishMany([1, 2, 3].map((value) => ({ value })));
  const mails = queues.queue<string>("mails");
  await mails.publishMany(["ada", TEXTS.markup].map((value, i) => ({ id: `mail-${i + 1}`, value })));
  await mails.subscribe({}, ({ value }) => dead(`no mailbox for ${value}`));
  await queues.queue<number>("clicks").subscribe({ concurrency: 2 }, () => done);
  return queues;
}
