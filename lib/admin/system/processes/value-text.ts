// A value as text for people, over several lines, and with bounded work for a value of any size. It calls no getter of the value, no
// `toString` and no `toJSON`: an accessor shows as `…`. Only dates are asked for their time.

import { Pid } from "../../../process/pid.js";
import { printable } from "../../../process/printable.js";
import { cut, isError, show } from "../../../process/show.js";

/** The limits of a text. */
export const TEXT_LIMITS = {
  /** Characters of the whole. */
  text: 20_000,
  /** Characters of one text in it. */
  string: 1_000,
  /** Items of one container. */
  items: 100,
  /** Levels. */
  depth: 8,
} as const;

/** A text, and whether something was left out. */
export interface ValueText {
  readonly text: string;
  readonly truncated: boolean;
}

/** Never throws. */
export function valueText(value: unknown): ValueText {
  const writer = new Writer();
  writer.write(value, 0);
  return { text: printable(cut(writer.text, TEXT_LIMITS.text)), truncated: writer.isCut };
}

class Writer {
  text = "";
  isCut = false;
  readonly #path: object[] = [];

  write(value: unknown, depth: number): void {
    try {
      this.#write(value, depth);
    } catch {
      // A Proxy that throws, or a revoked one.
      this.text += "(cannot be read)";
    }
  }

  #write(value: unknown, depth: number): void {
    if (value === HIDDEN) this.text += "…";
    else if (typeof value === "string") this.#string(value);
    else if (typeof value !== "object" || value === null || value instanceof Pid || isError(value))
      this.text += show(value);
    else if (this.#path.includes(value)) this.text += "(contains itself)";
    else if (ArrayBuffer.isView(value)) this.text += `${className(value)}(${value.byteLength} bytes)`;
    else if (isDate(value)) this.text += value.toISOString();
    else if (depth === TEXT_LIMITS.depth) {
      this.isCut = true;
      this.text += show(value);
    } else {
      this.#path.push(value);
      this.#container(value, depth + 1);
      this.#path.pop();
    }
  }

  #string(value: string): void {
    if (value.length > TEXT_LIMITS.string) this.isCut = true;
    this.text += JSON.stringify(cut(value, TEXT_LIMITS.string));
  }

  #container(value: object, depth: number): void {
    if (Array.isArray(value)) this.#items("", "[", "]", value.length, indices(value), depth);
    else if (value instanceof Map) this.#items("Map ", "{", "}", value.size, value.entries(), depth, " => ");
    else if (value instanceof Set) this.#items("Set ", "{", "}", value.size, value.values(), depth);
    else {
      const keys = Object.keys(value);
      this.#items(className(value), "{", "}", keys.length, members(value, keys), depth, ": ");
    }
  }

  /** @param between - of pairs: what stands between the two */
  #items(
    title: string,
    open: string,
    close: string,
    count: number,
    items: Iterable<unknown>,
    depth: number,
    between?: string,
  ): void {
    this.text += title + open;
    let written = 0;
    for (const item of items) {
      if (written === TEXT_LIMITS.items || this.text.length > TEXT_LIMITS.text) {
        this.isCut = true;
        this.#line(depth, `… ${count - written} more`);
        break;
      }
      this.#line(depth, "");
      if (between === undefined) this.write(item, depth);
      else this.#pair(item as readonly [unknown, unknown], between, depth);
      if (++written < count) this.text += ",";
    }
    if (count > 0) this.#line(depth - 1, "");
    this.text += close;
  }

  #pair([key, value]: readonly [unknown, unknown], between: string, depth: number): void {
    if (between === ": ") this.text += IDENTIFIER.test(String(key)) ? String(key) : JSON.stringify(key);
    else this.write(key, depth);
    this.text += between;
    this.write(value, depth);
  }

  #line(depth: number, text: string): void {
    this.text += `\n${"  ".repeat(depth)}${text}`;
  }
}

const IDENTIFIER = /^[A-Za-z_$][\w$]{0,100}$/;

/** The value of an accessor, which is not called. */
const HIDDEN: unique symbol = Symbol("accessor");

function* members(value: object, keys: readonly string[]): Generator<readonly [string, unknown]> {
  for (const key of keys) yield [cut(key, TEXT_LIMITS.string), read(value, key)];
}

function* indices(value: readonly unknown[]): Generator<unknown> {
  for (let i = 0; i < value.length; i++) yield read(value, i);
}

function read(value: object, key: string | number): unknown {
  const property = Object.getOwnPropertyDescriptor(value, key);
  return property?.get === undefined ? property?.value : HIDDEN;
}

/** `Order ` of an instance of a class, and nothing of a plain object. */
function className(value: object): string {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || prototype === Object.prototype) return "";
  const maker: unknown = Object.getOwnPropertyDescriptor(prototype, "constructor")?.value;
  const name: unknown =
    typeof maker === "function" ? Object.getOwnPropertyDescriptor(maker, "name")?.value : undefined;
  return typeof name === "string" && name !== "" && name !== "Object" ? `${cut(name, 100)} ` : "";
}

/** Dates of any realm. One that is invalid throws, and cannot be read. */
const isDate = (value: object): value is { toISOString(): string } =>
  "getTime" in value && "toISOString" in value && typeof value.toISOString === "function";
