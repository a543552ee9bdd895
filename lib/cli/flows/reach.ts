// How the command reaches the flows of a store: through the host that has a SQLite file open; else it opens the file itself. A
// PostgreSQL database takes any number of programs.

import { FLOW_SCHEMA } from "../../flow/journal/tables.js";
import { socketPathOf, socketTarget } from "../../flow/operations/admin-socket.js";
import { openOperations } from "../../flow/operations/open-operations.js";
import { remoteOperations } from "../../flow/operations/operations-protocol.js";
import type { Values } from "../../flow/operations/values.js";
import { production } from "../../process/production.js";
import { postgres, type Store, type StoreContext, type StoreSource, sqlite } from "../../store/index.js";
import { after, isFile, temporaryFolder } from "../shell/host.js";
import { adminClient } from "./admin-client.js";
import type { Opened } from "./context.js";

/**
 * Reaches a store.
 *
 * @param warn - takes warnings of a store that is opened here
 * @param payloads - read and write the values of a store that is opened here; a host uses its own
 */
export async function reach(store: string, warn: (text: string) => void, payloads?: Values): Promise<Opened> {
  const context: StoreContext = { environment: production, after, warn: ({ message }) => warn(message) };
  if (/^postgres(ql)?:\/\//.test(store)) return openHere(postgres(store), context, payloads);
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(store))
    throw new Error(`a store is a file, or postgres://…; got ${store.replace(/\/\/[^@/]*@/, "//…@")}`);
  const target = socketTarget(socketPathOf(store));
  const client = target === undefined ? undefined : await adminClient(target);
  if (client !== undefined)
    return {
      operations: remoteOperations(client.ask),
      through: hostOf(store),
      close: async () => client.close(),
    };
  // To open a store creates it.
  if (!isFile(store)) throw new Error(`there is no file ${store}`);
  return openHere(sqlite(store), context, payloads);
}

/** Opens the tables of a store. Of a file that a host has open, the host makes a copy: the flows go on, and the copy is removed. */
export async function reachStore(
  store: string,
  warn: (text: string) => void,
): Promise<{ readonly store: Store; close(): Promise<void> }> {
  const context: StoreContext = { environment: production, after, warn: ({ message }) => warn(message) };
  const open = async (source: StoreSource, done: () => void = () => undefined) => {
    const opened = await source.open([FLOW_SCHEMA], context);
    return { store: opened, close: () => opened.close().finally(done) };
  };
  if (/^postgres(ql)?:\/\//.test(store)) return open(postgres(store));
  const reached = await reach(store, warn);
  try {
    if (reached.through !== hostOf(store)) return await open(sqlite(store));
    const folder = temporaryFolder();
    const copy = `${folder.path}/copy.db`;
    try {
      await reached.operations.backup(copy);
      return await open(sqlite(copy), folder.remove);
    } catch (error) {
      folder.remove();
      throw error;
    }
  } finally {
    await reached.close();
  }
}

const hostOf = (store: string): string => `the host of ${store}`;

async function openHere(source: StoreSource, context: StoreContext, payloads?: Values): Promise<Opened> {
  const operations = await openOperations(source, context, payloads);
  return { operations, through: source.label, close: () => operations.close() };
}
