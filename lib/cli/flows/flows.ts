// `signalbox flows COMMAND`: finds the command, its arguments and the store, and prints what it gives.

import { toJson } from "../../flow/operations/json-view.js";
import type { FlowOperations } from "../../flow/operations/operations.js";
import { type Given, hint, Misuse, type OptionSpecs, parseArguments } from "../shell/arguments.js";
import { EXIT } from "../shell/exit.js";
import { jsonText, printable } from "../shell/printable.js";
import { exitOf, isUnreadable } from "./answer.js";
import { CHANGE } from "./change.js";
import { CHECK } from "./check.js";
import { codeOf } from "./code.js";
import type { CommandContext, FlowsCommand, FlowsHost } from "./context.js";
import { failure, Told } from "./document.js";
import { LOOK } from "./look.js";
import { PARTS } from "./parts.js";
import { styleOf } from "./style.js";

const COMMANDS: Readonly<Record<string, FlowsCommand>> = { ...LOOK, ...PARTS, ...CHANGE, ...CHECK };

const INDENT = 2;

const COMMON = {
  store: {
    value: "STORE",
    help: "the file of a SQLite store, or the URL of a PostgreSQL database. Default: SIGNALBOX_STORE",
  },
  code: {
    value: "MODULE",
    help: "a module that exports the flows, and `payloads` if their values have a codec of their own",
  },
  json: { help: "prints one JSON document" },
} as const satisfies OptionSpecs;

/** Runs `signalbox flows` with these arguments. Resolves with the exit code. */
export async function flows(args: readonly string[], host: FlowsHost): Promise<number> {
  try {
    const [name, ...rest] = args;
    if (name === undefined || name === "--help" || name === "-h") {
      host.print(overview());
      return EXIT.fine;
    }
    const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
    if (command !== undefined) return await runCommand(name, command, rest, host);
    const problem = name.startsWith("-")
      ? "the command comes before its options"
      : `there is no command flows ${name}${hint(name, Object.keys(COMMANDS))}`;
    throw new Misuse(`${problem}\nsignalbox flows --help lists the commands`);
  } catch (thrown) {
    const error: unknown = thrown instanceof Told ? thrown.cause : thrown;
    if (args.includes("--json") && !(thrown instanceof Told))
      host.print(jsonText(toJson(failure(error)), INDENT));
    host.complain(printable(`signalbox: ${error instanceof Error ? error.message : String(error)}`));
    if (isUnreadable(error) && !args.some((arg) => /^--code(=|$)/.test(arg)))
      host.complain("pass --code MODULE: a module that exports the `payloads` of the host");
    return exitOf(error);
  }
}

async function runCommand(
  name: string,
  command: FlowsCommand,
  args: readonly string[],
  host: FlowsHost,
): Promise<number> {
  const given = argumentsOf(name, command, args);
  if (given === "help") {
    host.print(helpOf(name, command));
    return EXIT.fine;
  }
  const options = given.options as { store?: string; json: boolean; code?: string };
  const { store = host.defaultStore, json } = options;
  if (store === undefined || store === "")
    throw new Misuse("which store? Pass --store flows.db, or --store postgres://…, or set SIGNALBOX_STORE");
  const code =
    options.code === undefined ? undefined : await codeOf(options.code, (module) => host.load(module));
  const opened = command.opensStore === true ? undefined : await host.open(store, code?.payloads);
  const context: CommandContext = {
    host,
    json,
    store,
    code,
    operations: opened?.operations as FlowOperations,
    style: styleOf(host.colours && !json),
    show: (value, text) => host.print(json ? jsonText(toJson(value), INDENT) : text()),
  };
  try {
    return await command.run(given as Given<OptionSpecs>, context);
  } finally {
    await opened?.close();
  }
}

function argumentsOf(name: string, { words, options }: FlowsCommand, args: readonly string[]) {
  try {
    const given = parseArguments(args, { ...options, ...COMMON });
    if (given === "help") return given;
    checkWords(words, given.words);
    return given;
  } catch (error) {
    throw error instanceof Misuse
      ? new Misuse(`flows ${name}: ${error.message}\nsignalbox flows ${name} --help shows its arguments`)
      : error;
  }
}

/** @throws Misuse */
function checkWords(wanted: readonly string[], given: readonly string[]): void {
  const missing = wanted.filter((word) => !word.startsWith("["))[given.length];
  if (missing !== undefined) throw new Misuse(`${missing.replace("…", "")} is missing`);
  if (wanted.at(-1)?.endsWith("…")) return;
  if (given.length > wanted.length)
    throw new Misuse(`there is no place for ${given.slice(wanted.length).join(" ")}`);
}

function overview(): string {
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length));
  const lines = Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`);
  return `usage: signalbox flows COMMAND … --store STORE [--json]

Looks at durable flows and changes them. A SQLite file belongs to the program that has it open: the command asks that program,
over the socket beside the file. It opens the file itself when no program has it.

${lines.join("\n")}

  signalbox flows COMMAND --help   shows the arguments of a command

exit codes: 0 fine; 1 the answer is no: there is no such flow, it is in another state, it failed, or does not fit its new code;
2 wrong arguments, or a store, host, module or value that cannot be used`;
}

function helpOf(name: string, { words, summary, options }: FlowsCommand): string {
  const all = Object.entries<OptionSpecs[string]>({ ...options, ...COMMON });
  const named = all.map(([option, { value, help }]) => [
    `--${option}${value === undefined ? "" : ` ${value}`}`,
    help,
  ]);
  const width = Math.max(...named.map(([option]) => (option as string).length));
  const lines = named.map(([option, help]) => `  ${(option as string).padEnd(width)}  ${help}`);
  return `usage: signalbox flows ${[name, ...words].join(" ")} [options]\n\n${summary}\n\n${lines.join("\n")}`;
}
