// Operations on the flows of a store, for programs.

import { evidenceBeside } from "../../host/index.js";
import type { ValueCodec } from "../../host/payload/values.js";
import type { Environment } from "../../process/environment.js";
import { kernelOf, withMethod } from "../../process/options.js";
import type { ProcessSystem } from "../../process/system.js";
import type { Store, StoreContext, StoreSource } from "../../store/index.js";
import { storeContext } from "../../store/open-store.js";
import { payloadsOf } from "../runtime/options.js";
import { OPERATED_SCHEMAS } from "../runtime/schemas.js";
import type { FlowOperations } from "./operations.js";
import { Removals } from "./removals.js";
import { type OperationsPort, StoreOperations } from "./store-operations.js";

/** Operations with a handle of their own on a store. */
export interface OpenFlowOperations extends FlowOperations, AsyncDisposable {
  /** Closes the handle. The store stays open as long as others use it. */
  close(): Promise<void>;
}

/**
 * Opens the operations on the flows of a store: beside a host in this program, or where other programs host the flows (PostgreSQL).
 * `start` needs a host: use its handle.
 *
 * @throws StoreLockedError and others of the store
 * @example
 * const store = memory();
 * await using operations = await openFlowOperations(system, store);
 * for (const flow of (await operations.list({ status: "failed" })).flows) await operations.retry(flow.id);
 */
export function openFlowOperations(system: ProcessSystem, store: StoreSource): Promise<OpenFlowOperations> {
  const kernel = kernelOf(system);
  withMethod("store", store, "open", "a kind of store, such as memory() or sqlite(path)");
  return openOperations(store, storeContext(kernel));
}

/** @internal The same, where there is no system. */
export async function openOperations(
  source: StoreSource,
  context: StoreContext,
  payloads: ValueCodec = payloadsOf({}),
): Promise<OpenFlowOperations> {
  const store = await source.open(OPERATED_SCHEMAS, context);
  const port = portOn(store, context.environment, (ms, fn) => context.after(ms, fn), payloads);
  return new OpenOperations({ ...port, evidence: () => evidenceBeside(source.file, "flows") });
}

/** The port of operations on an open store. */
export function portOn(
  store: Store,
  environment: Environment,
  after: OperationsPort["after"],
  payloads: ValueCodec,
): OperationsPort {
  return { store, payloads, removals: new Removals(store), id: () => environment.id(), after };
}

class OpenOperations extends StoreOperations implements OpenFlowOperations {
  readonly #store: Store;

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
