// Whoever has the answer of an operation may lose the machine at that instant: the next host finds its effect.

import { System } from "signalbox";
import { memory, type StoreSource } from "signalbox/store";
import { testClock } from "signalbox/testing";
import { expect, onTestFinished, test } from "vitest";
import { type AdminClient, adminClient } from "../../../lib/cli/shell/admin-client.js";
import { type PipelineHost, pipelineHost } from "../../../lib/pipeline/host.js";
import { ExecutionOutcomeUnknownError } from "../../../lib/pipeline/operations/errors.js";
import { remoteOperations } from "../../../lib/pipeline/operations/operations-table.js";
import { StoreUnreachableError } from "../../../lib/store/postgres/errors.js";
import { folderWith } from "../../cli/pipelines/support.js";
import { drilled } from "../../support/drilled.js";
import { HeldSource, RefusingSource } from "../../support/held-store.js";
import { macrotask } from "../../support/host.js";
import { LossySource } from "../../support/lossy-store.js";
import { type Life, lines, PIPELINE_DRILLS, pipeline, SLOW } from "./answer-drills.js";

test.each(PIPELINE_DRILLS)("%s is durable when it is answered [Y280]", async (_name, drill) => {
  for (const shared of [false, true]) await drilled(drill, new LossySource(memory({ shared })));
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

test.each(["pause", "resume", "cancel"] as const)(
  "%s over the socket: ends behind the time of its store, as unknown, as at the handle [Z694]",
  async (name) => {
    const clock = testClock();
    const store = new HeldSource();
    const system = new System({ report: false, environment: clock.environment });
    onTestFinished(() => void system.stop({ timeoutMs: 0 }));
    const socket = folderWith()("sock");
    const host = await clock.until(system.start(pipelineHost({ pipelines: [pipeline], store, socket })));
    await clock.until(host.start(pipeline, { id: "there", messages: { to: lines, values: [SLOW] } }));
    const client = await adminClient(socket);
    onTestFinished(() => client?.close());
    store.hold();
    let error: unknown = "no answer yet";
    const asked = remoteOperations((client as AdminClient).ask)
      [name]("there")
      .catch((thrown: unknown) => {
        error = thrown;
      });
    while (store.waiting === 0) await macrotask();
    await clock.advance(30_000);
    await macrotask();
    expect(error).toBe("no answer yet");
    await clock.advance(5_000);
    await asked;
    expect(error).toMatchObject({ remote: { code: "ERR_PIPELINE_OUTCOME_UNKNOWN" } });
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
