// `signalbox flows COMMAND`: opens the store of a command, and prints what it gives.

import type { FlowOperations } from "../../flow/operations/operations.js";
import type { Given, OptionSpecs } from "../shell/arguments.js";
import { type CommandSet, runCommands } from "../shell/commands.js";
import { showingOn } from "../shell/context.js";
import { STORE, storeNeeded } from "../shell/store-option.js";
import { exitOf, isUnreadable } from "./answer.js";
import { CHANGE } from "./change.js";
import { CHECK } from "./check.js";
import { codeOf } from "./code.js";
import type { CommandContext, FlowsCommand, FlowsHost } from "./context.js";
import { LOOK } from "./look.js";
import { PARTS } from "./parts.js";
import { COLOURS } from "./style.js";

const COMMON = {
  store: STORE,
  code: {
    value: "MODULE",
    help: "a module that exports the flows, and `payloads` if their values have their own codec",
  },
  json: { help: "prints one JSON document" },
} as const satisfies OptionSpecs;

const ABOUT = `Inspects and changes durable flows. A SQLite file belongs to the program that has it open: the command asks that program,
over the socket beside the file. It opens the file itself when no program has it.`;

const EXITS = `exit codes: 0 fine; 1 the answer is no: there is no such flow, it is in another state, it failed, or does not fit its new code;
2 wrong arguments, or a store, host, module or value that cannot be used`;

/** Runs `signalbox flows` with these arguments. Resolves with the exit code. */
export function flows(args: readonly string[], host: FlowsHost): Promise<number> {
  const set: CommandSet<FlowsCommand> = {
    name: "flows",
    usage: "COMMAND … --store STORE [--json]",
    about: ABOUT,
    exits: EXITS,
    common: COMMON,
    commands: { ...LOOK, ...PARTS, ...CHANGE, ...CHECK },
    carryOut: (command, given) => carryOut(command, given, host),
    exitOf,
    advice: (error, all) =>
      isUnreadable(error) && !all.some((arg) => /^--code(=|$)/.test(arg))
        ? "pass --code MODULE: a module that exports the `payloads` of the host"
        : undefined,
  };
  return runCommands(set, args, host);
}

async function carryOut(command: FlowsCommand, given: Given<OptionSpecs>, host: FlowsHost): Promise<number> {
  const options = given.options as unknown as { store?: string; json: boolean; code?: string };
  const store = storeNeeded(options.store ?? host.defaultStore, "flows.db");
  const code =
    options.code === undefined ? undefined : await codeOf(options.code, (module) => host.load(module));
  const opened = command.opensStore === true ? undefined : await host.open(store, code?.payloads);
  const context: CommandContext = {
    ...showingOn(host, options.json, COLOURS),
    store,
    code,
    operations: opened?.operations as FlowOperations,
  };
  try {
    return await command.run(given, context);
  } finally {
    await opened?.close();
  }
}
