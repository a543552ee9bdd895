// Plays executions of the job of a simulation to their ends, and checks them.

import { type System, supervisor } from "signalbox";
import {
  ExecutionFailedError,
  type PipelineHost,
  type PipelineSummary,
  pipelineHost,
} from "signalbox/pipeline";
import { StoreClosedError, type StoreSource } from "signalbox/store";
import type { Simulation } from "signalbox/testing";
import { expect } from "vitest";
import { audited, reading, tellingEnds } from "./audit.js";
import { expectedOf, type Item, type Job } from "./job.js";

/** There from the start, and read by the source. */
export interface Input {
  readonly given: readonly Item[];
  readonly read: readonly Item[];
}

export const INPUT: Input = {
  given: [
    { name: "g", kind: "flaky" },
    { name: "a", kind: "part" },
  ],
  read: [
    { name: "a", kind: "part" },
    { name: "b", kind: "bad" },
    { name: "c", kind: "laps", laps: 1 },
    { name: "d", kind: "laps", laps: 1_000 },
    { name: "e", kind: "sour" },
  ],
};

/** Starts a supervised host. */
export async function supervised(system: System, job: Job, store: StoreSource): Promise<PipelineHost> {
  const host = pipelineHost({
    ...{ pipelines: [job.pipeline], name: "pipelines", drainMs: 50 },
    store: tellingEnds(store, () => job.completions++),
  });
  await system.start(
    supervisor({ label: "root", intensity: 1_000, children: [{ id: "pipelines", start: host }] }),
  );
  return host.at(system, "pipelines");
}

export type FindHost = () => Promise<PipelineHost>;

/** A host that never comes back fails the test, whose schedule would go on until its last step otherwise. */
const MOST_TRIES = 1_000;

/** Repeats a request until it is answered. */
export async function insisted<T>(sim: Simulation, request: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await request();
    } catch (error) {
      if (tries === MOST_TRIES) throw new Error(`nothing answered ${tries} requests`, { cause: error });
      await sim.sleep(50);
    }
  }
}

export function start(
  sim: Simulation,
  job: Job,
  host: FindHost,
  id: string,
  { given, read }: Input = INPUT,
): Promise<unknown> {
  const options = { id, input: read, messages: { to: job.numbers, values: given } };
  return insisted(sim, async () => (await host()).start(job.pipeline, options));
}

/** How an execution has ended, in whatever way. */
export function end(sim: Simulation, host: FindHost, id: string): Promise<PipelineSummary> {
  return insisted(sim, async () => {
    const run = (await host()).get(id);
    return run.completed().catch((error: unknown) => {
      if (error instanceof ExecutionFailedError) return error.summary;
      throw error;
    });
  });
}

/** Reads again what a power loss has interrupted: it closes all handles of the store. */
async function afterLosses<T>(read: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof StoreClosedError)) throw error;
    }
  }
}

/** The execution has completed with what the model says, and its rows say so. */
export async function checked(
  sim: Simulation,
  job: Job,
  source: StoreSource,
  id: string,
  input: Input = INPUT,
): Promise<void> {
  const { settled, dead, names } = expectedOf([...input.given, ...input.read]);
  const row = await afterLosses(async () => {
    await using store = await reading(sim.system({ name: "reader" }), source);
    return await audited(store, id);
  });
  expect(job.wrong).toEqual([]);
  expect(job.names(id)).toEqual(names);
  expect(row).toMatchObject({
    ...{ status: "completed", pending: 0, inputs: input.given.length + input.read.length },
    ...{ done: settled + (job.written.get(id)?.size ?? 0), dead },
  });
}

/** Runs an execution to its end, and checks it. */
export async function played(sim: Simulation, job: Job, host: FindHost, source: StoreSource): Promise<void> {
  await start(sim, job, host, "one");
  expect(await end(sim, host, "one")).toMatchObject({ status: "completed", pending: 0 });
  await checked(sim, job, source, "one");
}
