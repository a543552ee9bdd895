// The bird strikes: a pipeline over the records, in a host that is killed all the time. A round is one execution from its first record to its
// report, in a store of its own.

import { readFileSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { supervisor, supervisorRef } from "signalbox";
import { pipelineHost } from "signalbox/pipeline";
import { sqlite } from "signalbox/store";
import { Airports } from "../birdstrikes/airports.js";
import { DAMAGED_LINES, withDamage } from "../birdstrikes/damage.js";
import { birdstrikes, EXECUTION } from "../birdstrikes/pipeline.js";
import { openReport, readLeft } from "../birdstrikes/report.js";
import { differences, straightTotals } from "../birdstrikes/straight.js";
import { bundledFile } from "../flights/data-file.js";
import { again, KILLED_ON_PURPOSE, type Part, type PartOptions, rest } from "./part.js";

/** The name of the host. */
export const BIRDSTRIKES = "birdstrikes pipelines";
const PARENT = "birdstrikes";
/** Records of a round of full size. */
const ROUND = 5_000;
/** An adapter takes this long for a record, so that there is something to see. */
const WORK_MS = 5;

export function birdstrikesPart({ system, folder, size }: PartOptions): Part {
  const text = readFileSync(bundledFile("birdstrikes.csv"), "utf8");
  const airports = new Airports(bundledFile("airports.csv"));
  const limit = Math.ceil((ROUND * size) / 100);
  const straight = straightTotals(text, limit);
  const parent = supervisorRef(system, PARENT);
  const faults: string[] = [];
  let rounds = 0;

  const round = async (ending: AbortSignal): Promise<void> => {
    const at = join(folder, `birdstrikes-${++rounds}`);
    await mkdir(at);
    await writeFile(join(at, "strikes.csv"), withDamage(text, limit, rounds));
    const report = await openReport(system, at);
    const pipeline = birdstrikes({
      ...{ file: join(at, "strikes.csv"), airports, report: report.target },
      called: () => (ending.aborted ? undefined : rest(WORK_MS, ending)),
    });
    const host = pipelineHost({
      name: BIRDSTRIKES,
      store: sqlite(join(at, "jobs.db")),
      pipelines: [pipeline],
    });
    // It may be killed while it starts.
    await again(() => parent.startChild({ id: "pipelines", name: BIRDSTRIKES, start: host }));
    const pipelines = host.at(system, BIRDSTRIKES);
    try {
      const run = await again(() => pipelines.start(pipeline, { id: EXECUTION }));
      await again(() => run.completed());
    } finally {
      await parent.terminateChild("pipelines");
      await parent.deleteChild("pipelines");
      await report.close();
    }
    const wrong = differences(straight, DAMAGED_LINES, await readLeft(at));
    faults.push(...wrong.slice(0, 3).map((one) => `bird strikes, round ${rounds}: ${one}`));
    await rm(at, { recursive: true });
  };

  return {
    name: "bird strikes",
    children: [
      {
        id: PARENT,
        name: PARENT,
        start: supervisor({ ...KILLED_ON_PURPOSE, label: PARENT, children: [] }),
      },
    ],
    round,
    verdict: async () => ({
      line: `bird strikes ${rounds * (limit + DAMAGED_LINES)} lines in ${rounds} executions: reported, or a dead letter`,
      faults,
    }),
    close: async () => undefined,
  };
}
