// Options of a pipeline host, checked once.

import type { PayloadOptions } from "../../flow/payload/payloads.js";
import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { delay, text, withMethod } from "../../process/options.js";
import type { StoreSource } from "../../store/index.js";
import type { AnyPipeline } from "../definition/pipeline.js";
import { type PipelinePlan, planOf } from "./plan.js";

/** Options of {@link pipelineHost}. */
export interface PipelineHostOptions {
  /** The pipelines that this host can run. */
  readonly pipelines: readonly AnyPipeline[];
  /**
   * Where executions live: `sqlite("jobs.db")` or `memory()`. A store that several processes share is refused. Without a store they live
   * in memory alone, without lineage, and end with the host: the fastest way.
   */
  readonly store?: StoreSource;
  /** The registered name of the host's process. Default: none. */
  readonly name?: string;
  /** Who the host is, for people who look at the store. Default: an id that no other host has. */
  readonly hostId?: string;
  /** How values are stored: codecs, classes of errors, sizes. */
  readonly payloads?: PayloadOptions;
  /** How many milliseconds workers have to end what they have at hand when the host stops. Default 5,000. */
  readonly drainMs?: number;
}

/** How long workers have to end what they have at hand, unless a host says otherwise. */
const DRAIN_MS = 5_000;

/** Options of a host, checked. */
export interface PipelineHostSettings {
  readonly plans: ReadonlyMap<string, PipelinePlan>;
  readonly store: StoreSource | undefined;
  readonly name: string | undefined;
  readonly hostId: string | undefined;
  readonly payloads: PayloadOptions;
  readonly drainMs: number;
}

/** @throws OptionError */
export function checkHost(options: PipelineHostOptions): PipelineHostSettings {
  only("", options, ["pipelines", "store", "name", "hostId", "payloads", "drainMs"]);
  const { pipelines, store, name, hostId, payloads = {}, drainMs = DRAIN_MS } = options;
  if (!Array.isArray(pipelines)) throw new OptionError("pipelines", pipelines, "a list of pipelines");
  const plans = new Map<string, PipelinePlan>();
  for (const [i, pipeline] of (pipelines as readonly AnyPipeline[]).entries()) {
    if (typeof pipeline?.options !== "object")
      throw new OptionError(`pipelines[${i}]`, pipeline, "what definePipeline returns");
    if (plans.has(pipeline.name))
      throw new OptionError(
        `pipelines[${i}]`,
        pipeline.name,
        "a name that no other pipeline of the host has",
      );
    plans.set(pipeline.name, planOf(pipeline));
  }
  return {
    plans,
    store:
      store === undefined
        ? undefined
        : withMethod("store", store, "open", 'a store such as sqlite("jobs.db") or memory(), or none'),
    name: name === undefined ? undefined : text("name", name),
    hostId: hostId === undefined ? undefined : text("hostId", hostId),
    payloads,
    drainMs: delay("drainMs", drainMs, 0),
  };
}
