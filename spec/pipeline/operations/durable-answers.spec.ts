// Whoever has the answer of an operation may lose the machine at that instant: the next host finds its effect.

import { System } from "signalbox";
import { memory, type StoreSource } from "signalbox/store";
import { testClock } from "signalbox/testing";
import { expect, onTestFinished, test } from "vitest";
import { definePipeline } from "../../../lib/pipeline/definition/pipeline.js";
import { queue } from "../../../lib/pipeline/definition/queue.js";
import { route } from "../../../lib/pipeline/definition/route.js";
import { type PipelineHost, type PipelineRun, pipelineHost } from "../../../lib/pipeline/host.js";
import type { PipelineOperations } from "../../../lib/pipeline/operations/operations.js";
import { ExecutionOutcomeUnknownError } from "../../../lib/pipeline/runtime/errors.js";
import { StoreUnreachableError } from "../../../lib/store/postgres/errors.js";
import { HeldSource, RefusingSource } from "../../support/held-store.js";
import { LossySource } from "../../support/lossy-store.js";

const lines = queue<string>("lines");
/** Lines of this kind are in work until the execution ends. */
const SLOW = "slow";
const slow = (signal: AbortSignal): Promise<undefined> =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve(undefined)));
const work = route("work", { from: lines, retry: { attempts: 1 } }).via("work", (line, { signal }) => {
  if (line !== SLOW) throw new Error("not slow");
  return slow(signal);
});
const other = route("other", { from: queue<string>("others") }).via("other", (_, { signal }) => slow(signal));
const pipeline = definePipeline("lines", { routes: [work, other] });

/** A program: a host in a system of its own. */
interface Life {
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
const OF_RUN: Record<Exclude<keyof PipelineRun, "id" | "attached">, Drill | "reads"> = {
  ...{ pause, resume, cancel, replay, giveUp, move, retryDead, editDead, dropDead },
  ...{ completed: "reads", status: "reads", progress: "reads", follow: "reads", inspect: "reads" },
  ...{ lineage: "reads", failures: "reads", deadLetters: "reads", deadRecords: "reads" },
};

/** All operations on executions. */
const OF_OPERATIONS: Record<keyof PipelineOperations, Drill | "reads"> = {
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
  ...{ outcome: "reads", deadRecords: "reads" },
  retryDead: { ...retryDead, act: ({ host, run }) => host.operations.retryDead(run.id, {}) },
  editDead: { ...editDead, act: ({ host, run }) => host.operations.editDead(run.id, "10.10", "quicker") },
  dropDead: {
    ...{ ...dropDead, act: ({ host, run }) => host.operations.dropDead(run.id, {}, { reason: "spam" }) },
  },
};

/** All methods of a host. */
const OF_HOST: Record<Exclude<keyof PipelineHost, "operations" | symbol>, Drill | "reads"> = {
  start: {
    act: ({ host }) => host.start(pipeline, { id: "second", messages: { to: lines, values: [SLOW] } }),
    seen: async ({ host }) => (await host.get("second").status()).status,
    expected: "running",
  },
  get: "reads",
  stop: "reads",
};

const drillsOf = (table: Readonly<Record<string, Drill | "reads">>): [string, Drill][] =>
  Object.entries(table).filter((one): one is [string, Drill] => one[1] !== "reads");

const ALL = [
  ...drillsOf(OF_RUN).map(([name, drill]) => [`run.${name}`, drill] as const),
  ...drillsOf(OF_OPERATIONS).map(([name, drill]) => [`operations.${name}`, drill] as const),
  ...drillsOf(OF_HOST).map(([name, drill]) => [`host.${name}`, drill] as const),
];

test.each(ALL)("%s is durable when it is answered [Y280]", async (_name, drill) => {
  for (const shared of [false, true]) {
    const store = new LossySource(memory({ shared }));
    const first = await live(store);
    const run = await first.host.start(pipeline, {
      id: "first",
      messages: { to: lines, values: drill.lines ?? [SLOW] },
    });
    const life = { ...first, run };
    await drill.before?.(life);
    await drill.act(life);
    store.kill();
    await first.system.stop({ timeoutMs: 0 });
    await store.bury();
    const second = await live(store);
    expect(await drill.seen({ ...second, run: second.host.get("first") })).toEqual(drill.expected);
  }
});

async function live(store: StoreSource): Promise<{ system: System; host: PipelineHost }> {
  const system = new System({ report: false });
  onTestFinished(() => system.stop({ timeoutMs: 0 }));
  return { system, host: await system.start(pipelineHost({ pipelines: [pipeline], store, drainMs: 10 })) };
}

/** Operations whose outcome the store may leave open, and the execution that each is for. */
const CHANGES: Record<string, readonly [string, (life: Life) => Promise<unknown>]> = {
  start: ["new", ({ host }) => host.start(pipeline, { id: "new", messages: { to: lines, values: [SLOW] } })],
  pause: ["there", ({ run }) => run.pause()],
  resume: ["there", ({ run }) => run.resume()],
  cancel: ["there", ({ run }) => run.cancel()],
  replay: ["again", ({ run }) => run.replay({ id: "again", dead: true })],
};

test.each(Object.entries(CHANGES))(
  "%s: the error says that the outcome is unknown, and of which execution, when the store has lost the answer [Y425]",
  async (name, [id, operation]) => {
    for (const known of ["unknown", "nothing"] as const) {
      const store = new RefusingSource();
      const life = await live(store);
      const values = [name === "replay" ? "quick" : SLOW];
      const run = await life.host.start(pipeline, { id: "there", messages: { to: lines, values } });
      if (name === "replay") await run.completed();
      store.refuses = new StoreUnreachableError("lost", 1, known, undefined);
      const error = await operation({ ...life, run }).catch((thrown: unknown) => thrown);
      if (known === "nothing") expect(error).toBe(store.refuses);
      else {
        expect(error).toBeInstanceOf(ExecutionOutcomeUnknownError);
        expect(error).toMatchObject({ operation: name, executionId: id, cause: store.refuses });
      }
    }
  },
);

test.each(["pause", "resume", "cancel"] as const)(
  "%s: ends behind the time of its store, as unknown, and names the execution [Y425]",
  async (name) => {
    const clock = testClock();
    const store = new HeldSource();
    const system = new System({ report: false, environment: clock.environment });
    onTestFinished(() => void system.stop({ timeoutMs: 0 }));
    const host = await clock.until(system.start(pipelineHost({ pipelines: [pipeline], store })));
    const run = await clock.until(
      host.start(pipeline, { id: "there", messages: { to: lines, values: [SLOW] } }),
    );
    store.hold();
    let error: unknown = "no answer yet";
    run[name]().catch((thrown: unknown) => {
      error = thrown;
    });
    await clock.advance(30_000);
    expect(error).toBe("no answer yet");
    await clock.advance(5_000);
    expect(error).toBeInstanceOf(ExecutionOutcomeUnknownError);
    expect(error).toMatchObject({ operation: name, executionId: "there" });
    store.release();
  },
);

test("an operation waits longer for its answer than the store for its server [Y282]", async () => {
  const clock = testClock();
  const store = new HeldSource(60_000);
  const system = new System({ report: false, environment: clock.environment });
  onTestFinished(() => void system.stop({ timeoutMs: 0 }));
  const host = await clock.until(system.start(pipelineHost({ pipelines: [pipeline], store })));
  const run = await clock.until(host.start(pipeline, { messages: { to: lines, values: [SLOW] } }));
  store.hold();
  const cancelled = run.cancel();
  await clock.advance(60_000);
  store.release();
  expect(await clock.until(cancelled)).toBe(true);
});
