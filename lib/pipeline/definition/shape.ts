// Shapes of plain data: what an object of options may hold. One shape checks a value, with all of its faults, and is written as JSON
// Schema for editors.

import { show } from "../../process/show.js";
import { faultAt, type KeyedFault, type Keys, shortened, suggestionFor } from "./fault.js";

/** A number: at least `least`, at most `most`. */
export interface NumberShape {
  readonly type: "number";
  readonly whole: boolean;
  readonly least?: number;
  /** The number is more than this. */
  readonly above?: number;
  readonly most?: number;
  readonly orInfinity?: boolean;
  /** The things that the number counts or measures, in the plural. */
  readonly of?: string;
}

/** A text. With a pattern, `allowed` says in words what it allows. */
export interface TextShape {
  readonly type: "text";
  readonly pattern?: RegExp;
  readonly allowed: string;
}

/** An object with known fields. */
export interface ObjectShape {
  readonly type: "object";
  readonly fields: Readonly<Record<string, Field>>;
  /** Names the object for code that knows more of it than its shape says. */
  readonly kind?: string;
}

/** A field of an object. */
export interface Field {
  readonly shape: Shape;
  /** For people, in editors. */
  readonly description: string;
  /** Default false. */
  readonly required?: boolean;
}

/** The values that are allowed. */
export type Shape =
  | NumberShape
  | TextShape
  | ObjectShape
  | { readonly type: "flag" }
  | { readonly type: "any" }
  | { readonly type: "words"; readonly words: readonly (string | number)[] }
  | { readonly type: "list"; readonly of: Shape; readonly least?: number }
  | { readonly type: "record"; readonly key: TextShape; readonly of: Shape; readonly least?: number }
  /** One of several, told apart by what kind of value it is. */
  | { readonly type: "either"; readonly forms: readonly Shape[] };

/** A whole number. */
export function whole(least: number, of: string, orInfinity = false): NumberShape {
  return { type: "number", whole: true, least, of, orInfinity };
}

/** A duration in milliseconds. */
export function milliseconds(least: number): NumberShape {
  return { type: "number", whole: false, least, of: "milliseconds" };
}

/** A share, 0 to 1. */
export const SHARE: NumberShape = { type: "number", whole: false, least: 0, most: 1 };

/** A value in the text of a fault. */
type Shown = (value: unknown, keys: Keys) => string;

/**
 * All faults of a value. Members that are undefined count as left out.
 *
 * @param shown - writes what was found
 */
export function shapeFaults(
  shape: Shape,
  value: unknown,
  keys: Keys = [],
  shown: Shown = foundText,
): KeyedFault[] {
  const faults: KeyedFault[] = [];
  visit(shape, value, keys, { faults, shown });
  return faults;
}

/** Where faults go. */
interface Sink {
  readonly faults: KeyedFault[];
  readonly shown: Shown;
}

function visit(shape: Shape, value: unknown, keys: Keys, sink: Sink): void {
  const form = shape.type === "either" ? shape.forms.find((one) => isKind(one, value)) : undefined;
  if (form !== undefined) visit(form, value, keys, sink);
  else if (!fits(shape, value)) {
    sink.faults.push(faultAt(keys, allowedBy(shape), sink.shown(value, keys), suggested(shape, value)));
  } else if (shape.type === "list") {
    for (const [i, one] of (value as readonly unknown[]).entries()) visit(shape.of, one, [...keys, i], sink);
  } else if (shape.type === "record") visitRecord(shape, value as object, keys, sink);
  else if (shape.type === "object") visitObject(shape, value as object, keys, sink);
}

/** Whether a value is what a shape allows, its members apart. */
function fits(shape: Shape, value: unknown): boolean {
  switch (shape.type) {
    case "number":
      return isNumber(shape, value);
    case "text":
      return typeof value === "string" && (shape.pattern?.test(value) ?? true);
    case "list":
      return Array.isArray(value) && value.length >= (shape.least ?? 0);
    default:
      return isKind(shape, value);
  }
}

function visitObject({ fields }: ObjectShape, value: object, keys: Keys, sink: Sink): void {
  const known = Object.keys(fields);
  for (const [name, inner] of Object.entries(value)) {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (field === undefined) {
      const found = `the unknown name ${JSON.stringify(shortened(name))}`;
      sink.faults.push(
        faultAt([...keys, name], `one of ${known.join(", ")}`, found, suggestionFor(known, name), true),
      );
    } else if (inner !== undefined) visit(field.shape, inner, [...keys, name], sink);
  }
  for (const [name, { shape, required }] of Object.entries(fields)) {
    if (required !== true || (value as Record<string, unknown>)[name] !== undefined) continue;
    sink.faults.push(faultAt([...keys, name], allowedBy(shape), "nothing", undefined, true));
  }
}

function visitRecord(shape: Extract<Shape, { type: "record" }>, value: object, keys: Keys, sink: Sink): void {
  const entries = Object.entries(value);
  if (entries.length < (shape.least ?? 0)) sink.faults.push(faultAt(keys, allowedBy(shape), "nothing in it"));
  for (const [name, inner] of entries) {
    if (shape.key.pattern?.test(name) === false) {
      const found = `the name ${JSON.stringify(shortened(name))}`;
      sink.faults.push(faultAt([...keys, name], shape.key.allowed, found, undefined, true));
    }
    visit(shape.of, inner, [...keys, name], sink);
  }
}

function isNumber({ whole, least, above, most, orInfinity }: NumberShape, value: unknown): boolean {
  if (orInfinity === true && value === Number.POSITIVE_INFINITY) return true;
  if (typeof value !== "number" || !Number.isFinite(value) || (whole && !Number.isSafeInteger(value)))
    return false;
  if (above !== undefined && value <= above) return false;
  return !((least !== undefined && value < least) || (most !== undefined && value > most));
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a value is of the kind that a shape is about, regardless of its members. */
function isKind(shape: Shape, value: unknown): boolean {
  switch (shape.type) {
    case "any":
      return true;
    case "number":
      return typeof value === "number";
    case "text":
      return typeof value === "string";
    case "flag":
      return typeof value === "boolean";
    case "words":
      return shape.words.includes(value as string);
    case "list":
      return Array.isArray(value);
    case "record":
    case "object":
      return isObject(value);
    case "either":
      return shape.forms.some((one) => isKind(one, value));
    default:
      return shape satisfies never;
  }
}

function suggested(shape: Shape, value: unknown): string | undefined {
  const words = shape.type === "either" ? shape.forms : [shape];
  return suggestionFor(
    words.flatMap((one) => (one.type === "words" ? one.words.map(String) : [])),
    value,
  );
}

/** The values that a shape allows, in words. */
export function allowedBy(shape: Shape): string {
  switch (shape.type) {
    case "any":
      return "a value";
    case "number":
      return numbersOf(shape);
    case "text":
      return shape.allowed;
    case "flag":
      return "true or false";
    case "words":
      return shape.words.length === 1 ? String(shape.words[0]) : `one of ${shape.words.join(", ")}`;
    case "list":
      return `a list${shape.least === undefined ? "" : ` of ${shape.least} or more`}`;
    case "record":
      return `an object${shape.least === undefined ? "" : ` with ${shape.least} name or more`}`;
    case "object":
      return `an object of ${Object.keys(shape.fields).join(", ")}`;
    case "either":
      return shape.forms.map(allowedBy).join(", or ");
    default:
      return shape satisfies never;
  }
}

function numbersOf({ whole, least, above, most, orInfinity, of }: NumberShape): string {
  const kind = `a ${whole ? "whole " : ""}number${of === undefined ? "" : ` of ${of}`}`;
  if (above !== undefined)
    return `${kind}, more than ${above}${most === undefined ? "" : ` and at most ${most}`}`;
  const from = least ?? "any";
  const bounds = most === undefined ? `${from} or more` : `${from} to ${most}`;
  return `${kind}, ${bounds}${orInfinity === true ? ", or Infinity" : ""}`;
}

/** A value in the text of a fault. */
export function foundText(value: unknown): string {
  if (value === undefined || value === null) return "nothing";
  return show(value);
}
