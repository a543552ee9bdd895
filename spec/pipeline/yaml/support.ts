// A registry for the tests of files, and what a file's faults are.

import { expect } from "vitest";
import * as z from "zod";
import type { PipelineDefinition } from "../../../lib/pipeline/definition/pipeline.js";
import { type FileFault, PipelineFileError } from "../../../lib/pipeline/yaml/errors.js";
import { type ParseOptions, parsePipeline } from "../../../lib/pipeline/yaml/parse.js";
import {
  adapterType,
  type PipelineRegistry,
  pipelineRegistry,
  sourceType,
} from "../../../lib/pipeline/yaml/registry.js";

const shout = adapterType({
  type: "shout",
  create: (_, { name }) => ({ name, process: (text: string) => text.toUpperCase() }),
});

const post = adapterType({
  type: "post",
  description: "Posts each message.",
  config: z.strictObject({
    url: z.url(),
    tries: z.number().int().min(1).default(3),
    token: z.string().optional(),
    headers: z.record(z.string(), z.string()).optional(),
  }),
  create: (config) => ({ name: "post", process: (value: unknown) => ({ value, config }) }),
});

const sum = adapterType({
  type: "sum",
  config: z.strictObject({ size: z.number(), everyMs: z.number().optional() }),
  create: ({ size, everyMs }, { name }) => ({
    name,
    batch: { size, ...(everyMs === undefined ? {} : { everyMs }) },
    processBatch: (values: readonly number[]) => [values.reduce((a, b) => a + b, 0)],
  }),
});

const anything = adapterType({
  type: "anything",
  config: z.unknown(),
  create: (config, { name }) => ({ name, process: () => config }),
});

const files = sourceType({
  type: "files",
  config: z.object({ path: z.string() }),
  create: ({ path }, { name }) => ({ name, open: () => [{ value: path, checkpoint: 1 }] }),
});

export const registry: PipelineRegistry = pipelineRegistry({
  adapters: [shout, post, sum, anything],
  sources: [files],
});

export const FILE = "shop.yaml";

export function parse(text: string, more: ParseOptions = {}): Promise<PipelineDefinition> {
  return parsePipeline(text, { file: FILE, registry, ...more });
}

/** The faults of a file; fails the test if it has none, or if the parser throws anything else. */
export async function faultsOf(text: string, more: ParseOptions = {}): Promise<readonly FileFault[]> {
  const error = await parse(text, more).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(PipelineFileError);
  return (error as PipelineFileError).faults;
}

/** Each fault as one line. */
export async function linesOf(text: string, more: ParseOptions = {}): Promise<string[]> {
  return (await faultsOf(text, more)).map(
    ({ line, column, path, found, allowed, suggestion }) =>
      `${line}:${column} ${path}: ${allowed} <- ${found}${suggestion === undefined ? "" : ` (${suggestion}?)`}`,
  );
}

/** A whole file around some lines of a route's adapter's configuration. */
export const withConfig = (config: string): string =>
  `version: 1\nname: shop\nroutes:\n  a:\n    from: a\n    adapters:\n      - type: anything\n        config: ${config}\n`;

/** What the adapter `anything` of such a file was made with. */
export async function configOf(text: string, more: ParseOptions = {}): Promise<unknown> {
  const { options } = await parse(text, more);
  const adapter = options.routes[0]?.stages[0]?.adapter as unknown as { process(): unknown };
  return adapter.process();
}
