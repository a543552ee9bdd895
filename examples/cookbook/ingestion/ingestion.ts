// Sales records into a database: each is checked by a schema, written once, or set aside as a dead letter with its error.

import {
  definePipeline,
  feed,
  giveUpDamaged,
  type PipelineDefinition,
  type Queue,
  queue,
  route,
  type Source,
  type SqlTarget,
  sqlUpsert,
} from "signalbox/pipeline";
import { z } from "zod";

export interface Sale {
  readonly id: string;
  readonly shop: string;
  readonly cents: number;
}

/** What a record has to be. */
export const saleSchema: z.ZodType<Sale> = z.object({
  id: z.string().min(1),
  shop: z.string().min(1),
  cents: z.number().int(),
});

/** Records as they come: dead letters keep them as they are here. */
export const records: Queue<unknown> = queue<unknown>("records");
const sales = queue<Sale>("sales");

/** The table of the database. The key makes a repeated write harmless. */
export const TABLE: string =
  "create table if not exists sales (id text primary key, shop text not null, cents integer not null)";

/** What an ingestion is made of. */
export interface IngestionOptions<Checkpoint> {
  /** Where the records come from: `jsonLines`, `csvRows`, `httpPages` or a source of your own. */
  readonly source: Source<unknown, Checkpoint>;
  /** Where valid records go. */
  readonly database: SqlTarget;
  /** Default: {@link saleSchema}. */
  readonly schema?: z.ZodType<Sale>;
}

/** The pipeline: check each record alone, then write the valid ones in batches. */
export function ingestion<Checkpoint>(options: IngestionOptions<Checkpoint>): PipelineDefinition {
  const { source, database, schema = saleSchema } = options;

  const check = route("check", { from: records, concurrency: 4 })
    // A line that could not be read at all: the dead letter names the file and the line.
    .via(giveUpDamaged<unknown>())
    // The same record fails in the same way again, so there is no retry.
    .via("schema", (record, ctx) => {
      const { data, error } = schema.safeParse(record);
      if (error === undefined) return data;
      return ctx.giveUp(error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; "));
    })
    .to(sales);

  const write = route("write", {
    from: sales,
    // A failed write is tried again. When three in a row fail the breaker opens: then records wait, and only a probe is tried.
    retry: { attempts: 20, backoff: { minMs: 100, maxMs: 10_000 } },
    breaker: { windowCalls: 3, minimumCalls: 3, failureRate: 1, backoff: { minMs: 1_000, maxMs: 60_000 } },
  }).via(
    sqlUpsert<Sale>("upsert", {
      target: database,
      table: "sales",
      key: ["id"],
      columns: ["id", "shop", "cents"],
      batch: { size: 100, everyMs: 200 },
    }),
  );

  return definePipeline("ingestion", { routes: [check, write], sources: [feed(source, records)] });
}
