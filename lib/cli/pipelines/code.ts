// The module that `--code` names: the pipelines that it exports, `registry` with the types that files can name, and `payloads`, the options of
// their values.

import type { PayloadOptions } from "../../flow/payload/payloads.js";
import type { AnyPipeline } from "../../pipeline/definition/pipeline.js";
import { shippedAdapters, shippedSources } from "../../pipeline/shipped/types.js";
import { type PipelineRegistry, pipelineRegistry } from "../../pipeline/yaml/registry.js";
import { Misuse } from "../shell/arguments.js";
import { notLoaded } from "../shell/not-loaded.js";

/** What a module says about pipelines. */
export interface Code {
  readonly pipelines: readonly AnyPipeline[];
  readonly registry: PipelineRegistry;
  readonly payloads: PayloadOptions;
}

/** The types that come with the library. */
const shipped = (): PipelineRegistry =>
  pipelineRegistry({ adapters: shippedAdapters, sources: shippedSources });

/** What there is without a module. */
export function noCode(): Code {
  return { pipelines: [], registry: shipped(), payloads: {} };
}

/** Loads a module. It must export pipelines, alone or in lists, `registry` or `payloads`. @throws Misuse */
export async function codeOf(module: string, load: (module: string) => Promise<object>): Promise<Code> {
  let exports: { readonly registry?: unknown; readonly payloads?: unknown };
  try {
    exports = await load(module);
  } catch (error) {
    throw new Misuse(notLoaded(module, error, `pipelines … --code ${module}`));
  }
  const values: readonly unknown[] = Object.values(exports).flat();
  const pipelines = [...new Set(values.filter(isPipeline))];
  const { registry = undefined, payloads = undefined } = exports;
  const unusable = (what: string): Misuse => new Misuse(`${module} cannot be used: ${what}`);
  if (pipelines.length === 0 && registry === undefined && payloads === undefined)
    throw new Misuse(
      `${module} exports no pipeline, no registry and no payloads, only: ${Object.keys(exports).join(", ") || "nothing"}`,
    );
  if (registry !== undefined && !isRegistry(registry))
    throw unusable("registry must be what pipelineRegistry returns");
  if (payloads !== undefined && (typeof payloads !== "object" || payloads === null))
    throw unusable("payloads must be an object of options");
  return { pipelines, registry: registry ?? shipped(), payloads: payloads ?? {} };
}

function isPipeline(value: unknown): value is AnyPipeline {
  const { name, options } = (value ?? {}) as Partial<AnyPipeline>;
  return typeof name === "string" && Array.isArray(options?.routes);
}

function isRegistry(value: unknown): value is PipelineRegistry {
  const { adapters, sources } = (value ?? {}) as Partial<PipelineRegistry>;
  return adapters instanceof Map && sources instanceof Map;
}
