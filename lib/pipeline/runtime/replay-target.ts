// A pipeline as executions freeze it, and as replays need it.

import type { Payloads } from "../../host/payload/payloads.js";
import type { PipelineDefinition } from "../definition/pipeline.js";
import type { ReplayTarget } from "../replay/begin.js";
import type { PipelinePlan } from "./plan.js";

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
