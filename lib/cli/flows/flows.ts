// `signalbox flows COMMAND`: opens the store of a command, and prints its result.

import type { FlowStatus } from "../../flow/operations/operations.js";
import { PayloadUnreadableError } from "../../host/payload/errors.js";
import type { OptionSpecs } from "../shell/arguments.js";
import { runCommands } from "../shell/commands.js";
import { inContext } from "../shell/context.js";
import { STORE, storeNeeded } from "../shell/store-option.js";
import type { Colour } from "../shell/style.js";
import { CHANGE } from "./change.js";
import { CHECK } from "./check.js";
import { codeOf } from "./code.js";
import type { FlowsHost } from "./context.js";
import { LOOK } from "./look.js";
import { PARTS } from "./parts.js";

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

const ANSWERS =
  /^ERR_(FLOW_(NOT_FOUND|STATE|WAIT_TIMEOUT|UNKNOWN|ID_TAKEN|INPUT|MESSAGE|FAILED)|SCHEDULE_NOT_FOUND)/;

const COLOURS: Readonly<Record<FlowStatus, Colour>> = {
  pending: "grey",
  running: "blue",
  waiting: "grey",
  paused: "yellow",
  hospitalized: "magenta",
  completed: "green",
  failed: "red",
  cancelled: "yellow",
  killed: "red",
};

/** Runs `signalbox flows` with these arguments. Resolves with the exit code. */
export function flows(args: readonly string[], host: FlowsHost): Promise<number> {
  return runCommands(
    {
      name: "flows",
      usage: "COMMAND … --store STORE [--json]",
      about: ABOUT,
      exits: EXITS,
      common: COMMON,
      commands: { ...LOOK, ...PARTS, ...CHANGE, ...CHECK },
      host,
      answers: ANSWERS,
      // This program, and no host, lacks the codec of a value.
      advice: (error, all) =>
        error instanceof PayloadUnreadableError && !all.some((arg) => /^--code(=|$)/.test(arg))
          ? "pass --code MODULE: a module that exports the `payloads` of the host"
          : undefined,
      carryOut: async ({ store: given, code: module, json }, run) => {
        const store = storeNeeded(given ?? host.defaultStore, "flows.db");
        const code = module === undefined ? undefined : await codeOf(module, (name) => host.load(name));
        const open = () => host.open(store, code?.payloads);
        return inContext({ host, json, colours: COLOURS, open }, (context) =>
          run({ ...context, store, code }),
        );
      },
    },
    args,
  );
}
