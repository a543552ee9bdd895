// A pipeline of YAML runs as one of TypeScript does, and leaves no secret in the store.

import { System } from "signalbox";
import { memory, openStore } from "signalbox/store";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { many } from "../../../lib/pipeline/definition/adapter.js";
import { pipelineHost } from "../../../lib/pipeline/host.js";
import { executions, PIPELINE_SCHEMA } from "../../../lib/pipeline/ledger/tables.js";
import { parsePipeline } from "../../../lib/pipeline/yaml/parse.js";
import { adapterType, pipelineRegistry } from "../../../lib/pipeline/yaml/registry.js";

const TEXT = `
version: 1
name: loud
sources:
  lines: { type: messages, to: lines, config: { values: ["a b", "c d e"] } }
routes:
  split:
    from: lines
    concurrency: $\{WORKERS}
    adapters: [{ type: split }]
    to: [{ queue: words, when: { field: "", operator: ne, value: c } }]
  collect:
    from: words
    adapters: [{ type: collect, config: { token: "$\{TOKEN}" } }]
`;

test("a pipeline of YAML runs to its end, and the store keeps its configuration without secrets [Y79]", async () => {
  const heard: string[] = [];
  const registry = pipelineRegistry({
    adapters: [
      adapterType({
        type: "split",
        create: (_, { name }) => ({ name, process: (line: string) => many(line.split(" ")) }),
      }),
      adapterType({
        type: "collect",
        config: z.object({ token: z.string() }),
        create: ({ token }, { name }) => ({
          name,
          process: (word: string): undefined => {
            heard.push(`${token} ${word}`);
          },
        }),
      }),
    ],
  });
  const pipeline = await parsePipeline(TEXT, { registry, env: { WORKERS: "2", TOKEN: "s3cret-token" } });
  const system = new System({ report: false });
  onTestFinished(() => system.stop());
  const store = memory();
  const host = await system.start(pipelineHost({ store, pipelines: [pipeline], drainMs: 10 }));
  const run = await host.start(pipeline, { id: "monday" });
  expect(await run.completed()).toMatchObject({ done: 6, dead: 0 });
  expect(heard.sort()).toEqual(["a", "b", "d", "e"].map((word) => `s3cret-token ${word}`));

  const reader = await openStore(system, store, [PIPELINE_SCHEMA]);
  const [row] = await reader.scan(executions, {});
  const kept = String(typeof row?.config === "string" ? row.config : Buffer.from(row?.config as Uint8Array));
  expect(kept).not.toContain("s3cret");
  expect(kept).toContain(`$\{TOKEN}`);
  expect(kept).toContain(`$\{WORKERS}`);
  await reader.close();
});
