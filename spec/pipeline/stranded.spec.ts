// Executions whose pipeline was changed under them: what is missing is told once, stands in lists, and nothing waits without a word.

import { System } from "signalbox";
import { memory, type StoreSource } from "signalbox/store";
import { expect, onTestFinished, test } from "vitest";
import { type MissingPart, missingParts, partsOf } from "../../lib/pipeline/definition/missing.js";
import {
  type AnyPipeline,
  definePipeline,
  feed,
  type PipelineDefinition,
} from "../../lib/pipeline/definition/pipeline.js";
import { type Queue, queue } from "../../lib/pipeline/definition/queue.js";
import { route } from "../../lib/pipeline/definition/route.js";
import { type PipelineHost, pipelineHost } from "../../lib/pipeline/host.js";
import type { StrandedExecution } from "../../lib/pipeline/runtime/stranded.js";
import { inStore, runCommand } from "../cli/pipelines/support.js";

const lines = queue<string>("lines");
const words = queue<string>("words");
const never = new Promise<undefined>(() => undefined);

/** Splits lines into words, which nobody ever works to their end. */
const split = route("split", { from: lines })
  .via("split", (line) => line)
  .to(words);
const takes = (from: Queue<string>) => route(`take-${from.name}`, { from }).via("wait", () => never);
const whole = definePipeline("text", { routes: [split, takes(words)] });
/** Opened once, and open for ever. */
const endless = (name: string) => ({
  name,
  async *open(): AsyncGenerator<{ value: string; checkpoint: number }> {
    yield { value: "a", checkpoint: 1 };
    await never;
  },
});
const fed = (name: string) =>
  definePipeline("text", { routes: [split, takes(words)], sources: [feed(endless(name), lines)] });

class Life {
  readonly system = new System({ report: false });
  readonly told: StrandedExecution[] = [];
  host!: PipelineHost;

  static async of(store: StoreSource, ...pipelines: AnyPipeline[]): Promise<Life> {
    const life = new Life();
    onTestFinished(() => life.system.stop());
    life.system.events.on("executionStranded", ({ execution, pipeline, missing }) =>
      life.told.push({ execution, pipeline, missing }),
    );
    life.host = await life.system.start(pipelineHost({ store, pipelines, drainMs: 0 }));
    return life;
  }

  /** Until the host has told something. */
  async hears(): Promise<void> {
    if (this.told.length === 0)
      await new Promise<void>((heard) => void this.system.events.once("executionStranded", () => heard()));
  }
}

/** The execution `x` of a pipeline, whose message is in the queue of words by the time at which the host stops. */
async function begun(store: StoreSource, pipeline: AnyPipeline): Promise<void> {
  const { host, system } = await Life.of(store, pipeline);
  const first = pipeline.options.sources === undefined ? { messages: { to: lines, values: ["a"] } } : {};
  await host.start(pipeline as PipelineDefinition<unknown>, { id: "x", ...first });
  for (;;) {
    const { queues } = await host.operations.inspect("x");
    if (queues.some(({ queue: name, ready }) => name === "words" && ready === 1)) break;
    await system.idle();
    await new Promise((go) => setImmediate(go));
  }
  await system.stop();
}

const CHANGES: readonly [string, AnyPipeline, AnyPipeline, readonly MissingPart[]][] = [
  [
    "a route that was removed",
    whole,
    definePipeline("text", { routes: [route("split", { from: lines }).via("split", (line) => line)] }),
    [{ part: "queue", name: "words" }],
  ],
  [
    "a queue that was renamed",
    whole,
    definePipeline("text", { routes: [takes(queue<string>("terms"))] }),
    [{ part: "queue", name: "words" }],
  ],
  [
    "a pipeline that was renamed",
    whole,
    definePipeline("texts", { routes: [split, takes(words)] }),
    [{ part: "pipeline", name: "text" }],
  ],
  ["an open source that was renamed", fed("old"), fed("new"), [{ part: "source", name: "old" }]],
];

test.each(CHANGES)(
  "%s is told once, and shown with the execution [Y300]",
  async (_, before, after, missing) => {
    const store = memory();
    await begun(store, before);
    const changed = await Life.of(store, after);
    await changed.hears();
    expect(changed.told).toEqual([{ execution: "x", pipeline: "text", missing }]);
    const { stranded, status } = await changed.host.operations.status("x");
    expect({ stranded, status }).toEqual({ stranded: missing, status: "running" });
    await changed.system.stop();

    const command = await inStore(store);
    const list = await runCommand(["list", "--store", "jobs.db"], command);
    expect(list.printed).toMatch(/x +text +running, stranded/);
    const shown = await runCommand(["get", "x", "--store", "jobs.db"], command);
    expect(shown.printed).toContain(`"${missing[0]?.name}"`);

    const again = await Life.of(store, after);
    await again.host.operations.status("x");
    await again.system.idle();
    expect(again.told).toEqual([]);
    await again.system.stop();

    // Whoever has what is missing takes the mark away.
    const mended = await Life.of(store, before);
    while ((await mended.host.operations.status("x")).stranded !== undefined)
      await new Promise((go) => setImmediate(go));
    await mended.system.stop();
  },
);

test.each(CHANGES)(
  "%s is found by `check` before it is deployed [Y301]",
  async (_, before, after, missing) => {
    const store = memory();
    await begun(store, before);
    const command = await inStore(store);
    const check = (code: AnyPipeline, ...more: string[]) =>
      runCommand(["check", "--store", "jobs.db", "--code", "./new.js", ...more], {
        ...command,
        load: async () => ({ code }),
      });
    expect(await check(before)).toMatchObject({ code: 0, printed: "1 executions in flight, 0 cannot end" });
    const found = await check(after);
    expect(found.code).toBe(1);
    expect(found.printed).toMatch(/^x \(text\): .*\n1 executions in flight, 1 cannot end$/);
    expect(JSON.parse((await check(after, "--json")).printed)).toEqual({
      executions: [{ id: "x", pipeline: "text", missing }],
      checked: 1,
      problems: 1,
    });
  },
);

test("a pipeline that another host of the store has is not missing", async () => {
  const store = memory();
  const other = definePipeline("other", { routes: [takes(words)] });
  const first = await Life.of(store, whole);
  await first.host.start(whole, { id: "x", messages: { to: lines, values: ["a"] } });
  const second = await Life.of(store, other);
  await second.host.operations.status("x");
  await second.system.idle();
  expect(second.told).toEqual([]);
});

test("an execution can end with every definition that has its queues and sources", () => {
  const parts = partsOf(fed("old"));
  const work = { pipeline: "text", queues: ["lines", "words"], sources: ["old"] };
  expect(missingParts(work, parts)).toEqual([]);
  expect(missingParts({ ...work, queues: [], sources: [] }, partsOf(whole))).toEqual([]);
});
