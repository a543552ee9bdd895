// `signalbox queues COMMAND`: opens the store of a command, and prints its result.

import type { PayloadOptions } from "../../host/payload/payloads.js";
import type { OptionSpecs } from "../shell/arguments.js";
import { runCommands } from "../shell/commands.js";
import { inContext } from "../shell/context.js";
import { lacks, loadModule, payloadOptions } from "../shell/module.js";
import { STORE, storeNeeded } from "../shell/store-option.js";
import { COMMANDS, type QueuesHost } from "./commands.js";

const COMMON = {
  store: STORE,
  code: { value: "MODULE", help: "a module that exports `payloads`, if values have a codec of their own" },
  json: { help: "prints one JSON document" },
} as const satisfies OptionSpecs;

const ABOUT = `Lists durable queues, and lists, retries, edits and drops their dead letters. A SQLite file belongs to the program that has it open:
the command asks that program, over the socket beside the file. It opens the file itself when no program has it.`;

const EXITS = `exit codes: 0 success; 1 the answer is no: there is no such dead letter, or the queue is full; 2 wrong arguments, or a store,
host, module or value that cannot be used`;

/** Runs `signalbox queues` with these arguments. Resolves with the exit code. */
export function queues(args: readonly string[], host: QueuesHost): Promise<number> {
  return runCommands(
    {
      name: "queues",
      usage: "COMMAND … --store STORE [--json]",
      about: ABOUT,
      exits: EXITS,
      common: COMMON,
      commands: COMMANDS,
      host,
      answers: /^ERR_QUEUE_(DEAD_LETTER_NOT_FOUND|FULL)$/,
      carryOut: async ({ store: given, code, json }, run) => {
        const store = storeNeeded(given ?? host.defaultStore, "queues.db");
        const payloads = await payloadsIn(code, host);
        return inContext({ host, json, colours: {}, open: () => host.open(store, payloads) }, run);
      },
    },
    args,
  );
}

/** @throws Misuse */
async function payloadsIn(module: string | undefined, host: QueuesHost): Promise<PayloadOptions> {
  if (module === undefined) return {};
  const exports = await loadModule(module, `queues … --code ${module}`, (name) => host.load(name));
  if (exports.payloads === undefined) throw lacks(module, "no payloads", exports);
  return payloadOptions(module, exports);
}
