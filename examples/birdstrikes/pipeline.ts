// The pipeline.
//
//     strikes.csv ─▶ parse ─▶ validate ─▶ enrich ─▶ statistics ─▶ report ─▶ report.db
//
// Whatever a route refuses is a dead letter with its reason. The statistics are batches of one airport each. Their messages are settled
// in the commit that emits the batch, so a kill neither loses nor repeats a strike. The report writes each batch under its id: written
// again, after a kill, it changes nothing.

import {
  type CsvRow,
  csvRows,
  type DamagedRecord,
  definePipeline,
  feed,
  giveUpDamaged,
  many,
  type PipelineDefinition,
  queue,
  route,
  type SqlTarget,
  sqlUpsert,
} from "signalbox/pipeline";
import type { Airports } from "./airports.js";
import { type AirportTotals, type LocatedStrike, parseStrike, type Strike, validated } from "./strike.js";

/** The id of the execution. */
export const EXECUTION = "birdstrikes";

/** What a batch of strikes at one airport comes to. */
export interface BatchTotals extends AirportTotals {
  /** The id of the first message of the batch. */
  readonly batch: string;
}

interface Parts {
  readonly file: string;
  readonly airports: Airports;
  readonly report: SqlTarget;
  /** Called whenever an adapter works on a record. */
  called(): void;
}

const BATCH = 50;
/** An attempt that a kill interrupts counts, and here most interruptions are kills: nobody is to be suspected for them. */
const ATTEMPTS = 10_000;

export function birdstrikes({ file, airports, report, called }: Parts): PipelineDefinition<unknown> {
  const rows = queue<CsvRow | DamagedRecord>("rows");
  const parsed = queue<Strike>("parsed");
  const valid = queue<Strike>("valid");
  const located = queue<LocatedStrike>("located");
  const totals = queue<BatchTotals>("totals");

  /** A step from one value to the next. */
  const each =
    <I, O>(step: (value: I) => O) =>
    (value: I): O => {
      called();
      return step(value);
    };

  const routes = [
    route("parse", { from: rows }).via(giveUpDamaged<CsvRow>()).via("parse", each(parseStrike)).to(parsed),
    route("validate", { from: parsed }).via("validate", each(validated)).to(valid),
    // Batches are made by key: the airport is the key of a strike.
    route("enrich", { from: valid })
      .via(
        "locate",
        each((strike) => airports.locate(strike)),
      )
      .via("key", (strike) => many([strike], ({ iata }) => iata))
      .to(located),
    route("statistics", { from: located })
      .batch("totals", { size: BATCH, everyMs: 1_000, byKey: true }, (strikes, { ids }) => [
        totalsOf(ids[0] as string, strikes),
      ])
      .to(totals),
    route("report", { from: totals }).via(
      sqlUpsert<BatchTotals>("write", { target: report, table: "batches", key: ["batch"], columns: COLUMNS }),
    ),
  ];
  const source = csvRows("strikes", { path: file, damaged: "pass" });
  return definePipeline(EXECUTION, {
    routes,
    sources: [feed(source, rows)],
    defaults: { retry: { attempts: ATTEMPTS, backoff: { minMs: 100, maxMs: 1_000 } } },
  });
}

/** The columns of the table `batches` of the report. */
export const COLUMNS: readonly (keyof BatchTotals)[] = [
  ...(["batch", "airport", "iata", "strikes", "damaging", "cost", "speeds", "knots"] as const),
];

function totalsOf(batch: string, strikes: readonly LocatedStrike[]): BatchTotals {
  const { airport, iata } = strikes[0] as LocatedStrike;
  const speeds = strikes.flatMap(({ speed }) => (speed === undefined ? [] : [speed]));
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
  return {
    ...{ batch, airport, iata, strikes: strikes.length },
    damaging: strikes.filter(({ damage }) => damage !== "None").length,
    cost: sum(strikes.map(({ cost }) => cost)),
    ...{ speeds: speeds.length, knots: sum(speeds) },
  };
}
