// Executions whose pipeline was changed under them: what is missing is told once, stands in lists, and nothing waits without a word.

import { memory } from "signalbox/store";
import { expect, test } from "vitest";
import { missingParts, partsOf } from "../../lib/pipeline/definition/missing.js";
import {
  type AnyPipeline,
  definePipeline,
  type PipelineDefinition,
} from "../../lib/pipeline/definition/pipeline.js";
import { inStore, runCommand } from "../cli/pipelines/support.js";
import { until } from "../support/until.js";
import { begun, CHANGES, Life, lines, takes, whole, words } from "./operations/change-support.js";

test.each(CHANGES)(
  "%s is reported once, and shown with the execution [Y300]",
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
    await until(async () => (await mended.host.operations.status("x")).stranded === undefined);
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

test("a pipeline of another host of the store is not missing", async () => {
  const store = memory();
  const other = definePipeline("other", { routes: [takes(words)] });
  const first = await Life.of(store, whole);
  await first.host.start(whole as PipelineDefinition<unknown>, {
    id: "x",
    messages: { to: lines, values: ["a"] },
  });
  const second = await Life.of(store, other);
  await second.host.operations.status("x");
  await second.system.idle();
  expect(second.told).toEqual([]);
});

test("an execution can end with every definition that has its queues and sources", () => {
  const parts = partsOf(CHANGES[3]?.[1] as AnyPipeline);
  const work = { pipeline: "text", version: 1, queues: ["lines", "words"], sources: ["old"] };
  expect(missingParts(work, parts)).toEqual([]);
  expect(missingParts({ ...work, queues: [], sources: [] }, partsOf(whole))).toEqual([]);
});
