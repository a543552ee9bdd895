// A pipeline as its executions run it: policies resolved, conditions checked, adapters cut into segments.

import type { Payloads } from "../../host/payload/payloads.js";
import { OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { checkBreaker } from "../../service/protection/breaker-options.js";
import type { BatchAdapter } from "../definition/adapter.js";
import { testOf } from "../definition/condition.js";
import { type RouteOrder, routeOrder } from "../definition/flow-order.js";
import { perKernel } from "../definition/per-kernel.js";
import type { AnyPipeline, PipelineDefinition } from "../definition/pipeline.js";
import { PIPELINE_DEFAULTS, type PipelinePolicy, type RoutePolicy } from "../definition/policy.js";
import { type BatchSettings, batchOf, pipelinePolicy, routePolicy } from "../definition/resolve.js";
import type { AnyRoute } from "../definition/route.js";
import type { Source } from "../definition/source.js";
import type { ReplayTarget } from "../operations/begin-replay.js";
import { type Segment, segmentOf } from "./attempt.js";
import { RouteBreakers } from "./breakers.js";
import type { Rules } from "./verdict.js";

/** A route, ready to run. */
export interface RoutePlan {
  readonly name: string;
  /** The queue that it takes from. */
  readonly queue: string;
  readonly policy: RoutePolicy;
  readonly rules: Rules;
  /** The circuit breakers of its adapters, if it has any. */
  readonly breakers: ((kernel: Kernel) => RouteBreakers) | undefined;
  /** All adapters, to open and close. */
  readonly adapters: AnyRoute["stages"];
  /** The adapters, up to a batch. */
  readonly segment: Segment;
  readonly batch: BatchPlan | undefined;
  /** The queues whose marks it watches: not those by which it closes a circle, which would wait for itself. */
  readonly watched: readonly string[];
}

/** The batch of a route, and what comes behind it. */
export interface BatchPlan {
  readonly adapter: BatchAdapter;
  readonly settings: BatchSettings;
  readonly rest: Segment;
}

/** A pipeline, ready to run. */
export interface PipelinePlan {
  readonly definition: AnyPipeline;
  readonly name: string;
  readonly version: number;
  readonly compatibleWith: readonly number[];
  readonly policy: PipelinePolicy;
  /** Upstream first. */
  readonly routes: readonly RoutePlan[];
  readonly sources: readonly SourcePlan[];
}

/** A source, ready to run. */
export interface SourcePlan {
  readonly source: Source<unknown, never>;
  /** Its number in the ids of its messages. */
  readonly number: number;
  readonly queue: string;
  readonly fanOut: number;
  readonly highWaterMark: number;
}

/** @throws OptionError */
export function planOf(definition: AnyPipeline): PipelinePlan {
  const policy = pipelinePolicy(definition);
  const order = routeOrder(definition);
  const { routes, sources = [] } = definition.options;
  const byName = new Map(routes.map((route) => [route.name, route]));
  const plans = order.upstreamFirst.map((name) =>
    routePlan(definition, byName.get(name) as AnyRoute, policy, order),
  );
  const { fanOut, highWaterMark } = { ...PIPELINE_DEFAULTS.route, ...definition.options.defaults };
  const feeds = sources.map(({ source, to }, number) => ({
    source,
    number,
    queue: to.name,
    fanOut,
    highWaterMark,
  }));
  const { name, version } = definition;
  const { compatibleWith = [] } = definition.options;
  return { definition, name, version, compatibleWith, policy, routes: plans, sources: feeds };
}

function routePlan(
  definition: AnyPipeline,
  route: AnyRoute,
  { maxHops }: PipelinePolicy,
  order: RouteOrder,
): RoutePlan {
  const { name, stages, outbound, options } = route;
  const policy = routePolicy(definition, route);
  const batch = batchOf(route);
  const exits = outbound.map(({ queue, when }) => ({
    queue: queue.name,
    test: when === undefined ? undefined : testOf("when", when),
  }));
  const stage = batch === undefined ? undefined : stages[batch.at];
  if (stage?.when !== undefined)
    throw new OptionError(
      `routes.${name}.adapters[${batch?.at}].when`,
      stage.when,
      "absent: a batch takes all messages of its route; send the others to another queue",
    );
  return {
    name,
    queue: options.from.name,
    policy,
    rules: { route: name, exits, firstMatch: options.firstMatch ?? false, retry: policy.retry, maxHops },
    breakers: breakersOf(definition.name, route, policy),
    adapters: stages,
    segment: segmentOf(stages.slice(0, batch?.at ?? stages.length)),
    batch:
      batch === undefined || stage === undefined
        ? undefined
        : {
            adapter: stage.adapter as BatchAdapter,
            settings: batch.settings,
            rest: segmentOf(stages.slice(batch.at + 1)),
          },
    watched: exits.map(({ queue }) => queue).filter((queue) => !order.isBackEdge(name, queue)),
  };
}

/** @throws OptionError */
function breakersOf(
  pipeline: string,
  { name, stages }: AnyRoute,
  policy: RoutePolicy,
): RoutePlan["breakers"] {
  const { breaker, timeoutMs } = policy;
  if (breaker === "none") return undefined;
  const adapters = new Map(
    stages.map(({ adapter }) => [
      adapter.name,
      checkBreaker({ ...breaker, label: `${pipeline}.${name}.${adapter.name}`, timeoutMs }),
    ]),
  );
  return perKernel(({ kernel }) => new RouteBreakers(kernel, adapters));
}

/** The pipeline as it is now, with the configuration that the new execution freezes. */
export async function replayTargetOf(plan: PipelinePlan, payloads: Payloads): Promise<ReplayTarget> {
  return {
    pipeline: plan.name,
    version: plan.version,
    sources: plan.sources.length,
    routes: plan.routes.map(({ name, queue }) => ({ name, queue })),
    maxMessageBytes: plan.policy.maxMessageBytes,
    config: await payloads.store(configOf(plan), "config"),
  };
}

/** The configuration of an execution at its start, for people: the definition's own, if it has one, as a file of YAML is. */
export function configOf({ definition, policy, routes, sources: feeds }: PipelinePlan): unknown {
  const { configuration } = (definition as PipelineDefinition).options;
  if (configuration !== undefined) return configuration;
  return {
    ...policy,
    routes: routes.map(({ name, queue, policy: of, adapters, rules }) => ({
      name,
      from: queue,
      policy: { ...of },
      adapters: adapters.map(({ adapter }) => adapter.name),
      to: rules.exits.map((exit) => exit.queue),
    })),
    sources: feeds.map(({ source, queue }) => ({ name: source.name, to: queue })),
  };
}
