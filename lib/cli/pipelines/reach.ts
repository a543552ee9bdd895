// How the command reaches the executions of a store: through the host that has a SQLite file open; else it opens the file itself. A
// PostgreSQL database takes any number of programs.

import { openOperations } from "../../pipeline/open-operations.js";
import type { PipelineOperations } from "../../pipeline/operations/operations.js";
import { remoteOperations } from "../../pipeline/operations/operations-table.js";
import type { Opened } from "../shell/context.js";
import { contextOf, existing, hostOf } from "../shell/reach.js";
import type { Reach } from "./context.js";

/**
 * Reaches a store.
 *
 * @param warn - takes warnings of a store that is opened here
 */
export async function reach(
  store: string,
  warn: (text: string) => void,
  known: Reach,
): Promise<Opened<PipelineOperations>> {
  const client = await hostOf(store);
  if (client !== undefined)
    return { operations: remoteOperations(client.ask), close: async () => client.close() };
  const operations = await openOperations(existing(store), contextOf(warn), known);
  return { operations, close: () => operations.close() };
}
