// How the command reaches the queues of a store: through the program that has a SQLite file open; else it opens the file itself. A PostgreSQL
// database takes any number of programs.

import type { PayloadOptions } from "../../host/payload/payloads.js";
import { openOperations } from "../../pipeline/queues/open-operations.js";
import type { QueueOperations } from "../../pipeline/queues/operations.js";
import { remoteOperations } from "../../pipeline/queues/operations-table.js";
import type { Opened } from "../shell/context.js";
import { contextOf, existing, hostOf } from "../shell/reach.js";

/**
 * Reaches a store.
 *
 * @param warn - takes warnings of a store that is opened here
 */
export async function reach(
  store: string,
  warn: (text: string) => void,
  payloads: PayloadOptions,
): Promise<Opened<QueueOperations>> {
  const client = await hostOf(store);
  if (client !== undefined)
    return { operations: remoteOperations(client.ask), close: async () => client.close() };
  return openOperations(existing(store), contextOf(warn), payloads);
}
