// A schedule as one line of text, which fits into a report or an environment variable, and which replays the schedule.
//
//   sb1.    prefix and version of the format
//   number  count of the characters that follow
//   number  settings
//   word    hash of the scenario
//   word    digest of the run
//   for each choice other than 0, three numbers: zeros before it, its value minus 1, and the alternatives above it
//   word    CRC-32 of everything before it
//
// A character holds 6 bits. A word has six characters; a number has 5 bits in each character, the lowest first, as in source maps.

import { OptionError, SignalboxError } from "../../process/errors.js";
import { count, text } from "../../process/options.js";
import { show } from "../../process/show.js";
import { cut } from "./brief.js";

/** The content of a new token. */
export interface TokenInput {
  /** The name and settings of the scenario. The token holds only a hash of them, see {@link scenarioHash}. */
  readonly scenario: string;
  /** The decisions of the run, in order. */
  readonly choices: readonly number[];
  /** The number of alternatives of each choice. A choice other than 0 is smaller than its size. */
  readonly sizes: readonly number[];
  /** A 32-bit hash of everything that happened in the run. */
  readonly digest: number;
  /** A whole number for the caller's use. */
  readonly settings: number;
}

/** The content of a decoded token. */
export interface TokenContent {
  /** The {@link scenarioHash} of the scenario. */
  readonly scenario: number;
  /** The decisions up to the last one other than 0. After them, a run continues with zeros. */
  readonly choices: readonly number[];
  /** The size of each choice other than 0. Where the choice is 0, the size is 0 too, since 0 always fits. */
  readonly sizes: readonly number[];
  readonly digest: number;
  readonly settings: number;
}

/**
 * The damage of a token. `prefix`: the text does not begin like a token. `version`: another version of signalbox wrote it.
 * `characters`: it contains a character that no token has. `truncated`: its end is missing. `surplus`: something follows its
 * end. `checksum`: some characters were changed. `content`: its checksum fits, but no run has such a content.
 */
export type TokenProblem =
  | "prefix"
  | "version"
  | "characters"
  | "truncated"
  | "surplus"
  | "checksum"
  | "content";

/**
 * The text is not the token of a run, or not the whole token. `problem` says how it is damaged.
 *
 * @remedy Copy the token again, from its first to its last character.
 */
export class InvalidTokenError extends SignalboxError {
  static override readonly name: string = "InvalidTokenError";
  readonly code = "ERR_SIM_TOKEN";
  /** The kind of damage. */
  readonly problem: TokenProblem;
  constructor(problem: TokenProblem, detail: string) {
    super(`this is not the token of a run: ${detail}`);
    this.problem = problem;
  }
}

const VERSION = 1;
const PREFIX = `sb${VERSION}.`;
const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const VALUES: ReadonlyMap<string, number> = new Map([...DIGITS].map((digit, value) => [digit, value]));
/** Characters of a 32-bit number. */
const WORD = 6;
const MAX_WORD = 0xffff_ffff;
/** Limit on the choices of one token: a short token can stand for a long list of zeros. */
const MOST_CHOICES = 1_000_000;
const TOO_MANY = "1,000,000 at most";

/**
 * Writes a run as a token: one line of letters, digits, `-`, `_` and a dot. Zeros at the end of the choices are omitted, and
 * of the scenario only a hash is kept.
 *
 * @throws OptionError for a number that is not whole or out of range, and for more than 1,000,000 choices
 * @example
 * const token = encodeToken({ scenario: "two clerks", choices: [0, 2, 0], sizes: [2, 3, 2], digest: 7, settings: 0 });
 * console.log(decodeToken(token).choices); // [0, 2]
 */
export function encodeToken(run: TokenInput): string {
  const { choices, sizes } = run;
  if (sizes.length !== choices.length)
    throw new OptionError("sizes.length", sizes.length, `as many as there are choices, ${choices.length}`);
  let body = number(count("settings", run.settings, 0));
  body += word(scenarioHash(text("scenario", run.scenario)));
  body += word(word32("digest", run.digest));
  let zeros = 0;
  for (const [index, choice] of choices.entries()) {
    if (choice === 0) zeros++;
    else if (index >= MOST_CHOICES) throw new OptionError("choices.length", choices.length, TOO_MANY);
    else {
      const size = count(`sizes[${index}]`, sizes[index], count(`choices[${index}]`, choice, 0) + 1);
      body += number(zeros) + number(choice - 1) + number(size - choice - 1);
      zeros = 0;
    }
  }
  const token = PREFIX + number(body.length + WORD) + body;
  return token + word(crc(token));
}

/**
 * Reads a token. White space around it is ignored; any other change is detected.
 *
 * @throws InvalidTokenError
 * @example
 * const { scenario, settings } = decodeToken("sb1.WAAxbHmAAAAAAHBBAAiEFkB");
 * if (scenario !== scenarioHash("two clerks")) throw new Error(`a run of something else, with settings ${settings}`);
 */
export function decodeToken(text: string): TokenContent {
  const token = withPrefix(text);
  const reader = new Reader(token, PREFIX.length);
  checkWhole(token, reader.number() + reader.at);
  const settings = reader.number();
  if (!Number.isSafeInteger(settings)) throw strange("has settings that are too great a number");
  const scenario = reader.word();
  const digest = reader.word();
  const choices: number[] = [];
  const sizes: number[] = [];
  while (reader.at < token.length - WORD) {
    const zeros = reader.number();
    const choice = reader.number() + 1;
    const size = choice + reader.number() + 1;
    if (choices.length + zeros >= MOST_CHOICES) throw strange("stands for more than 1,000,000 choices");
    if (!Number.isSafeInteger(size)) throw strange("has a choice of one among too many");
    for (let i = 0; i < zeros; i++) {
      choices.push(0);
      sizes.push(0);
    }
    choices.push(choice);
    sizes.push(size);
  }
  if (reader.at !== token.length - WORD) throw strange("ends amid a choice");
  return { scenario, choices, sizes, digest, settings };
}

/** The 32 bits that a token keeps of its scenario: FNV-1a over the UTF-16 of the text, with one more mixing step at the end. */
export function scenarioHash(scenario: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < scenario.length; i++) {
    const unit = scenario.charCodeAt(i);
    hash = Math.imul(hash ^ (unit & 0xff), 0x01000193);
    hash = Math.imul(hash ^ (unit >>> 8), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

// ── checks, from simple damage to foreign content ───────────────────────────────────────────────────────────────────

function withPrefix(given: string): string {
  if (typeof given !== "string") throw new InvalidTokenError("prefix", `it is no text but ${show(given)}`);
  const token = given.trim();
  const version = /^sb(0|[1-9]\d*)\./.exec(token)?.[1];
  if (version === undefined) {
    throw token !== "" && PREFIX.startsWith(token)
      ? new InvalidTokenError("truncated", `it is no more than its first characters, ${show(token)}`)
      : new InvalidTokenError("prefix", `it begins with ${show(cut(token, 10))}, not with "${PREFIX}"`);
  }
  if (Number(version) !== VERSION) {
    const age = Number(version) > VERSION ? "a newer" : "an older";
    const hint = `use that one, or make the token again with this one, which reads format ${VERSION}`;
    throw new InvalidTokenError("version", `${age} signalbox wrote it, in format ${version}; ${hint}`);
  }
  const odd = /[^\w-]/u.exec(token.slice(PREFIX.length));
  if (odd !== null) {
    const place = odd.index + PREFIX.length + 1;
    throw new InvalidTokenError("characters", `${show(odd[0])}, its character ${place}, is in no token`);
  }
  return token;
}

function checkWhole(token: string, length: number): void {
  const mangled = "its checksum does not fit: some of its characters are not what they were";
  if (length === Number.POSITIVE_INFINITY) throw new InvalidTokenError("checksum", mangled);
  if (token.length < length)
    throw truncated(`it says that it has ${length} characters, and these are ${token.length}`);
  if (token.length > length) {
    const surplus = token.length - length;
    throw new InvalidTokenError("surplus", `it has ${length} characters, and ${surplus} come after them`);
  }
  const begin = token.slice(0, -WORD);
  if (begin + word(crc(begin)) !== token) throw new InvalidTokenError("checksum", mangled);
}

function truncated(detail: string): InvalidTokenError {
  return new InvalidTokenError("truncated", `${detail}; copy all of it`);
}

/** For a token whose checksum fits: it was not damaged, but encodeToken did not write it. */
function strange(what: string): InvalidTokenError {
  return new InvalidTokenError("content", `it ${what}; encodeToken writes no such token`);
}

function word32(path: string, value: number): number {
  if (count(path, value, 0) > MAX_WORD)
    throw new OptionError(path, value, "a whole number of 32 bits, not negative");
  return value;
}

// ── numbers ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Writes a whole number: 5 bits a character; the highest bit says that another character follows. */
function number(value: number): string {
  let text = "";
  let rest = value;
  for (; rest >= 32; rest = Math.floor(rest / 32)) text += DIGITS[(rest % 32) + 32];
  return text + DIGITS[rest];
}

/** 32 bits, 6 a character, the highest first. */
function word(value: number): string {
  let text = "";
  for (let i = 0, rest = value; i < WORD; i++, rest = Math.floor(rest / 64)) text = DIGITS[rest % 64] + text;
  return text;
}

class Reader {
  at: number;
  readonly #token: string;

  constructor(token: string, at: number) {
    this.#token = token;
    this.at = at;
  }

  /** Infinity when it is too great to be exact. */
  number(): number {
    for (let value = 0, unit = 1; ; unit *= 32) {
      const digit = this.#digit();
      value += (digit % 32) * unit;
      if (Math.max(value, unit) > Number.MAX_SAFE_INTEGER) return Number.POSITIVE_INFINITY;
      if (digit < 32) return value;
    }
  }

  word(): number {
    let value = 0;
    for (let i = 0; i < WORD; i++) value = value * 64 + this.#digit();
    if (value > MAX_WORD) throw strange("has a hash of more than 32 bits");
    return value;
  }

  #digit(): number {
    const char = this.#token[this.at++];
    if (char === undefined) throw truncated("it ends amid a number");
    return VALUES.get(char) as number;
  }
}

/** CRC-32 of ISO-HDLC, as zip and PNG have it; the text is ASCII. */
function crc(text: string): number {
  let sum = 0xffff_ffff;
  for (let i = 0; i < text.length; i++) {
    sum ^= text.charCodeAt(i);
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb8_8320 : 0);
  }
  return ~sum >>> 0;
}
