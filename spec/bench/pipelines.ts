// Pipelines of three adapters: in memory, on SQLite with exact lineage and completion, on PostgreSQL, and behind a slow adapter. Each
// program checks what the last adapter has seen, the summary of the execution, and on SQLite every row that the execution left.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "libsql";
import { System } from "signalbox";
import {
  definePipeline,
  feed,
  fromIterable,
  type PipelineDefinition,
  type PipelineSummary,
  pipelineHost,
  queue,
  route,
  runPipeline,
} from "signalbox/pipeline";
import { postgres, type StoreSource, sqlite } from "signalbox/store";
import { benchPostgres } from "./bench-postgres.js";
import { held } from "./held.js";
import { type Figures, type Program, type Run, Stopwatch, WrongCountError } from "./program.js";
import { SIZES } from "./sizes.js";

/** A message of the source. */
export interface Reading {
  readonly n: number;
  readonly text: string;
}

/** What the first adapter makes of it, … */
export interface Parsed {
  readonly n: number;
  readonly text: string;
  readonly size: number;
}

/** … the second one, … */
export interface Enriched {
  readonly n: number;
  readonly size: number;
  readonly even: boolean;
}

/** … and the last one. */
export interface Total {
  readonly n: number;
  readonly total: number;
}

const TEXT = "forty characters that a message carries.";

export const parse = ({ n, text }: Reading): Parsed => ({ n, text, size: text.length });
export const enrich = ({ n, size }: Parsed): Enriched => ({ n, size, even: n % 2 === 0 });
export const total = ({ n, size }: Enriched): Total => ({ n, total: n + size });

/** The messages of a source. */
export function* readings(messages: number): Generator<Reading> {
  for (let n = 0; n < messages; n++) yield { n, text: TEXT };
}

/** What the totals of so many messages sum up to. */
export const totalsOf = (messages: number): number =>
  (messages * (messages - 1)) / 2 + messages * TEXT.length;

/** What comes out of a pipeline. */
export interface Sink {
  sum: number;
}

/** A pipeline and where its last adapter adds up. */
export interface Bench {
  readonly pipeline: PipelineDefinition;
  readonly sink: Sink;
  /** Queues that a message passes. */
  readonly stages: number;
}

const sourceOf = (messages: number): ReturnType<typeof fromIterable<Reading>> =>
  fromIterable("readings", () => readings(messages));

/** One route with three adapters. */
function oneRoute(messages: number): Bench {
  return oneRouteFrom(sourceOf(messages));
}

/** The same with another source. */
export function oneRouteFrom(source: ReturnType<typeof sourceOf>): Bench {
  const inbox = queue<Reading>("inbox");
  const sink = { sum: 0 };
  const all = route("all", { from: inbox })
    .via("parse", parse)
    .via("enrich", enrich)
    .via("total", (value): Total => {
      const made = total(value);
      sink.sum += made.total;
      return made;
    });
  return {
    pipeline: definePipeline("one-route", { routes: [all], sources: [feed(source, inbox)] }),
    sink,
    stages: 1,
  };
}

/** One route with three adapters, each of which answers later. */
function oneRouteAsync(messages: number): Bench {
  const inbox = queue<Reading>("inbox");
  const sink = { sum: 0 };
  const all = route("all", { from: inbox })
    .via("parse", async (value) => parse(value))
    .via("enrich", async (value) => enrich(value))
    .via("total", async (value): Promise<Total> => {
      const made = total(value);
      sink.sum += made.total;
      return made;
    });
  return {
    pipeline: definePipeline("one-route", { routes: [all], sources: [feed(sourceOf(messages), inbox)] }),
    sink,
    stages: 1,
  };
}

/** Three routes with an adapter each, and a queue between them. */
function threeRoutes(messages: number): Bench {
  const inbox = queue<Reading>("inbox");
  const parsed = queue<Parsed>("parsed");
  const enriched = queue<Enriched>("enriched");
  const sink = { sum: 0 };
  const first = route("first", { from: inbox }).via("parse", parse).to(parsed);
  const second = route("second", { from: parsed }).via("enrich", enrich).to(enriched);
  const third = route("third", { from: enriched }).via("total", (value): Total => {
    const made = total(value);
    sink.sum += made.total;
    return made;
  });
  return {
    pipeline: definePipeline("three-routes", {
      routes: [first, second, third],
      sources: [feed(sourceOf(messages), inbox)],
    }),
    sink,
    stages: 3,
  };
}

export function same(counted: number, expected: number): void {
  if (counted !== expected) throw new WrongCountError(counted, expected);
}

/** Every message was settled once in each queue, and nothing is left. @throws WrongCountError */
export function checkSummary(
  { status, inputs, done, dead, pending }: PipelineSummary,
  all: number,
  stages: number,
): void {
  same(inputs, all);
  same(done, all * stages);
  same(dead + pending, 0);
  if (status !== "completed") throw new Error(`the execution is ${status}`);
}

/** What the execution left in its file. */
export interface Left {
  readonly live: number;
  readonly lineage: number;
  readonly lineageBytes: number;
}

/** Read when nobody has the file open. */
export function leftIn(file: string): Left {
  const database = new Database(file);
  try {
    return database
      .prepare(
        `select (select count(*) from signalbox_pipeline_messages) as live, count(*) as lineage,
           sum(length(id) + length(entry)) as lineageBytes from signalbox_pipeline_lineage`,
      )
      .get() as Left;
  } finally {
    database.close();
  }
}

export function rates(operations: number, { wallMs, cpuMs }: ReturnType<Stopwatch["read"]>): Figures {
  return {
    perSecond: (operations * 1_000) / wallMs,
    perCpuSecond: (operations * 1_000) / cpuMs,
    ns: (wallMs * 1e6) / operations,
    cpuNs: (cpuMs * 1e6) / operations,
  };
}

/** In memory alone: no store, and no lineage. */
export function inMemory(messages: number, adapters: "sync" | "async" = "sync"): Program {
  return {
    operations: messages,
    expected: totalsOf(messages),
    run: async () => {
      const { pipeline, sink, stages } = adapters === "sync" ? oneRoute(messages) : oneRouteAsync(messages);
      const system = new System({ report: false });
      const watch = new Stopwatch();
      const summary = await runPipeline(system, pipeline);
      const figures = rates(messages, watch.read());
      checkSummary(summary, messages, stages);
      return { counted: sink.sum, figures, end: () => system.stop() };
    },
  };
}

/** A place for a store. */
export interface Place {
  readonly store: StoreSource;
  /** The file, when nobody has it open any more. */
  readonly file?: string;
  remove(): void;
}

export function newFile(): Place & { readonly file: string } {
  const path = mkdtempSync(join(tmpdir(), "signalbox-bench-"));
  const file = join(path, "pipelines.db");
  return { store: sqlite(file), file, remove: () => rmSync(path, { recursive: true }) };
}

/** One execution on a host of its own: from its start to its completion. */
async function execute({ store, file, remove }: Place, bench: Bench, messages: number): Promise<Run> {
  const system = new System({ report: false });
  const host = await system.start(pipelineHost({ store, pipelines: [bench.pipeline] }));
  const watch = new Stopwatch();
  const { result, ms } = await held(async () => (await host.start(bench.pipeline)).completed());
  const figures = rates(messages, watch.read());
  await system.stop();
  checkSummary(result, messages, bench.stages);
  const left = file === undefined ? undefined : leftIn(file);
  if (left !== undefined) {
    same(left.live, 0);
    same(left.lineage, messages * bench.stages);
  }
  remove();
  const bytes = left === undefined ? undefined : { bytes: left.lineageBytes / messages };
  return { counted: bench.sink.sum, figures: { ...figures, ms, ...bytes } };
}

/** On a new file. A message is one of the source: it counts once, however many queues it passes. */
export function onSqlite(messages: number, shape: "one route" | "three routes"): Program {
  return {
    operations: messages,
    expected: totalsOf(messages),
    run: () =>
      execute(newFile(), shape === "one route" ? oneRoute(messages) : threeRoutes(messages), messages),
  };
}

/** On the server of this run. */
export function onPostgres(messages: number): Program {
  return {
    operations: messages,
    expected: totalsOf(messages),
    run: async () => {
      const store = postgres(await benchPostgres(`signalbox_pipeline_${process.pid}`));
      return execute({ store, remove: () => undefined }, oneRoute(messages), messages);
    },
  };
}

/** What a message costs among many, as a multiple of what it costs among few; the processor's time, on two files. */
export function flat(few: number, many: number): Program {
  return {
    operations: many,
    expected: totalsOf(many),
    once: true,
    run: async () => {
      // The code is warm, and what starts is small beside the rest.
      await execute(newFile(), oneRoute(few), few);
      const rounds = Math.max(1, Math.min(10, Math.floor(many / few)));
      let fewNs = 0;
      for (let round = 0; round < rounds; round++)
        fewNs += (await execute(newFile(), oneRoute(few), few)).figures?.cpuNs as number;
      const { counted, figures = {} } = await execute(newFile(), oneRoute(many), many);
      return { counted, figures: { ...figures, times: ((figures.cpuNs as number) * rounds) / fewNs } };
    },
  };
}

/** An adapter that takes a while, many at a time: how much longer than its calls alone need. */
export function slowAdapter(messages: number, concurrency: number, adapterMs: number): Program {
  return {
    operations: messages,
    expected: totalsOf(messages),
    run: async () => {
      const inbox = queue<Reading>("inbox");
      const spent = { ms: 0, sum: 0 };
      const slow = route("slow", { from: inbox, concurrency }).via("wait", async (value): Promise<Total> => {
        const started = performance.now();
        await new Promise((resolve) => setTimeout(resolve, adapterMs));
        spent.ms += performance.now() - started;
        const made = total({ ...parse(value), even: true });
        spent.sum += made.total;
        return made;
      });
      const pipeline = definePipeline("slow", {
        routes: [slow],
        sources: [feed(sourceOf(messages), inbox)],
        inFlight: concurrency,
      });
      const system = new System({ report: false });
      const watch = new Stopwatch();
      const summary = await runPipeline(system, pipeline);
      const read = watch.read();
      checkSummary(summary, messages, 1);
      const times = (read.wallMs * concurrency) / spent.ms;
      return { counted: spent.sum, figures: { ...rates(messages, read), times }, end: () => system.stop() };
    },
  };
}

const { memory, durable, stages, server, few, many, slow } = SIZES.pipelines;
const oneOnSqlite = onSqlite(durable, "one route");

/** In full size. */
export const programs: Readonly<Record<string, Program>> = {
  "pipeline-memory": inMemory(memory),
  "pipeline-memory-async": inMemory(memory, "async"),
  "pipeline-sqlite": oneOnSqlite,
  "pipeline-sqlite-held": oneOnSqlite,
  "pipeline-sqlite-lineage": { ...oneOnSqlite, once: true },
  "pipeline-sqlite-stages": onSqlite(stages, "three routes"),
  "pipeline-sqlite-flat": flat(few, many),
  "pipeline-postgres": onPostgres(server),
  "pipeline-slow-adapter": slowAdapter(slow.messages, slow.concurrency, slow.adapterMs),
};
