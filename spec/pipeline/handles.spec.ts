// Handles of pipeline hosts outlive the process of their host: operations go on with the next one.

import { type Pid, System, supervisor } from "signalbox";
import { definePipeline, HostGoneError, pipelineHost, queue, route } from "signalbox/pipeline";
import { memory } from "signalbox/store";
import { expect, onTestFinished, test } from "vitest";
import { HOST_CLAIMS } from "../../lib/pipeline/ledger/tables.js";
import { type TestClock, testClock } from "../../lib/testing/kit/clock.js";
import { CLAIM_LOST, OpenedSource } from "../support/opened-store.js";

const numbers = queue<number>("numbers");
/** The default lease of stores. */
const LEASE_MS = 15_000;

/** Messages wait here until the test lets them pass. */
function gated() {
  let open!: () => void;
  const gate = new Promise<void>((go) => {
    open = go;
  });
  const work = route("work", { from: numbers }).via("wait", async () => void (await gate));
  return { open, pipeline: definePipeline("gated", { routes: [work] }) };
}

/** A host under a supervisor with the default intensity. */
async function supervised(clock?: TestClock) {
  const system = new System({
    report: false,
    ...(clock === undefined ? {} : { environment: clock.environment }),
  });
  onTestFinished(() => system.stop());
  const { open, pipeline } = gated();
  const source = new OpenedSource(memory({ shared: true }));
  const definition = pipelineHost({ store: source, pipelines: [pipeline], name: "pipelines", drainMs: 10 });
  const tree = await system.start(
    supervisor({ strategy: "one_for_one", children: [{ id: "pipelines", start: definition }] }),
  );
  const pid = system.whereis("pipelines") as Pid<never>;
  return { system, source, tree, pid, open, pipeline, host: definition.at(system, pid) };
}

const messages = { to: numbers, values: [1, 2, 3] };
const errorOf = (promise: Promise<unknown>): Promise<unknown> => promise.catch((thrown: unknown) => thrown);

test("completed() goes on with the next host when its host has lost its claim [Y360]", async () => {
  const { source, open, host, pipeline } = await supervised();
  const run = await host.start(pipeline, { messages });
  const completed = run.completed();
  await source.revoke(HOST_CLAIMS);
  open();
  expect(await completed).toMatchObject({ status: "completed", done: 3, dead: 0 });
  expect(await run.status()).toMatchObject({ status: "completed" });
});

test("a supervisor with the default intensity starts a host again that has lost its claim [Y361]", async () => {
  const clock = testClock();
  const { source, open, host, pipeline, tree } = await supervised(clock);
  open();
  for (let i = 0; i < 3; i++) {
    await source.revoke(HOST_CLAIMS);
    const run = await host.start(pipeline, { messages });
    expect(await run.completed()).toMatchObject({ done: 3 });
    // A host holds its claim for its lease at least, which is longer than the period of the supervisor.
    await clock.advance(LEASE_MS);
  }
  expect(tree.pid.process).toBeDefined();
});

test("a start whose host was killed before its answer is asked again, and has attached to none [Y360]", async () => {
  const { source, open, host, pipeline, system, pid } = await supervised();
  open();
  source.before = async (commit) => {
    source.before = undefined;
    const done = await commit();
    system.exit(pid, "kill");
    return done;
  };
  const run = await host.start(pipeline, { id: "once", messages });
  expect(run.attached).toBe(false);
  expect(await run.completed()).toMatchObject({ inputs: 3, done: 3 });
  expect((await host.start(pipeline, { id: "once", messages })).attached).toBe(true);
});

test("a pause that its host had begun with is not asked twice [Y360]", async () => {
  const { source, host, pipeline, system, pid } = await supervised();
  const run = await host.start(pipeline, { messages });
  source.before = (commit, { writes }) => {
    // The host may write other things of the execution before.
    if (!JSON.stringify(writes).includes("paused")) return commit();
    source.before = undefined;
    system.exit(pid, "kill");
    return commit();
  };
  expect(await errorOf(run.pause())).toMatchObject({
    code: "ERR_PIPELINE_OUTCOME_UNKNOWN",
    executionId: run.id,
    cause: { code: "ERR_CALLEE_EXITED", request: "taken" },
  });
});

test("completed() says `claim lost` when no host comes back [Y362]", async () => {
  const clock = testClock();
  const system = new System({ environment: clock.environment, report: false });
  onTestFinished(() => system.stop());
  const { pipeline } = gated();
  const source = new OpenedSource(memory({ shared: true }));
  const host = await system.start(pipelineHost({ store: source, pipelines: [pipeline], drainMs: 10 }));
  const run = await host.start(pipeline, { messages });
  const completed = errorOf(run.completed());
  await source.revoke(HOST_CLAIMS);
  await clock.advance(60_000);
  const error = await completed;
  expect(error).toBeInstanceOf(HostGoneError);
  expect(error).toMatchObject(CLAIM_LOST);
});

test("a host without a store has no host after it: its executions have ended with it [Y362]", async () => {
  const system = new System({ report: false });
  onTestFinished(() => system.stop());
  const { pipeline } = gated();
  const host = await system.start(pipelineHost({ pipelines: [pipeline], drainMs: 10 }));
  const run = await host.start(pipeline, { messages });
  const completed = errorOf(run.completed());
  await host.stop();
  expect(await completed).toMatchObject({ code: "ERR_CALLEE_EXITED" });
});

/** A host with dead letters, and the ids of the first ones that are read of them before something happens to the host. */
async function withDead(happens: (of: { system: System; pid: Pid<never> }) => void, limit?: number) {
  const system = new System({ report: false });
  onTestFinished(() => system.stop());
  const fails = route("fails", { from: numbers, retry: { attempts: 1 } }).via("fails", () => {
    throw new Error("no");
  });
  const pipeline = definePipeline("dead", { routes: [fails] });
  const definition = pipelineHost({
    store: memory({ shared: true }),
    pipelines: [pipeline],
    name: "pipelines",
  });
  await system.start(
    supervisor({ strategy: "one_for_one", children: [{ id: "pipelines", start: definition }] }),
  );
  const pid = system.whereis("pipelines") as Pid<never>;
  const values = Array.from({ length: 1_200 }, (_, i) => i);
  const run = await definition.at(system, pid).start(pipeline, { messages: { to: numbers, values } });
  await run.completed();
  const seen: string[] = [];
  for await (const { id } of run.deadLetters(limit === undefined ? {} : { limit })) {
    if (seen.push(id) === 10) happens({ system, pid });
  }
  return { seen, count: values.length };
}

test.each([undefined, 700])(
  "dead letters are read to their end when the host ends in the middle, up to %s [Y583]",
  async (limit) => {
    const { seen, count } = await withDead(({ system, pid }) => system.exit(pid, "kill"), limit);
    expect(seen).toHaveLength(limit ?? count);
    expect(new Set(seen).size).toBe(seen.length);
  },
);
