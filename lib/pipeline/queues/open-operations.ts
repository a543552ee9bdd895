// Operations on the queues of a store, where no program has them open.

import { evidenceBeside } from "../../host/index.js";
import { type PayloadOptions, Payloads } from "../../host/payload/payloads.js";
import type { StoreContext, StoreSource } from "../../store/index.js";
import type { QueueOperations } from "./operations.js";
import { StoreQueueOperations } from "./store-operations.js";
import { StoreTime } from "./store-time.js";
import { QUEUE_SCHEMA } from "./tables.js";

/** Opens the operations on the queues of a store. @internal */
export async function openOperations(
  source: StoreSource,
  context: StoreContext,
  payloads: PayloadOptions = {},
): Promise<{ readonly operations: QueueOperations; close(): Promise<void> }> {
  const codecs = new Payloads(payloads);
  const store = await source.open([QUEUE_SCHEMA], context);
  try {
    const time = await StoreTime.of(context.environment, store);
    const port = {
      store,
      time,
      payloads: codecs,
      policyOf: () => undefined,
      evidence: () => evidenceBeside(source.file, "queues"),
    };
    return { operations: new StoreQueueOperations(port), close: () => store.close() };
  } catch (error) {
    await store.close();
    throw error;
  }
}
