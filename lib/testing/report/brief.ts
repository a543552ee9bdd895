// Any message in one short line, for traces: deterministic, cheap, and without running code of the message.

import { count } from "../../process/options.js";
import { Pid } from "../../process/pid.js";

/** Options of {@link brief}. */
export interface BriefOptions {
  /** Most characters of the text, 1 or more. Default 60. */
  readonly most?: number;
  /** The name of a pid, for instance its path in the tree. Where it returns undefined, the pid's own text is used. */
  readonly nameOf?: (pid: Pid) => string | undefined;
  /** A text for an object, where the caller has a better one. */
  readonly describe?: (value: object) => string | undefined;
}

const MOST = 60;
/** Levels that are expanded; deeper values are shown closed. */
const DEPTH = 3;
/** Entries shown of each object, array, map and set. */
const ENTRIES = 5;
/** Characters shown of a string within a message; a UUID fits. */
const INNER_TEXT = 36;
/** Prototypes that are examined: a proxy may have an endless chain of them. */
const LINEAGE = 12;
/** A bigint beyond this is not printed: its digits take too long. */
const HUGE = 10n ** 80n;
const UNREADABLE = "(unreadable)";

/**
 * Writes any value as one line of at most `most` characters; `…` marks omissions. Plain data looks like source text, an
 * instance has its class name in front. Getters, `toJSON` and `toString` are not called. Only a proxy's traps run, because
 * they cannot be told from plain reading; if one throws, the text is `(unreadable)`. The cost does not grow with the value,
 * except for listing the keys of an object.
 *
 * @throws OptionError unless `most` is a whole number of at least 1
 * @example
 * console.log(brief({ type: "take", n: 2, from: [order] })); // {type: "take", n: 2, from: [{item: "tea", n: 1}]}
 */
export function brief(value: unknown, options: BriefOptions = {}): string {
  const most = options.most === undefined ? MOST : count("most", options.most, 1);
  const writer = new Writer(most, options);
  writer.write(value, []);
  return cut(writer.text, most);
}

const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const SHORT: { readonly [char: string]: string } = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** @internal The text with every character escaped that would break the line or be invisible. */
export function printable(text: string): string {
  return text.replace(
    UNPRINTABLE,
    (char) => SHORT[char] ?? `\\u{${(char.codePointAt(0) as number).toString(16)}}`,
  );
}

/** @internal The text, cut to `most` characters with `…` at the end. */
export function cut(text: string, most: number): string {
  return text.length <= most ? text : `${head(text, most - 1)}…`;
}

/** The beginning of a text; never half a surrogate pair. */
function head(text: string, most: number): string {
  const last = text.charCodeAt(most - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 && most < text.length ? most - 1 : most);
}

function quoted(text: string, most: number): string {
  const begin = head(text, most);
  const escaped = printable(begin.replace(/["\\]/g, "\\$&"));
  return `"${escaped}"${begin.length < text.length ? "…" : ""}`;
}

// ── writing ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A value to write, or a text to copy. */
type Part = { readonly value: unknown } | string;

/** The visible structure of an object. */
interface Listing {
  readonly open: string;
  readonly close: string;
  readonly entries: readonly (readonly Part[])[];
  /** The number of entries, including those not shown. */
  readonly size: number;
}

class Writer {
  text = "";
  readonly #most: number;
  readonly #options: BriefOptions;

  constructor(most: number, options: BriefOptions) {
    this.#most = most;
    this.#options = options;
  }

  write(value: unknown, above: readonly object[]): void {
    if ((typeof value !== "object" && typeof value !== "function") || value === null) {
      this.text += word(value, above.length === 0 ? this.#most : Math.min(INNER_TEXT, this.#most));
    } else if (above.includes(value)) {
      this.text += "(cycle)";
    } else {
      const seen = this.#options.describe?.(value) ?? look(value, this.#most);
      if (typeof seen === "string") this.text += seen;
      else if ("pid" in seen) this.text += printable(this.#options.nameOf?.(seen.pid) ?? seen.text);
      else this.#list(seen, [...above, value]);
    }
  }

  #list({ open, close, entries, size }: Listing, above: readonly object[]): void {
    this.text += open;
    if (above.length > DEPTH) this.text += size === 0 ? "" : "…";
    else {
      for (const [index, parts] of entries.entries()) {
        // The rest would be cut off.
        if (this.text.length > this.#most) return;
        if (index > 0) this.text += ", ";
        for (const part of parts) {
          if (typeof part === "string") this.text += part;
          else this.write(part.value, above);
        }
      }
      if (size > entries.length) this.text += `, … ${size - entries.length} more`;
    }
    this.text += close;
  }
}

/** The text of a primitive value. */
function word(value: unknown, most: number): string {
  switch (typeof value) {
    case "string":
      return quoted(value, most);
    case "symbol":
      return `Symbol(${printable(cut(value.description ?? "", most))})`;
    case "bigint":
      return value < HUGE && value > -HUGE ? `${value}n` : "(huge bigint)";
    case "number":
      return Object.is(value, -0) ? "-0" : String(value);
    default:
      return String(value);
  }
}

// ── looking ─────────────────────────────────────────────────────────────────────────────────────────────────────────

type Seen = string | { readonly pid: Pid; readonly text: string } | Listing;

function look(value: object, most: number): Seen {
  try {
    const line = lineage(value);
    if (typeof value === "function") return `ƒ ${label(peek(line, "name"), "(anonymous)")}`;
    if (line.includes(Pid.prototype))
      return { pid: value as Pid, text: Reflect.apply(Pid.prototype.toString, value, []) };
    if (line.includes(Error.prototype)) return errorText(line, most);
    return dateText(line) ?? collection(value, line) ?? plain(value, line);
  } catch {
    return UNREADABLE;
  }
}

/** The object, its prototype, and so on. */
function lineage(value: object): object[] {
  const line: object[] = [];
  for (let at: object | null = value; at !== null && line.length < LINEAGE; at = Reflect.getPrototypeOf(at))
    line.push(at);
  return line;
}

/** The value of an own or inherited property; undefined for an accessor, because reading it would run code. */
function peek(line: readonly object[], key: string): unknown {
  for (const at of line) {
    const property = Reflect.getOwnPropertyDescriptor(at, key);
    if (property !== undefined) return property.value;
  }
  return undefined;
}

/** The name, shortened; `otherwise` if there is no name. */
function label(name: unknown, otherwise: string): string {
  return typeof name === "string" && name !== "" ? printable(cut(name, INNER_TEXT)) : otherwise;
}

function className(line: readonly object[]): string {
  // An object without a prototype is shown like a literal.
  if (line.length === 1) return "Object";
  const made = peek(line.slice(1), "constructor");
  return label(typeof made === "function" ? peek([made], "name") : undefined, "(anonymous)");
}

function errorText(line: readonly object[], most: number): string {
  const name = peek(line, "name");
  // A class without a name of its own inherits "Error", or a getter.
  const called = typeof name === "string" && name !== "Error" ? label(name, "Error") : className(line);
  const message = peek(line, "message");
  return typeof message === "string" && message !== ""
    ? `${called}: ${printable(cut(message, most))}`
    : called;
}

const GENUINE = "function toISOString() { [native code] }";

/** Detects dates by the native method, which reads only the date: no other function has this source text. */
function dateText(line: readonly object[]): string | undefined {
  const method = peek(line, "toISOString");
  if (typeof method !== "function" || Reflect.apply(Function.prototype.toString, method, []) !== GENUINE)
    return undefined;
  try {
    return `Date ${String(Reflect.apply(method, line[0], []))}`;
  } catch (error) {
    return error instanceof RangeError ? "Date (invalid)" : undefined;
  }
}

function plain(value: object, line: readonly object[]): Listing {
  const keys = Object.keys(value);
  const name = className(line);
  const entries = keys
    .slice(0, ENTRIES)
    .map((key) => [
      `${/^[A-Za-z_$][\w$]*$/.test(key) && key.length <= INNER_TEXT ? key : quoted(key, INNER_TEXT)}: `,
      property(value, key),
    ]);
  return { open: name === "Object" ? "{" : `${name} {`, close: "}", entries, size: keys.length };
}

function property(value: object, key: string): Part {
  const found = Reflect.getOwnPropertyDescriptor(value, key);
  if (found === undefined) return "(hole)";
  return "value" in found ? { value: found.value } : "(getter)";
}

function collection(value: object, line: readonly object[]): Listing | undefined {
  if (Array.isArray(value)) {
    const size = Number(peek(line, "length"));
    const name = className(line);
    const entries = upTo(size, (i) => [property(value, String(i))]);
    return { open: name === "Array" ? "[" : `${name}(${size}) [`, close: "]", entries, size };
  }
  if (ArrayBuffer.isView(value) && !line.includes(DataView.prototype)) {
    const size = builtIn(Reflect.getPrototypeOf(Uint8Array.prototype) as object, "length", value);
    const entries = upTo(size, (i) => [{ value: (value as Uint8Array)[i] }]);
    return { open: `${className(line)}(${size}) [`, close: "]", entries, size };
  }
  if (line.includes(Map.prototype)) {
    const size = builtIn(Map.prototype, "size", value);
    const pairs = Map.prototype.entries.call(value) as Iterator<readonly [unknown, unknown], undefined>;
    const entries = upTo(size, () => {
      const [key, held] = pairs.next().value as readonly [unknown, unknown];
      return [{ value: key }, " => ", { value: held }];
    });
    return { open: `${className(line)}(${size}) {`, close: "}", entries, size };
  }
  if (line.includes(Set.prototype)) {
    const size = builtIn(Set.prototype, "size", value);
    const members = Set.prototype.values.call(value) as Iterator<unknown, undefined>;
    const entries = upTo(size, () => [{ value: members.next().value }]);
    return { open: `${className(line)}(${size}) {`, close: "}", entries, size };
  }
  return undefined;
}

function upTo(size: number, entry: (index: number) => Part[]): Part[][] {
  return Array.from({ length: Math.min(size, ENTRIES) }, (_, index) => entry(index));
}

/** Reads a getter of the language itself, which a user's class cannot have overridden. */
function builtIn(prototype: object, key: string, value: object): number {
  const getter = Reflect.getOwnPropertyDescriptor(prototype, key)?.get as () => number;
  return Reflect.apply(getter, value, []);
}
