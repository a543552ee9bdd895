// `signalbox pipelines COMMAND`: opens the store of a command when it is needed, and prints its result.

import type { AnyPipeline } from "../../pipeline/definition/pipeline.js";
import type { ExecutionStatus } from "../../pipeline/ledger/tables.js";
import type { OptionSpecs } from "../shell/arguments.js";
import { runCommands } from "../shell/commands.js";
import { inContext } from "../shell/context.js";
import { STORE, storeNeeded } from "../shell/store-option.js";
import type { Colour } from "../shell/style.js";
import { CHANGE } from "./change.js";
import { CHECK } from "./check.js";
import { codeOf, noCode } from "./code.js";
import type { PipelinesHost } from "./context.js";
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

const ANSWERS =
  /^ERR_QUEUE_DEAD_LETTER_NOT_FOUND$|^ERR_PIPELINE_(EXECUTION_(NOT_FOUND|ID_TAKEN|FAILED|OVER)|WAIT_TIMEOUT|UNKNOWN|INPUT|REPLAY|CHANGE|FILE$|FAULTS|MESSAGE_TOO_LARGE)/;

const COLOURS: Readonly<Record<ExecutionStatus, Colour>> = {
  running: "blue",
  paused: "yellow",
  completed: "green",
  failed: "red",
  cancelled: "yellow",
};

/** Runs `signalbox pipelines` with these arguments. Resolves with the exit code. */
export function pipelines(args: readonly string[], host: PipelinesHost): Promise<number> {
  return runCommands(
    {
      name: "pipelines",
      usage: "COMMAND … [--store STORE] [--json]",
      about: ABOUT,
      exits: EXITS,
      common: COMMON,
      commands: { ...FILES, ...CHECK, ...RUN, ...LOOK, ...DEAD, ...CHANGE },
      host,
      answers: ANSWERS,
      carryOut: async ({ store = host.defaultStore, code: module, json }, run) => {
        const code = module === undefined ? noCode() : await codeOf(module, (name) => host.load(name));
        const open = async (more: readonly AnyPipeline[] = []) => {
          const { payloads, pipelines: known } = code;
          return host.open(storeNeeded(store, "jobs.db"), { payloads, pipelines: [...known, ...more] });
        };
        return inContext({ host, json, colours: COLOURS, open }, (context) =>
          run({ ...context, code, store: store === "" ? undefined : store }),
        );
      },
    },
    args,
  );
}
