// The policies of a pipeline and its routes as they are in force, checked once.

import { checkBackoff } from "../../process/backoff.js";
import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count, delay } from "../../process/options.js";
import type { AnyPipeline } from "./pipeline.js";
import { PIPELINE_DEFAULTS, type PipelinePolicy, type RetryPolicy, type RoutePolicy } from "./policy.js";
import type { AnyRoute } from "./route.js";

const POLICIES = Object.keys(PIPELINE_DEFAULTS.route);

/** The limits of a pipeline. @throws OptionError */
export function pipelinePolicy({ options }: AnyPipeline): PipelinePolicy {
  const { pipeline } = PIPELINE_DEFAULTS;
  const { inFlight, maxHops, maxMessageBytes } = options;
  return {
    inFlight: count("inFlight", inFlight ?? pipeline.inFlight, 1),
    maxHops: count("maxHops", maxHops ?? pipeline.maxHops, 1),
    maxMessageBytes: count("maxMessageBytes", maxMessageBytes ?? pipeline.maxMessageBytes, 1),
  };
}

/** The policy of a route: its own, else that of its pipeline, else the default. @throws OptionError */
export function routePolicy({ options: { defaults = {} } }: AnyPipeline, route: AnyRoute): RoutePolicy {
  only("defaults", defaults, POLICIES);
  const path = `routes.${route.name}`;
  only(path, route.options, ["from", "description", "firstMatch", ...POLICIES]);
  const own = defined(route.options);
  const merged = { ...PIPELINE_DEFAULTS.route, ...defined(defaults), ...own };
  for (const name of ["concurrency", "prefetch", "highWaterMark", "fanOut"] as const)
    count(`${path}.${name}`, merged[name], 1);
  delay(`${path}.timeoutMs`, merged.timeoutMs, 1, true);
  return { ...merged, retry: retryPolicy(`${path}.retry`, defaults.retry, own.retry) };
}

function retryPolicy(
  path: string,
  inherited: Partial<RetryPolicy> | undefined,
  own: Partial<RetryPolicy> | undefined,
): RetryPolicy {
  for (const given of [inherited, own]) if (given !== undefined) only(path, given, ["attempts", "backoff"]);
  const merged = { ...PIPELINE_DEFAULTS.route.retry, ...defined(inherited), ...defined(own) };
  count(`${path}.attempts`, merged.attempts, 1);
  checkBackoff(`${path}.backoff`, merged.backoff);
  return merged;
}

/** Without what is undefined, so that a spread lets defaults stand. */
function defined<T extends object>(given: T | undefined): Partial<T> {
  return Object.fromEntries(
    Object.entries(given ?? {}).filter(([, value]) => value !== undefined),
  ) as Partial<T>;
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
  const at = `${path}[${first.at}].batch`;
  const { size, bytes, everyMs, byKey } = first.adapter.batch;
  return {
    at: first.at,
    settings: {
      size: count(`${at}.size`, size, 1),
      bytes: count(`${at}.bytes`, bytes ?? Number.POSITIVE_INFINITY, 1, true),
      everyMs: delay(`${at}.everyMs`, everyMs ?? BATCH_EVERY_MS, 1),
      byKey: byKey ?? false,
    },
  };
}
