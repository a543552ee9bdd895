// A life of a host with a pipeline, for pipeline-recovery.ts: `pipeline-child.js before|between|after FILE`. The first two are killed.

import { System } from "signalbox";
import { fromIterable, type PipelineRun, pipelineHost } from "signalbox/pipeline";
import { sqlite } from "signalbox/store";
import { READY } from "./killed.js";
import type { LastWords, PipelineLife, Speed } from "./pipeline-recovery.js";
import { oneRouteFrom, type Reading, readings } from "./pipelines.js";

/** The first second of a host, in milliseconds from the begin of its start: its speed is not looked at. */
const FIRST_MS = 1_000;
const ID = "recovery";

const [life, file = ""] = process.argv.slice(2) as [PipelineLife, string?];
const given = { count: 0, isEnough: false };

function* untilEnough(): Generator<Reading> {
  for (const reading of readings(Number.POSITIVE_INFINITY)) {
    if (given.isEnough) return;
    given.count++;
    yield reading;
  }
}

/** Waits for a time since the begin of the start. */
const at = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, ms - (performance.now() - started)));

/** Messages settled in a second, between two such times. */
async function speed(run: PipelineRun, fromMs: number, toMs: number): Promise<Speed> {
  const settled = async (ms: number): Promise<readonly [number, number]> => {
    await at(ms);
    const { done } = await run.status();
    return [performance.now(), done];
  };
  const [begin, few] = await settled(fromMs);
  const [end, many] = await settled(toMs);
  return { perSecond: ((many - few) * 1_000) / (end - begin) };
}

const { pipeline } = oneRouteFrom(fromIterable("readings", untilEnough));
const system = new System({ report: false });
const started = performance.now();
const host = await system.start(pipelineHost({ store: sqlite(file), pipelines: [pipeline] }));
const run = life === "before" ? await host.start(pipeline, { id: ID }) : host.get(ID);
if (life === "after") {
  const { perSecond } = await speed(run, FIRST_MS, 2 * FIRST_MS);
  given.isEnough = true;
  const summary = await run.completed();
  await system.stop();
  console.log(JSON.stringify({ perSecond, given: given.count, summary } satisfies LastWords));
} else {
  if (life === "before") console.log(JSON.stringify(await speed(run, FIRST_MS, 3 * FIRST_MS)));
  await at(FIRST_MS);
  process.stdout.write(READY);
  await new Promise(() => setInterval(() => undefined, FIRST_MS));
}
