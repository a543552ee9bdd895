// The arguments of a command: its words and its options, as node:util reads them. One parser for all subcommands.

import { alike } from "../../process/known-options.js";
import { parseArgs } from "./host.js";

/** An option of a command. */
export interface OptionSpec {
  /** Stands for its value in the help, such as `MS`. Without it, the option is a flag. */
  readonly value?: string;
  /** Can be given several times. */
  readonly many?: boolean;
  /** What it does, for the help. */
  readonly help: string;
}

export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

/** The values of options, by name. */
export type Options<O extends OptionSpecs> = {
  readonly [Name in keyof O]: O[Name] extends { readonly value: string }
    ? O[Name] extends { readonly many: true }
      ? readonly string[]
      : string | undefined
    : boolean;
};

export interface Given<O extends OptionSpecs> {
  readonly words: readonly string[];
  readonly options: Options<O>;
}

/** Wrong arguments. The program ends with code 2. */
export class Misuse extends Error {}

/**
 * Takes arguments apart. `help` when they ask for it.
 *
 * @throws Misuse
 */
export function parseArguments<const O extends OptionSpecs>(
  args: readonly string[],
  specs: O,
): Given<O> | "help" {
  const texts = Object.entries(specs).map(([name, { value }]): [string, { type: "string" | "boolean" }] => [
    name,
    { type: value === undefined ? "boolean" : "string" },
  ]);
  const { tokens } = parseArgs({
    args: [...args],
    options: { ...Object.fromEntries(texts), help: { type: "boolean", short: "h" } },
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const words: string[] = [];
  const given = new Map<string, string[]>();
  for (const token of tokens) {
    if (token.kind === "positional") words.push(token.value);
    if (token.kind !== "option") continue;
    if (token.name === "help") return "help";
    given.set(token.name, [...(given.get(token.name) ?? []), textOf(token, specs)]);
  }
  const options = Object.entries(specs).map(([name, { value, many }]): [string, unknown] => {
    const values = given.get(name) ?? [];
    if (value === undefined) return [name, values.length > 0];
    if (many) return [name, values];
    if (values.length > 1) throw new Misuse(`--${name} can be given once`);
    return [name, values[0]];
  });
  return { words, options: Object.fromEntries(options) as Options<O> };
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
}

/** Empty for a flag. */
function textOf({ name, rawName, value, inlineValue }: OptionToken, specs: OptionSpecs): string {
  const spec = Object.hasOwn(specs, name) && rawName.startsWith("--") ? specs[name] : undefined;
  if (spec === undefined) throw new Misuse(`there is no option ${rawName}${hint(name, optionNames(specs))}`);
  if (spec.value === undefined) {
    if (inlineValue) throw new Misuse(`${rawName} takes no value`);
    return "";
  }
  // A negative number is a value; the next option is not.
  if (value === undefined || (!inlineValue && value.startsWith("--")))
    throw new Misuse(`${rawName} needs a value`);
  return value;
}

const optionNames = (specs: OptionSpecs): string[] =>
  [...Object.keys(specs), "help"].map((name) => `--${name}`);

const bare = (word: string): string => word.replace(/^--/, "");

/** `: did you mean list?`, or nothing when no known word is like this one. */
export function hint(word: string, known: readonly string[]): string {
  const found = known.filter((one) => alike([bare(one)], bare(word)).length > 0);
  return found.length > 0 ? `: did you mean ${found.join(" or ")}?` : "";
}
