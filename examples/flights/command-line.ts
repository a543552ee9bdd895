// What the command lines of the examples share: Node's parser, the help, and errors in one line.

import { type ParseArgsConfig, parseArgs } from "node:util";
import { InputError } from "./input-error.js";

/** Where text goes: `process.stdout`, or something like it. */
export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}

/** A command, for {@link command}. */
export interface Command<Options> {
  /** @throws InputError */
  readonly parse: (args: readonly string[]) => Options | "help";
  readonly help: string;
  /** @returns the exit code. @throws InputError */
  readonly run: (options: Options) => Promise<number>;
}

/** Runs a command. @returns its exit code; 0 for `--help`; 2 for a mistake of the person at the keyboard, told in one line */
export async function command<Options>(
  args: readonly string[],
  out: Output,
  err: Output,
  { parse, help, run }: Command<Options>,
): Promise<number> {
  try {
    const options = parse(args);
    if (options !== "help") return await run(options);
    out.write(help);
    return 0;
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    err.write(`${error.message}\n`);
    return 2;
  }
}

/** Options of a command line. */
export const TEXT = { type: "string" } as const;
export const FLAG = { type: "boolean" } as const;
export const HELP_FLAG = { type: "boolean", short: "h" } as const;

/** The largest whole number of an option that has no limit of its own. */
const LARGEST = 0xffff_ffff;

/** @throws InputError for an option that is not there, or lacks its value */
export function parsed<T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config);
  } catch (error) {
    // Node's own text goes on for several sentences; the first one says it.
    const [said = ""] = (error as Error).message.split(/\n|\. /);
    throw new InputError(`${said.replace(/\.$/, "")}; --help lists the options`);
  }
}

/** A whole number. Undefined: it is not given. @throws InputError */
export function whole(
  name: string,
  text: string | undefined,
  least: number,
  most: number = LARGEST,
): number | undefined {
  if (text === undefined) return undefined;
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new InputError(`${name} is "${text}", expected a whole number from ${least} to ${most}`);
}
