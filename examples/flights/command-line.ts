// What the command lines of the examples share: Node's parser, and errors in one line.

import { type ParseArgsConfig, parseArgs } from "node:util";
import { InputError } from "./input-error.js";

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
