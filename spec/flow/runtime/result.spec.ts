// `result()` reads nothing of a flow that runs here: it is told when the flow leaves memory. No end may pass it by.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { defineFlow, flowHost } from "../../../lib/flow/index.js";
import { System } from "../../../lib/index.js";
import { memory, type StoreSource, sqlite } from "../../../lib/store/index.js";

const quick = defineFlow("quick", async (flow, n: number) => flow.step("double", () => n * 2));
const turning = defineFlow("turning", async (flow, n: number): Promise<number> => {
  const less = await flow.step("less", () => n - 1);
  return less === 0 ? 7 : flow.continueAsNew(less);
});

const folder = mkdtempSync(join(tmpdir(), "signalbox-result-"));

test.each<[string, () => StoreSource, number]>([
  ["memory", memory, 80],
  ["sqlite", () => sqlite(join(folder, "flows.db")), 30],
])("a result comes whenever it is asked for, on %s", async (_, store, most) => {
  const system = new System({ report: false });
  const host = await system.start(flowHost({ store: store(), flows: [quick, turning] }));
  // The ask falls into every stage of the end: before the last write, between it and the end of the process, behind that.
  const after = async (turns: number, how: () => Promise<void>): Promise<number> => {
    const run = await host.start(quick, turns);
    for (let i = 0; i < turns; i++) await how();
    return (await run.result({ timeoutMs: 20_000 })) + (await host.get<number>(run.id).result());
  };
  const microtask = (): Promise<void> => Promise.resolve();
  const turn = (): Promise<void> => new Promise((go) => setImmediate(go));
  for (let i = 0; i < most; i++) expect(await after(i, microtask)).toBe(i * 4);
  for (let i = 0; i < most / 2; i++) expect(await after(i, turn)).toBe(i * 4);
  const all = Array.from({ length: most }, (_one, i) => after(i, microtask));
  expect(await Promise.all(all)).toEqual(all.map((_one, i) => i * 4));
  await expect((await host.start(turning, 3)).result()).resolves.toBe(7);
  await system.stop();
});

afterAll(() => rmSync(folder, { recursive: true }));
