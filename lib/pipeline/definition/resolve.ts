// The policies of a pipeline and its routes as they are in force. definePipeline has checked them.

import { OptionError } from "../../process/errors.js";
import type { AnyPipeline } from "./pipeline.js";
import { PIPELINE_DEFAULTS, type PipelinePolicy, policyOf, type RoutePolicy } from "./policy.js";
import type { AnyRoute } from "./route.js";

/** The limits of a pipeline. */
export function pipelinePolicy({ options }: AnyPipeline): PipelinePolicy {
  const { inFlight, maxHops, maxMessageBytes } = PIPELINE_DEFAULTS.pipeline;
  return {
    inFlight: options.inFlight ?? inFlight,
    maxHops: options.maxHops ?? maxHops,
    maxMessageBytes: options.maxMessageBytes ?? maxMessageBytes,
  };
}

/** The policy of a route: its own, else that of its pipeline, else the default. */
export function routePolicy({ options: { defaults } }: AnyPipeline, route: AnyRoute): RoutePolicy {
  return policyOf(defaults, route.options);
}

/** The limits of a batch, with their defaults. */
export interface BatchSettings {
  readonly size: number;
  /** Infinity: no limit. */
  readonly bytes: number;
  readonly everyMs: number;
  readonly byKey: boolean;
}

/** A batch that is not full is processed this many milliseconds after its first message. */
const BATCH_EVERY_MS = 5_000;

/** The batch adapter of a route, if it has one. @throws OptionError where there are two */
export function batchOf(
  route: AnyRoute,
): { readonly at: number; readonly settings: BatchSettings } | undefined {
  const found = route.stages.flatMap(({ adapter }, at) =>
    "processBatch" in adapter ? [{ adapter, at }] : [],
  );
  const [first, second] = found;
  if (first === undefined) return undefined;
  const path = `routes.${route.name}.adapters`;
  if (second !== undefined)
    throw new OptionError(
      `${path}[${second.at}]`,
      second.adapter.name,
      `no second batch in a route: let the route end behind ${first.adapter.name}, and begin another one with this adapter`,
    );
  const { size, bytes, everyMs, byKey } = first.adapter.batch;
  return {
    at: first.at,
    settings: {
      size,
      bytes: bytes ?? Number.POSITIVE_INFINITY,
      everyMs: everyMs ?? BATCH_EVERY_MS,
      byKey: byKey ?? false,
    },
  };
}
