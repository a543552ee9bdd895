// `signalbox queues COMMAND`: opens the store of a command, and prints what it gives.

import type { PayloadOptions } from "../../host/payload/payloads.js";
import { answersNo } from "../shell/answer.js";
import type { Given, OptionSpecs } from "../shell/arguments.js";
import { type CommandSet, runCommands } from "../shell/commands.js";
import { showingOn } from "../shell/context.js";
import { lacks, loadModule, payloadOptions } from "../shell/module.js";
import { STORE, storeNeeded } from "../shell/store-option.js";
import { COMMANDS } from "./commands.js";
import type { QueuesCommand, QueuesHost } from "./context.js";

const COMMON = {
  store: STORE,
  code: { value: "MODULE", help: "a module that exports `payloads`, if values have a codec of their own" },
  json: { help: "prints one JSON document" },
} as const satisfies OptionSpecs;

const ABOUT = `Lists durable queues, and lists, retries, edits and drops their dead letters. A SQLite file belongs to the program that has it open:
the command asks that program, over the socket beside the file. It opens the file itself when no program has it.`;

const EXITS = `exit codes: 0 success; 1 the answer is no: there is no such dead letter, or the queue is full; 2 wrong arguments, or a store,
host, module or value that cannot be used`;

const ANSWERS = /^ERR_QUEUE_(DEAD_LETTER_NOT_FOUND|FULL)$/;
const exitOf = (error: unknown): number => answersNo(error, ANSWERS);

/** Runs `signalbox queues` with these arguments. Resolves with the exit code. */
export function queues(args: readonly string[], host: QueuesHost): Promise<number> {
  const set: CommandSet<QueuesCommand> = {
    name: "queues",
    usage: "COMMAND … --store STORE [--json]",
    about: ABOUT,
    exits: EXITS,
    common: COMMON,
    commands: COMMANDS,
    carryOut: (command, given) => carryOut(command, given, host),
    exitOf,
  };
  return runCommands(set, args, host);
}

async function carryOut(
  command: QueuesCommand,
  given: Given<OptionSpecs>,
  host: QueuesHost,
): Promise<number> {
  const options = given.options as unknown as { store?: string; json: boolean; code?: string };
  const store = storeNeeded(options.store ?? host.defaultStore, "queues.db");
  const opened = await host.open(store, await payloadsIn(options.code, host));
  try {
    const { operations } = opened;
    return await command.run(given, { ...showingOn(host, options.json, {}), operations });
  } finally {
    await opened.close();
  }
}

/** @throws Misuse */
async function payloadsIn(module: string | undefined, host: QueuesHost): Promise<PayloadOptions> {
  if (module === undefined) return {};
  const exports = await loadModule(module, `queues … --code ${module}`, (name) => host.load(name));
  if (exports.payloads === undefined) throw lacks(module, "no payloads", exports);
  return payloadOptions(module, exports);
}
