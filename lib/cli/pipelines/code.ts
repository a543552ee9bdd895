// The module that `--code` names: the pipelines that it exports, `registry` with the types that files can name, and `payloads`, the options of
// their values.

import type { PayloadOptions } from "../../host/payload/payloads.js";
import type { AnyPipeline } from "../../pipeline/definition/pipeline.js";
import { type PipelineRegistry, pipelineRegistry } from "../../pipeline/yaml/registry.js";
import { shippedAdapters, shippedSources } from "../../pipeline/yaml/shipped-types.js";
import { exportsOf, lacks, loadModule, payloadOptions, unusable } from "../shell/module.js";

/** The exports of a module that are about pipelines. */
export interface Code {
  readonly pipelines: readonly AnyPipeline[];
  readonly registry: PipelineRegistry;
  readonly payloads: PayloadOptions;
}

/** The types that come with the library. */
const shipped = (): PipelineRegistry =>
  pipelineRegistry({ adapters: shippedAdapters, sources: shippedSources });

/** The code without a module. */
export function noCode(): Code {
  return { pipelines: [], registry: shipped(), payloads: {} };
}

/** Loads a module. It must export pipelines, alone or in lists, `registry` or `payloads`. @throws Misuse */
export async function codeOf(module: string, load: (module: string) => Promise<object>): Promise<Code> {
  const exports = await loadModule(module, `pipelines … --code ${module}`, load);
  const pipelines = exportsOf(exports, isPipeline);
  const { registry, payloads } = exports;
  if (pipelines.length === 0 && registry === undefined && payloads === undefined)
    throw lacks(module, "no pipeline, no registry and no payloads", exports);
  if (registry !== undefined && !isRegistry(registry))
    throw unusable(module, "registry must be made by pipelineRegistry()");
  return { pipelines, registry: registry ?? shipped(), payloads: payloadOptions(module, exports) };
}

function isPipeline(value: unknown): value is AnyPipeline {
  const { name, options } = (value ?? {}) as Partial<AnyPipeline>;
  return typeof name === "string" && Array.isArray(options?.routes);
}

function isRegistry(value: unknown): value is PipelineRegistry {
  const { adapters, sources } = (value ?? {}) as Partial<PipelineRegistry>;
  return adapters instanceof Map && sources instanceof Map;
}
