// The option `--store` of the commands that work on a store.

import { Misuse } from "./arguments.js";

/** The option, for the help. */
export const STORE: { readonly value: string; readonly help: string } = {
  value: "STORE",
  help: "the file of a SQLite store, or the URL of a PostgreSQL database. Default: SIGNALBOX_STORE",
};

/** @param example - the name of a file, for the message. @throws Misuse when neither the option nor the variable names a store */
export function storeNeeded(store: string | undefined, example: string): string {
  if (store !== undefined && store !== "") return store;
  throw new Misuse(`which store? Pass --store ${example}, or --store postgres://…, or set SIGNALBOX_STORE`);
}

/** Whether a store is named by a URL, and not by the path of a file. */
export const isUrl = (store: string): boolean => /^[a-z][a-z0-9+.-]+:\/\//i.test(store);
