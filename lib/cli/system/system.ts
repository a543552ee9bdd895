// `signalbox system COMMAND`: asks the program that has a file open for its processes, and prints its answer.

import type { SystemOperations } from "../../admin/system/operations.js";
import { remoteOperations } from "../../admin/system/system-table.js";
import type { AdminClient } from "../shell/admin-client.js";
import { type Given, Misuse, type OptionSpecs } from "../shell/arguments.js";
import { runCommands } from "../shell/commands.js";
import { inContext, type Opened, type StoreCommandHost } from "../shell/context.js";
import { isUrl, STORE, storeNeeded } from "../shell/store-option.js";
import { COMMANDS } from "./commands.js";

/** The surroundings of the command. */
export interface SystemHost extends StoreCommandHost {
  /** Reaches the program that has a store open, or that listens at a socket. Undefined: there is none. @throws Error */
  reach(at: { readonly store: string } | { readonly socket: string }): Promise<AdminClient | undefined>;
}

const COMMON = {
  store: { ...STORE, help: "the file of a SQLite store that the program has open. Default: SIGNALBOX_STORE" },
  socket: { value: "PATH", help: "instead: the path that the program has as option `socket`" },
  system: { value: "NAME", help: "the system that is meant, if several listen at the socket" },
  json: { help: "prints one JSON document" },
} as const satisfies OptionSpecs;

const ABOUT = `Looks at a running program: its processes, supervisors, topologies, groups of consumers and nodes. The command asks the program
over the admin socket of its flows, pipelines, durable queues or service, and changes nothing.`;

const EXITS = `exit codes: 0 success; 1 the answer is no: there is no such process, topology or group; 2 wrong arguments, or no program listens`;

/** @throws Misuse when the store is a database, beside which there is no socket */
function fileNeeded(store: string): string {
  if (!isUrl(store)) return store;
  throw new Misuse(
    "--store must be a SQLite file. A program with another store listens at its option `socket`: pass --socket PATH",
  );
}

/** Runs `signalbox system` with these arguments. Resolves with the exit code. */
export function system(args: readonly string[], host: SystemHost): Promise<number> {
  return runCommands(
    {
      name: "system",
      usage: "COMMAND … --store STORE [--json]",
      about: ABOUT,
      exits: EXITS,
      common: COMMON,
      commands: COMMANDS,
      host,
      answers: /^ERR_NO_PROCESS$/,
      carryOut: ({ json, ...where }, run) =>
        inContext({ host, json, colours: {}, open: () => open(where, host) }, run),
    },
    args,
  );
}

async function open(
  { store, socket, system: name }: Omit<Given<typeof COMMON>, "json">,
  host: SystemHost,
): Promise<Opened<SystemOperations>> {
  if (socket !== undefined && store !== undefined)
    throw new Misuse("--socket cannot be combined with --store");
  const at =
    socket === undefined
      ? { store: fileNeeded(storeNeeded(store ?? host.defaultStore, "flows.db")) }
      : { socket };
  const client = await host.reach(at);
  if (client === undefined) throw new Misuse(`no program listens for ${at.store ?? at.socket}`);
  return { operations: remoteOperations(client.ask, name), close: async () => client.close() };
}
