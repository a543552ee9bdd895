// How the command reaches the flows of a store: through the host that has a SQLite file open; else it opens the file itself. A
// PostgreSQL database takes any number of programs.

import { FLOW_SCHEMA } from "../../flow/journal/tables.js";
import { openOperations } from "../../flow/operations/open-operations.js";
import type { FlowOperations } from "../../flow/operations/operations.js";
import { remoteOperations } from "../../flow/operations/operations-table.js";
import type { ValueCodec } from "../../host/payload/values.js";
import type { Store, StoreSource } from "../../store/index.js";
import type { Opened } from "../shell/context.js";
import { temporaryFolder } from "../shell/host.js";
import { contextOf, existing, hostOf, sourceOf } from "../shell/reach.js";

/** Operations on the flows of a store. */
interface Reached extends Opened<FlowOperations> {
  /** The host or the store that they ask: for people. */
  readonly through: string;
}

/**
 * Reaches a store.
 *
 * @param warn - takes warnings of a store that is opened here
 * @param payloads - read and write the values of a store that is opened here; a host uses its own
 */
export async function reach(
  store: string,
  warn: (text: string) => void,
  payloads?: ValueCodec,
): Promise<Reached> {
  const client = await hostOf(store);
  if (client !== undefined)
    return {
      operations: remoteOperations(client.ask),
      through: nameOf(store),
      close: async () => client.close(),
    };
  const source = existing(store);
  const operations = await openOperations(source, contextOf(warn), payloads);
  return { operations, through: source.label, close: () => operations.close() };
}

/** Opens the tables of a store. Of a file that a host has open, the host makes a copy: the flows go on, and the copy is removed. */
export async function reachStore(
  store: string,
  warn: (text: string) => void,
): Promise<{ readonly store: Store; close(): Promise<void> }> {
  const open = async (source: StoreSource, done: () => void = () => undefined) => {
    const opened = await source.open([FLOW_SCHEMA], contextOf(warn));
    return { store: opened, close: () => opened.close().finally(done) };
  };
  if (sourceOf(store).file === undefined) return open(sourceOf(store));
  const reached = await reach(store, warn);
  try {
    if (reached.through !== nameOf(store)) return await open(sourceOf(store));
    const folder = temporaryFolder();
    const copy = `${folder.path}/copy.db`;
    try {
      await reached.operations.backup(copy);
      return await open(sourceOf(copy), folder.remove);
    } catch (error) {
      folder.remove();
      throw error;
    }
  } finally {
    await reached.close();
  }
}

const nameOf = (store: string): string => `the host of ${store}`;
