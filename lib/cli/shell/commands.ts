// A subcommand that has commands of its own, such as `signalbox flows list`: finds the command and its arguments, prints help, and reports
// errors.

import { printable } from "../../process/printable.js";
import { answersNo } from "./answer.js";
import {
  type Given,
  hint,
  Misuse,
  type Moments,
  type OptionSpecs,
  type ParsedArguments,
  parseArguments,
} from "./arguments.js";
import { failureText, Told } from "./document.js";
import { EXIT } from "./exit.js";

type WordOf<W> = W extends `[${string}` ? string | undefined : string;

/** The words behind a command: `ID`, `[NAME]` that may be left out, and `ID…` for any number of them. */
export type Words<W extends readonly string[]> = W extends readonly [...infer First, `${string}…${string}`]
  ? readonly [...{ readonly [I in keyof First]: WordOf<First[I]> }, ...string[]]
  : { readonly [I in keyof W]: WordOf<W[I]> };

/** A command. */
export interface Command<
  Context,
  W extends readonly string[] = readonly string[],
  O extends OptionSpecs = OptionSpecs,
> {
  /** The words behind its name, such as `ID` or `[NAME]`. Default: none. */
  readonly words?: W;
  readonly summary: string;
  readonly options?: O;
  /** With `--json` it prints a document on each line, one for each event, and not one in all. Its errors are such a line, too. */
  readonly lines?: boolean;
  /** Carries it out. Resolves with the exit code. @param exitOf - the exit code of a failure */
  run(
    words: Words<W>,
    given: Given<O>,
    context: Context,
    exitOf: (error: unknown) => number,
  ): Promise<number>;
}

/** Commands, by name. */
export type Commands<Context> = Readonly<Record<string, Command<Context>>>;

/** The commands of a subcommand. */
export interface CommandSet<Context, Common extends OptionSpecs> {
  /** Its name, such as `flows`. */
  readonly name: string;
  /** The words behind it, for the help. */
  readonly usage: string;
  /** Its purpose and its exit codes, for the help. */
  readonly about: string;
  readonly exits: string;
  /** Options that every command has. */
  readonly common: Common;
  readonly commands: Commands<Context>;
  readonly host: Printer & Moments;
  /** Runs a command with its context. */
  carryOut(given: Given<Common>, run: (context: Context) => Promise<number>): Promise<number>;
  /** The codes of errors by which a host or store that works refuses. */
  readonly answers: RegExp;
  /** A hint after a failure. */
  advice?(error: unknown, args: readonly string[]): string | undefined;
}

/** Where a command prints. */
export interface Printer {
  print(text: string): void;
  complain(text: string): void;
}

/** Runs a command with these arguments. Resolves with the exit code. */
export async function runCommands<Context, Common extends OptionSpecs>(
  set: CommandSet<Context, Common>,
  args: readonly string[],
): Promise<number> {
  const { host } = set;
  try {
    return await found(set, args);
  } catch (thrown) {
    const error: unknown = thrown instanceof Told ? thrown.cause : thrown;
    if (args.includes("--json") && !(thrown instanceof Told))
      host.print(failureText(error, commandOf(set, args[0])?.lines));
    host.complain(printable(`signalbox: ${error instanceof Error ? error.message : String(error)}`));
    const advice = set.advice?.(error, args);
    if (advice !== undefined) host.complain(advice);
    return answersNo(error, set.answers);
  }
}

function commandOf<Context>(
  { commands }: { readonly commands: Commands<Context> },
  name = "",
): Command<Context> | undefined {
  return Object.hasOwn(commands, name) ? commands[name] : undefined;
}

async function found<Context, Common extends OptionSpecs>(
  set: CommandSet<Context, Common>,
  [name, ...rest]: readonly string[],
): Promise<number> {
  if (name === undefined || name === "--help" || name === "-h") {
    set.host.print(overview(set));
    return EXIT.fine;
  }
  const command = commandOf(set, name);
  if (command === undefined) {
    const problem = name.startsWith("-")
      ? `the command comes before its options${hint(name, ["--help"])}`
      : `there is no command ${set.name} ${name}${hint(name, Object.keys(set.commands))}`;
    throw new Misuse(`${problem}\nsignalbox ${set.name} --help lists the commands`);
  }
  const asked = argumentsOf(set, name, command, rest);
  if (asked === "help") {
    set.host.print(helpOf(set, name, command));
    return EXIT.fine;
  }
  const { words, given, common } = asked;
  return set.carryOut(common, (context) =>
    command.run(words, given, context, (error) => answersNo(error, set.answers)),
  );
}

function argumentsOf<Context, Common extends OptionSpecs>(
  { name: subcommand, common, host }: CommandSet<Context, Common>,
  name: string,
  { words = [], options = {} }: Command<Context>,
  args: readonly string[],
): ParsedArguments<OptionSpecs, Common> | "help" {
  try {
    const asked = parseArguments<OptionSpecs, Common>(args, options, common, host);
    if (asked !== "help") checkWords(words, asked.words);
    return asked;
  } catch (error) {
    throw error instanceof Misuse
      ? new Misuse(
          `${subcommand} ${name}: ${error.message}\nsignalbox ${subcommand} ${name} --help shows its arguments`,
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

function overview<Context, Common extends OptionSpecs>(set: CommandSet<Context, Common>): string {
  const { name, usage, about, exits, commands } = set;
  const width = Math.max(...Object.keys(commands).map((one) => one.length));
  const lines = Object.entries(commands).map(([one, { summary }]) => `  ${one.padEnd(width)}  ${summary}`);
  return `usage: signalbox ${name} ${usage}

${about}

${lines.join("\n")}

  signalbox ${name} COMMAND --help   shows the arguments of a command

${exits}`;
}

function helpOf<Context, Common extends OptionSpecs>(
  set: CommandSet<Context, Common>,
  name: string,
  { words = [], summary, options }: Command<Context>,
): string {
  const all = Object.entries<OptionSpecs[string]>({ ...options, ...set.common });
  const named = all.map(([option, { value, short, help }]) => {
    const text = value === undefined ? "" : ` ${value}`;
    return [`--${option}${text}${short === undefined ? "" : `, -${short}${text}`}`, help];
  });
  const width = Math.max(...named.map(([option]) => (option as string).length));
  const lines = named.map(([option, help]) => `  ${(option as string).padEnd(width)}  ${help}`);
  return `usage: signalbox ${set.name} ${[name, ...words].join(" ")} [options]\n\n${summary}\n\n${lines.join("\n")}`;
}
