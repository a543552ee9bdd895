// How the command reaches the flows of a store: through the host that has a SQLite file open; else it opens the file itself. A
// PostgreSQL database takes any number of programs.

import { socketPathOf, socketTarget } from "../../flow/operations/admin-socket.js";
import { openOperations } from "../../flow/operations/open-operations.js";
import { remoteOperations } from "../../flow/operations/operations-protocol.js";
import { production } from "../../process/production.js";
import { postgres, type StoreContext, type StoreSource, sqlite } from "../../store/index.js";
import { after, isFile } from "../shell/host.js";
import { adminClient } from "./admin-client.js";
import type { Opened } from "./context.js";

/** Reaches a store. @param warn - takes warnings of a store that is opened here */
export async function reach(store: string, warn: (text: string) => void): Promise<Opened> {
  const context: StoreContext = { environment: production, after, warn: ({ message }) => warn(message) };
  if (/^postgres(ql)?:\/\//.test(store)) return openHere(postgres(store), context);
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(store))
    throw new Error(`a store is a file, or postgres://…; got ${store.replace(/\/\/[^@/]*@/, "//…@")}`);
  const target = socketTarget(socketPathOf(store));
  const client = target === undefined ? undefined : await adminClient(target);
  if (client !== undefined)
    return {
      operations: remoteOperations(client.ask),
      through: `the host of ${store}`,
      close: async () => client.close(),
    };
  // To open a store creates it.
  if (!isFile(store)) throw new Error(`there is no file ${store}`);
  return openHere(sqlite(store), context);
}

async function openHere(source: StoreSource, context: StoreContext): Promise<Opened> {
  const operations = await openOperations(source, context);
  return { operations, through: source.label, close: () => operations.close() };
}
