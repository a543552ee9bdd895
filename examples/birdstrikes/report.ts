// The report: a SQLite file with the totals of each batch, and a view with those of each airport. And the dead letters, by reason.

import { join } from "node:path";
import { System } from "signalbox";
import { openPipelineOperations, type SqlTarget, sqliteTarget } from "signalbox/pipeline";
import { openStore, sqlite } from "signalbox/store";
import { EXECUTION } from "./pipeline.js";
import type { AirportTotals } from "./strike.js";

/** What the pipeline has left behind. */
export interface Left {
  readonly airports: readonly AirportTotals[];
  /** Dead letters by reason. */
  readonly dead: ReadonlyMap<string, number>;
  /** Messages that a source has given, as the execution has counted them. */
  readonly inputs: number;
  readonly status: string;
}

export interface Report {
  readonly target: SqlTarget;
  close(): Promise<void>;
}

const TABLE =
  "create table if not exists batches (batch text primary key, airport text not null, iata text not null, strikes integer not null, " +
  "damaging integer not null, cost integer not null, speeds integer not null, knots integer not null)";
const VIEW =
  "create view if not exists airports as select airport, iata, sum(strikes) as strikes, sum(damaging) as damaging, sum(cost) as cost, " +
  "sum(speeds) as speeds, sum(knots) as knots from batches group by airport, iata order by strikes desc, airport";

/** Opens the report. The store brings a driver for every version of Node. */
export async function openReport(system: System, folder: string): Promise<Report> {
  const store = await openStore(system, sqlite(join(folder, "report.db")), []);
  for (const sql of [TABLE, VIEW]) await store.transaction((tx) => tx.execute(sql));
  return { target: sqliteTarget(store), close: () => store.close() };
}

/** Reads what is left, when the process of the pipeline has ended. */
export async function readLeft(folder: string): Promise<Left> {
  await using system = new System({ name: "report" });
  const store = await openStore(system, sqlite(join(folder, "report.db")), []);
  const { rows } = await store.transaction((tx) => tx.execute<AirportTotals>("select * from airports"));
  await store.close();
  await using jobs = await openPipelineOperations(system, sqlite(join(folder, "jobs.db")));
  const dead = new Map<string, number>();
  for await (const { errors } of jobs.deadLetters(EXECUTION)) {
    const reason = reasonOf(errors.at(-1) ?? "");
    dead.set(reason, (dead.get(reason) ?? 0) + 1);
  }
  const { inputs, status } = await jobs.status(EXECUTION);
  return { airports: rows, dead, inputs, status };
}

/** What our adapters say before the first colon; what the source says of lines is one reason. */
function reasonOf(error: string): string {
  return /(unknown damage|impossible speed|unknown airport)/.exec(error)?.[1] ?? "damaged line";
}
