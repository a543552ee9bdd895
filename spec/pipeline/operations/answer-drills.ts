// All operations that change executions of pipelines, as drills of their answers.

import { type System, supervisor } from "signalbox";
import type { StoreSource } from "signalbox/store";
import { definePipeline, type PipelineDefinition } from "../../../lib/pipeline/definition/pipeline.js";
import { type Queue, queue } from "../../../lib/pipeline/definition/queue.js";
import { route } from "../../../lib/pipeline/definition/route.js";
import { type PipelineHost, type PipelineRun, pipelineHost } from "../../../lib/pipeline/host.js";
import type { PipelineOperations } from "../../../lib/pipeline/operations/operations.js";
import { drillsOf, type NamedDrills, type NoDrill } from "../../support/answer-drills.js";

export const lines: Queue<string> = queue<string>("lines");
/** Lines of this kind are in work until the execution ends. */
export const SLOW = "slow";
const slow = (signal: AbortSignal): Promise<undefined> =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve(undefined)));
const work = route("work", { from: lines, retry: { attempts: 1 } }).via("work", (line, { signal }) => {
  if (line !== SLOW) throw new Error("not slow");
  return slow(signal);
});
const other = route("other", { from: queue<string>("others") }).via("other", (_, { signal }) => slow(signal));
export const pipeline: PipelineDefinition = definePipeline("lines", { routes: [work, other] });

/** A program: a host in a system of its own. */
export interface Life {
  readonly host: PipelineHost;
  readonly run: PipelineRun;
}

interface Drill {
  /** What is asked. Its answer is the last that the program gets. */
  act(life: Life): Promise<unknown>;
  /** What the next program finds. */
  seen(life: Life): Promise<unknown>;
  readonly expected: unknown;
  /** The lines of the execution. Default: a slow one. */
  readonly lines?: readonly string[];
  /** What is asked before. */
  readonly before?: (life: Life) => Promise<unknown>;
}

const status = async ({ run }: Life): Promise<string> => (await run.status()).status;
const dead = (run: PipelineRun): Promise<unknown> => run.completed();

const pause = {
  act: ({ run }: Life) => run.pause(),
  seen: status,
  expected: "paused",
};
const resume = {
  before: ({ run }: Life) => run.pause(),
  act: ({ run }: Life) => run.resume(),
  seen: status,
  expected: "running",
};
const cancel = {
  act: ({ run }: Life) => run.cancel(),
  seen: status,
  expected: "cancelled",
};
const replay = {
  lines: ["quick"],
  before: ({ run }: Life) => dead(run),
  act: ({ run }: Life) => run.replay({ id: "again", dead: true }),
  seen: async ({ host }: Life) => (await host.get("again").completed()).dead,
  expected: 1,
};

const giveUp = {
  act: ({ run }: Life) => run.giveUp({ all: true, reason: "nobody waits for it" }),
  seen: async ({ run }: Life) => {
    const { status: as, done, dropped } = await run.completed();
    return { as, done, dropped };
  },
  expected: { as: "completed", done: 1, dropped: 1 },
};

const move = {
  act: ({ run }: Life) => run.move({ to: "other", queues: ["lines"] }),
  seen: async ({ run }: Life) => {
    await run.giveUp({ queues: ["others"], reason: "that is where it is" });
    return (await run.completed()).dropped;
  },
  expected: 1,
};

const deadOf = async ({ run }: Life): Promise<unknown> => {
  const { dead: count, dropped } = await run.completed();
  const records: string[] = [];
  for await (const { fate } of run.deadRecords()) records.push(fate);
  return [count, dropped, records];
};
const quick = { lines: ["quick"], before: ({ run }: Life) => dead(run), seen: deadOf };
const retryDead = {
  ...quick,
  act: ({ run }: Life) => run.retryDead({}),
  expected: [1, undefined, ["retried"]],
};
const editDead = {
  ...{ ...quick, act: ({ run }: Life) => run.editDead("10.10", "quicker") },
  expected: [1, undefined, ["edited"]],
};
const dropDead = {
  ...{ ...quick, act: ({ run }: Life) => run.dropDead("10.10", { reason: "spam" }) },
  expected: [0, 1, ["dropped"]],
};

/** All operations of a run: whoever adds one says here what it leaves, or that it reads. */
const OF_RUN: Record<Exclude<keyof PipelineRun, "id" | "attached">, Drill | NoDrill> = {
  ...{ pause, resume, cancel, replay, giveUp, move, retryDead, editDead, dropDead },
  ...{ completed: "reads", status: "reads", progress: "reads", follow: "reads", inspect: "reads" },
  ...{ lineage: "reads", failures: "reads", deadLetters: "reads", deadRecords: "reads" },
};

/** All operations on executions. */
const OF_OPERATIONS: Record<keyof PipelineOperations, Drill | NoDrill> = {
  pause: { ...pause, act: ({ host, run }) => host.operations.pause(run.id) },
  resume: { ...resume, act: ({ host, run }) => host.operations.resume(run.id) },
  cancel: { ...cancel, act: ({ host, run }) => host.operations.cancel(run.id) },
  move: { ...move, act: ({ host, run }) => host.operations.move(run.id, { to: "other", queues: ["lines"] }) },
  giveUp: {
    ...giveUp,
    act: ({ host, run }) => host.operations.giveUp(run.id, { all: true, reason: "nobody waits for it" }),
  },
  replay: { ...replay, act: ({ host, run }) => host.operations.replay(run.id, { id: "again", dead: true }) },
  ...{ list: "reads", executions: "reads", status: "reads", inspect: "reads", lineage: "reads" },
  ...{ children: "reads", batch: "reads", messages: "reads", failures: "reads", deadLetters: "reads" },
  ...{ outcome: "reads", deadRecords: "reads", routes: "reads", counts: "reads", delayed: "reads" },
  evidence: "reads",
  retryDead: { ...retryDead, act: ({ host, run }) => host.operations.retryDead(run.id, {}) },
  editDead: { ...editDead, act: ({ host, run }) => host.operations.editDead(run.id, "10.10", "quicker") },
  dropDead: {
    ...{ ...dropDead, act: ({ host, run }) => host.operations.dropDead(run.id, {}, { reason: "spam" }) },
  },
};

/** All methods of a host. */
const OF_HOST: Record<Exclude<keyof PipelineHost, "operations" | symbol>, Drill | NoDrill> = {
  start: {
    act: ({ host }) => host.start(pipeline, { id: "second", messages: { to: lines, values: [SLOW] } }),
    seen: async ({ host }) => (await host.get("second").status()).status,
    expected: "running",
  },
  get: "reads",
  signals: "reads",
  stop: "reads",
};

/** On a busy machine a host may lose its short lease, and its supervisor starts another one. */
async function hostOf(system: System, store: StoreSource): Promise<PipelineHost> {
  const host = pipelineHost({
    ...{ pipelines: [pipeline], name: "pipelines", store, drainMs: 10, socket: false },
  });
  await system.start(supervisor({ intensity: 100, children: [{ id: "pipelines", start: host }] }));
  return host.at(system, "pipelines");
}

export const PIPELINE_DRILLS: NamedDrills = drillsOf<Drill>(
  { run: OF_RUN, operations: OF_OPERATIONS, host: OF_HOST },
  ({ before, act, seen, expected, lines: values = [SLOW] }) => ({
    ask: async (system, store) => {
      const host = await hostOf(system, store);
      const run = await host.start(pipeline, { id: "first", messages: { to: lines, values } });
      await before?.({ host, run });
      return act({ host, run });
    },
    look: async (system, store) => {
      const host = await hostOf(system, store);
      return seen({ host, run: host.get("first") });
    },
    expected,
  }),
);
