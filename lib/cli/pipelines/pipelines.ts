// `signalbox pipelines COMMAND`: opens the store of a command when it is needed, and prints what the command gives.

import type { ExecutionStatus } from "../../pipeline/ledger/tables.js";
import type { Given, OptionSpecs } from "../shell/arguments.js";
import { type CommandSet, runCommands } from "../shell/commands.js";
import { showingOn } from "../shell/context.js";
import { STORE, storeNeeded } from "../shell/store-option.js";
import type { Colour } from "../shell/style.js";
import { exitOf } from "./answer.js";
import { CHANGE } from "./change.js";
import { CHECK } from "./check.js";
import { codeOf, noCode } from "./code.js";
import type { CommandContext, Opened, PipelinesCommand, PipelinesHost } from "./context.js";
import { DEAD } from "./dead.js";
import { FILES } from "./files.js";
import { LOOK } from "./look.js";
import { RUN } from "./run.js";

const COMMON = {
  store: STORE,
  code: {
    value: "MODULE",
    help: "a module that exports pipelines, `registry` with the types that files name, or `payloads`",
  },
  json: { help: "prints one JSON document; `run` prints one per line" },
} as const satisfies OptionSpecs;

const ABOUT = `Checks and runs pipelines, inspects and changes their executions. A SQLite file belongs to the program that has it open: the
command asks that program, over the socket beside the file. It opens the file itself when no program has it.`;

const EXITS = `exit codes: 0 fine; 1 the answer is no: a file has faults, an execution cannot end with the code, failed, was cancelled or has ended, there is none of this id,
or a message cannot be replayed, put back, moved or given up; 2 wrong arguments, or a store, host, module or value that cannot be used; 130 and 143 \`run\` was
interrupted by SIGINT or SIGTERM`;

const COLOURS: Readonly<Record<ExecutionStatus, Colour>> = {
  running: "blue",
  paused: "yellow",
  completed: "green",
  failed: "red",
  cancelled: "yellow",
};

/** Runs `signalbox pipelines` with these arguments. Resolves with the exit code. */
export function pipelines(args: readonly string[], host: PipelinesHost): Promise<number> {
  const set: CommandSet<PipelinesCommand> = {
    name: "pipelines",
    usage: "COMMAND … [--store STORE] [--json]",
    about: ABOUT,
    exits: EXITS,
    common: COMMON,
    commands: { ...FILES, ...CHECK, ...RUN, ...LOOK, ...DEAD, ...CHANGE },
    carryOut: (command, given) => carryOut(command, given, host),
    exitOf,
  };
  return runCommands(set, args, host);
}

async function carryOut(
  command: PipelinesCommand,
  given: Given<OptionSpecs>,
  host: PipelinesHost,
): Promise<number> {
  const options = given.options as unknown as { store?: string; json: boolean; code?: string };
  const { store = host.defaultStore } = options;
  const code =
    options.code === undefined ? noCode() : await codeOf(options.code, (module) => host.load(module));
  let opened: Promise<Opened> | undefined;
  const context: CommandContext = {
    ...showingOn(host, options.json, COLOURS),
    code,
    store: store === "" ? undefined : store,
    operations: async (more = []) => {
      const { payloads, pipelines: known } = code;
      const named = storeNeeded(store, "jobs.db");
      opened ??= host.open(named, { payloads, pipelines: [...known, ...more] });
      return (await opened).operations;
    },
  };
  try {
    return await command.run(given, context);
  } finally {
    await (await opened?.catch(() => undefined))?.close();
  }
}
