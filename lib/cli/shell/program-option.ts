// The options that name a running program: the store that it has open, or its socket; and the system that is meant.

import type { AdminClient } from "./admin-client.js";
import { Misuse } from "./arguments.js";
import { isUrl, STORE, storeNeeded } from "./store-option.js";

interface TextOption {
  readonly value: string;
  readonly help: string;
}

/** The options. */
export const PROGRAM: {
  readonly store: TextOption;
  readonly socket: TextOption;
  readonly system: TextOption;
} = {
  store: { ...STORE, help: "the file of a SQLite store that the program has open. Default: SIGNALBOX_STORE" },
  socket: { value: "PATH", help: "instead: the path that the program has as option `socket`" },
  system: { value: "NAME", help: "the system that is meant, if several listen at the socket" },
};

/** Where a program listens. */
export type ProgramPlace = { readonly store: string } | { readonly socket: string };

/** Reaches programs. */
export interface ProgramReach {
  /** The variable SIGNALBOX_STORE. */
  readonly defaultStore: string | undefined;
  /** Reaches the program that has a store open, or that listens at a socket. Undefined: there is none. @throws Error */
  reach(at: ProgramPlace): Promise<AdminClient | undefined>;
}

/** @throws Misuse when the store is a database, beside which there is no socket */
function fileNeeded(store: string): string {
  if (!isUrl(store)) return store;
  throw new Misuse(
    "--store must be a SQLite file. A program with another store listens at its option `socket`: pass --socket PATH",
  );
}

/** The program that is named. @throws Misuse when none is, or when none listens */
export async function programAt(
  { store, socket }: { readonly store?: string; readonly socket?: string },
  host: ProgramReach,
): Promise<AdminClient> {
  if (socket !== undefined && store !== undefined)
    throw new Misuse("--socket cannot be combined with --store");
  const at =
    socket === undefined
      ? { store: fileNeeded(storeNeeded(store ?? host.defaultStore, "flows.db")) }
      : { socket };
  const client = await host.reach(at);
  if (client === undefined) throw new Misuse(`no program listens for ${at.store ?? at.socket}`);
  return client;
}
