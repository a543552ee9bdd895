// The store that `--store` names: a file, or the URL of a database.

import { socketPathOf, socketTarget } from "../../admin/admin-socket.js";
import { production } from "../../process/production.js";
import { postgres, type StoreContext, type StoreSource, sqlite } from "../../store/index.js";
import { type AdminClient, adminClient } from "./admin-client.js";
import { after, isFile } from "./host.js";
import type { ProgramPlace } from "./program-option.js";
import { isUrl } from "./store-option.js";

/** The context of a store that is opened without a system. @param warn - takes its warnings */
export function contextOf(warn: (text: string) => void): StoreContext {
  return { environment: production, after, warn: ({ message }) => warn(message) };
}

const isPostgres = (store: string): boolean => /^postgres(ql)?:\/\//.test(store);

/** The store of this name. A file that is not there is created when it is opened. @throws Error */
export function sourceOf(store: string): StoreSource {
  if (isPostgres(store)) return postgres(store);
  if (isUrl(store))
    throw new Error(`a store is a file, or postgres://…; got ${store.replace(/\/\/[^@/]*@/, "//…@")}`);
  return sqlite(store);
}

/** The store of this name, which has to be there: to open a file creates it. @throws Error */
export function existing(store: string): StoreSource {
  const source = sourceOf(store);
  if (source.file !== undefined && !isFile(store)) throw new Error(`there is no file ${store}`);
  return source;
}

/** The host that has a file open. Undefined: there is none, or the store is a database. @throws Error */
export async function hostOf(store: string): Promise<AdminClient | undefined> {
  if (sourceOf(store).file === undefined) return undefined;
  return hostAt(socketPathOf(store));
}

/** The host that listens at a socket. Undefined: there is none. @throws Error */
export async function hostAt(path: string): Promise<AdminClient | undefined> {
  const target = socketTarget(path);
  return target === undefined ? undefined : adminClient(target);
}

/** The program that has a file open, or that listens at a socket. Undefined: there is none. @throws Error */
export function reachProgram(at: ProgramPlace): Promise<AdminClient | undefined> {
  return "store" in at ? hostOf(at.store) : hostAt(at.socket);
}
