// The arguments of a command: its words and its options, as node:util reads them. One parser for all subcommands. An option says how its text is
// read, and which option of an operation it gives.

import { alike } from "../../process/known-options.js";
import { parseArgs } from "./host.js";

/** An option of a command. */
export interface OptionSpec {
  /** Stands for its value in the help, such as `MS`. Without it, the option is a flag. */
  readonly value?: string;
  /** Can be given several times. */
  readonly many?: boolean;
  /** One letter that stands for its name, such as `o` for `-o`. */
  readonly short?: string;
  /** Its effect, for the help. */
  readonly help: string;
  /** The option must be given; the text of the error when it is not. */
  readonly needed?: string;
  /** The option of the operation that it gives. Default: its own name. */
  readonly gives?: string;
  /** Reads its text. Default: a text as it is, and true for a flag. @throws Misuse */
  read?(text: string, option: string, clock: Moments): unknown;
}

export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

/** The clock of the host, and how it reads moments. */
export interface Moments {
  /** Milliseconds since 1970. */
  now(): number;
  /** Reads a moment such as `2026-11-22` or `2026-11-22T18:00Z`; undefined when it is none. */
  moment(text: string): number | undefined;
}

type Read<S, Else> = S extends { read(...args: never[]): infer T } ? T : Else;
type ValueOf<S> = S extends { readonly value: string }
  ? S extends { readonly many: true }
    ? readonly Read<S, string>[]
    : Read<S, string>
  : Read<S, true>;

type Target<Name, S> = S extends { readonly gives: infer Other extends string } ? Other : Name;
type NeededIn<O> = { [Name in keyof O]: O[Name] extends { readonly needed: string } ? Name : never }[keyof O];

/** The values of the options that were given, under the names that operations have for them. */
export type Given<O extends OptionSpecs> = {
  readonly [Name in Exclude<keyof O & string, NeededIn<O>> as Target<Name, O[Name]>]?: ValueOf<O[Name]>;
} & {
  readonly [Name in keyof O & NeededIn<O> as Target<Name, O[Name]>]: ValueOf<O[Name]>;
};

/** The arguments of a command, taken apart. */
export interface ParsedArguments<Own extends OptionSpecs, Common extends OptionSpecs> {
  readonly words: readonly string[];
  /** The options of the command. */
  readonly given: Given<Own>;
  /** The options that its subcommand has for every command. */
  readonly common: Given<Common>;
}

/** Wrong arguments. The program ends with code 2. */
export class Misuse extends Error {}

/**
 * Takes arguments apart. `help` when they ask for it.
 *
 * @throws Misuse
 */
export function parseArguments<const Own extends OptionSpecs, const Common extends OptionSpecs>(
  args: readonly string[],
  own: Own,
  common: Common,
  clock: Moments,
): ParsedArguments<Own, Common> | "help" {
  const specs: OptionSpecs = { ...own, ...common };
  const texts = Object.entries(specs).map(([name, { value, short }]) => {
    const type: "string" | "boolean" = value === undefined ? "boolean" : "string";
    return [name, short === undefined ? { type } : { type, short }] as const;
  });
  const { tokens } = parseArgs({
    args: [...args],
    options: { ...Object.fromEntries(texts), help: { type: "boolean", short: "h" } },
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const words: string[] = [];
  const found = new Map<string, string[]>();
  for (const token of tokens) {
    if (token.kind === "positional") words.push(token.value);
    if (token.kind !== "option") continue;
    if (token.name === "help") return "help";
    found.set(token.name, [...(found.get(token.name) ?? []), textOf(token, specs)]);
  }
  return { words, given: givenOf(own, found, clock), common: givenOf(common, found, clock) };
}

/** Reads the texts of options. @throws Misuse */
function givenOf<O extends OptionSpecs>(
  specs: O,
  found: ReadonlyMap<string, readonly string[]>,
  clock: Moments,
): Given<O> {
  const given: Record<string, unknown> = {};
  for (const [name, spec] of Object.entries(specs)) {
    const { value, many, needed, gives = name } = spec;
    const values = found.get(name);
    if (values === undefined && needed !== undefined) throw new Misuse(needed);
    if (values === undefined) continue;
    if (value !== undefined && !many && values.length > 1) throw new Misuse(`--${name} can be given once`);
    const usual = (text: string): unknown => (value === undefined ? true : text);
    const all = values.map((text) => (spec.read === undefined ? usual(text) : spec.read(text, name, clock)));
    given[gives] = many ? all : all[0];
  }
  return given as Given<O>;
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
}

/** Empty for a flag. */
function textOf({ name, rawName, value, inlineValue }: OptionToken, specs: OptionSpecs): string {
  const named = Object.hasOwn(specs, name) ? specs[name] : undefined;
  const spec = rawName.startsWith("--") || rawName === `-${named?.short}` ? named : undefined;
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
