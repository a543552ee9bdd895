// A subcommand that has commands of its own, such as `signalbox flows list`: finds the command and its arguments, prints help, and says what
// went wrong.

import { toJson } from "../../admin/json-view.js";
import { printable } from "../../process/printable.js";
import { type Given, hint, Misuse, type OptionSpecs, parseArguments } from "./arguments.js";
import { failure, Told } from "./document.js";
import { EXIT } from "./exit.js";
import { indentedJson } from "./json-text.js";

/** A command. */
export interface Command<Context, O extends OptionSpecs = OptionSpecs> {
  /** The words behind its name, such as `ID` or `[NAME]`. */
  readonly words: readonly string[];
  readonly summary: string;
  readonly options: O;
  /** Carries it out. Resolves with the exit code. */
  run(given: Given<O>, context: Context): Promise<number>;
}

/** The commands of a subcommand. */
export interface CommandSet<C extends Command<never>> {
  /** Its name, such as `flows`. */
  readonly name: string;
  /** The words behind it, for the help. */
  readonly usage: string;
  /** What it is for, and its exit codes: for the help. */
  readonly about: string;
  readonly exits: string;
  /** Options that every command has. */
  readonly common: OptionSpecs;
  readonly commands: Readonly<Record<string, C>>;
  carryOut(command: C, given: Given<OptionSpecs>): Promise<number>;
  /** The exit code of a failure. */
  exitOf(error: unknown): number;
  /** What else helps after a failure. */
  advice?(error: unknown, args: readonly string[]): string | undefined;
}

/** Where a command prints. */
export interface Printer {
  print(text: string): void;
  complain(text: string): void;
}

/** Runs a command with these arguments. Resolves with the exit code. */
export async function runCommands<C extends Command<never>>(
  set: CommandSet<C>,
  args: readonly string[],
  printer: Printer,
): Promise<number> {
  try {
    return await found(set, args, printer);
  } catch (thrown) {
    const error: unknown = thrown instanceof Told ? thrown.cause : thrown;
    if (args.includes("--json") && !(thrown instanceof Told))
      printer.print(indentedJson(toJson(failure(error))));
    printer.complain(printable(`signalbox: ${error instanceof Error ? error.message : String(error)}`));
    const advice = set.advice?.(error, args);
    if (advice !== undefined) printer.complain(advice);
    return set.exitOf(error);
  }
}

async function found<C extends Command<never>>(
  set: CommandSet<C>,
  [name, ...rest]: readonly string[],
  printer: Printer,
): Promise<number> {
  if (name === undefined || name === "--help" || name === "-h") {
    printer.print(overview(set));
    return EXIT.fine;
  }
  const command = Object.hasOwn(set.commands, name) ? set.commands[name] : undefined;
  if (command === undefined) {
    const problem = name.startsWith("-")
      ? `the command comes before its options${hint(name, ["--help"])}`
      : `there is no command ${set.name} ${name}${hint(name, Object.keys(set.commands))}`;
    throw new Misuse(`${problem}\nsignalbox ${set.name} --help lists the commands`);
  }
  const given = argumentsOf(set, name, command, rest);
  if (given !== "help") return set.carryOut(command, given);
  printer.print(helpOf(set, name, command));
  return EXIT.fine;
}

function argumentsOf<C extends Command<never>>(
  set: CommandSet<C>,
  name: string,
  { words, options }: C,
  args: readonly string[],
): Given<OptionSpecs> | "help" {
  try {
    const given = parseArguments<OptionSpecs>(args, { ...options, ...set.common });
    if (given === "help") return given;
    checkWords(words, given.words);
    return given;
  } catch (error) {
    throw error instanceof Misuse
      ? new Misuse(
          `${set.name} ${name}: ${error.message}\nsignalbox ${set.name} ${name} --help shows its arguments`,
        )
      : error;
  }
}

/** @throws Misuse */
function checkWords(wanted: readonly string[], given: readonly string[]): void {
  const missing = wanted.filter((word) => !word.startsWith("["))[given.length];
  if (missing !== undefined) throw new Misuse(`${missing.replace("…", "")} is missing`);
  if (wanted.at(-1)?.replace("]", "").endsWith("…")) return;
  if (given.length > wanted.length)
    throw new Misuse(`too many arguments: ${given.slice(wanted.length).join(" ")}`);
}

function overview<C extends Command<never>>({ name, usage, about, exits, commands }: CommandSet<C>): string {
  const width = Math.max(...Object.keys(commands).map((one) => one.length));
  const lines = Object.entries(commands).map(([one, { summary }]) => `  ${one.padEnd(width)}  ${summary}`);
  return `usage: signalbox ${name} ${usage}

${about}

${lines.join("\n")}

  signalbox ${name} COMMAND --help   shows the arguments of a command

${exits}`;
}

function helpOf<C extends Command<never>>(
  set: CommandSet<C>,
  name: string,
  { words, summary, options }: C,
): string {
  const all = Object.entries<OptionSpecs[string]>({ ...options, ...set.common });
  const named = all.map(([option, { value, help }]) => [
    `--${option}${value === undefined ? "" : ` ${value}`}`,
    help,
  ]);
  const width = Math.max(...named.map(([option]) => (option as string).length));
  const lines = named.map(([option, help]) => `  ${(option as string).padEnd(width)}  ${help}`);
  return `usage: signalbox ${set.name} ${[name, ...words].join(" ")} [options]\n\n${summary}\n\n${lines.join("\n")}`;
}
