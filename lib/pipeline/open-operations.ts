// Operations on the executions of a store, for programs.

import { evidenceBeside } from "../host/index.js";
import { type PayloadOptions, Payloads } from "../host/payload/payloads.js";
import { labelOf } from "../host/versions.js";
import { only } from "../process/known-options.js";
import { kernelOf, withMethod } from "../process/options.js";
import type { ProcessSystem } from "../process/system.js";
import type { StoreContext, StoreSource } from "../store/index.js";
import { storeContext } from "../store/open-store.js";
import type { AnyPipeline } from "./definition/pipeline.js";
import { PIPELINE_SCHEMA } from "./ledger/tables.js";
import { UnknownPipelineError } from "./operations/errors.js";
import type { PipelineOperations } from "./operations/operations.js";
import { type OperationsPort, StoreOperations } from "./operations/store-operations.js";
import { checkHost } from "./runtime/options.js";
import { replayTargetOf } from "./runtime/plan.js";

/** Operations with a handle of their own on a store. */
export interface OpenPipelineOperations extends PipelineOperations, AsyncDisposable {
  /** Closes the handle. The store stays open as long as others use it. */
  close(): Promise<void>;
}

/** Options of {@link openPipelineOperations}. */
export interface PipelineOperationsOptions {
  /** How the values of messages are read: as the hosts write them. */
  readonly payloads?: PayloadOptions;
  /** The pipelines as they are now, for `replay`: its execution runs when a host of them looks into the store. Default: none. */
  readonly pipelines?: readonly AnyPipeline[];
}

/**
 * Opens the operations on the executions of a store: beside a host in this program, or where other programs host the pipelines
 * (PostgreSQL).
 *
 * @throws StoreLockedError and others of the store, OptionError
 * @example
 * const store = memory();
 * await using operations = await openPipelineOperations(system, store);
 * for await (const { id, dead } of operations.executions({ status: "completed" })) console.log(id, dead);
 */
export function openPipelineOperations(
  system: ProcessSystem,
  store: StoreSource,
  options: PipelineOperationsOptions = {},
): Promise<OpenPipelineOperations> {
  only("", options, ["payloads", "pipelines"]);
  const kernel = kernelOf(system);
  withMethod("store", store, "open", "a kind of store, such as memory() or sqlite(path)");
  return openOperations(store, storeContext(kernel), options);
}

/** @internal The same, where there is no system. */
export async function openOperations(
  source: StoreSource,
  context: StoreContext,
  { payloads = {}, pipelines = [] }: PipelineOperationsOptions = {},
): Promise<OpenPipelineOperations> {
  const { plans } = checkHost({ pipelines });
  const codecs = new Payloads(payloads);
  const store = await source.open([PIPELINE_SCHEMA], context);
  return new OpenOperations({
    store,
    payloads: codecs,
    after: (ms, fn) => context.after(ms, fn),
    evidence: () => evidenceBeside(source.file, "pipelines"),
    replays: {
      id: () => context.environment.id(),
      target: async (pipeline, version) => {
        const plan = version === undefined ? plans.get(pipeline) : plans.running(pipeline, version);
        if (plan === undefined) throw new UnknownPipelineError(labelOf(pipeline, version), plans.labels);
        return replayTargetOf(plan, codecs);
      },
    },
  });
}

class OpenOperations extends StoreOperations implements OpenPipelineOperations {
  readonly #store: OperationsPort["store"];

  constructor(port: OperationsPort) {
    super(port);
    this.#store = port.store;
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
