// `signalbox system COMMAND`: asks the program that has a file open for its processes, and prints its answer.

import type { SystemOperations } from "../../admin/system/operations.js";
import { remoteOperations } from "../../admin/system/system-table.js";
import type { Given, OptionSpecs } from "../shell/arguments.js";
import { runCommands } from "../shell/commands.js";
import { inContext, type Opened, type StoreCommandHost } from "../shell/context.js";
import { PROGRAM, type ProgramReach, programAt } from "../shell/program-option.js";
import { COMMANDS } from "./commands.js";

/** The surroundings of the command. */
export interface SystemHost extends StoreCommandHost, ProgramReach {}

const COMMON = { ...PROGRAM, json: { help: "prints one JSON document" } } as const satisfies OptionSpecs;

const ABOUT = `Looks at a running program: its processes, supervisors, topologies, groups of consumers and nodes. The command asks the program
over the admin socket of its flows, pipelines, durable queues or service, and changes nothing.`;

const EXITS = `exit codes: 0 success; 1 the answer is no: there is no such process, topology or group; 2 wrong arguments, or no program listens`;

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
  { system: name, ...at }: Omit<Given<typeof COMMON>, "json">,
  host: SystemHost,
): Promise<Opened<SystemOperations>> {
  const client = await programAt(at, host);
  return { operations: remoteOperations(client.ask, name), close: async () => client.close() };
}
