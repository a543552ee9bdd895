// Hosts of a simulation that share a store.

import { supervisor } from "signalbox";
import {
  type CarrierSource,
  type PipelineDefinition,
  type PipelineHost,
  pipelineHost,
} from "signalbox/pipeline";
import type { StoreSource } from "signalbox/store";
import type { Simulation } from "signalbox/testing";

/** Starts a host of some pipelines on a system of its own, under a supervisor. */
export async function hostOn(
  sim: Simulation,
  name: string,
  store: StoreSource,
  pipelines: readonly PipelineDefinition<never>[],
  carrier?: CarrierSource,
): Promise<PipelineHost> {
  const system = sim.system({ name });
  const carried = carrier === undefined ? {} : { carrier };
  const host = pipelineHost({ store, pipelines, name: "pipelines", drainMs: 50, ...carried });
  await system.start(
    supervisor({ label: "root", intensity: 1_000, children: [{ id: "pipelines", start: host }] }),
  );
  return host.at(system, "pipelines");
}
