// Conditions on messages: a function, or data that YAML can hold.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { oneOf, text } from "../../process/options.js";

/** How a field compares with a value. `in`: is one of several values. `matches`: a regular expression, as text. */
export type Operator =
  | "eq"
  | "ne"
  | "lt"
  | "le"
  | "gt"
  | "ge"
  | "in"
  | "not in"
  | "contains"
  | "matches"
  | "exists"
  | "absent";

/** All operators. */
export const OPERATORS: readonly Operator[] = [
  "eq",
  "ne",
  "lt",
  "le",
  "gt",
  "ge",
  "in",
  "not in",
  "contains",
  "matches",
  "exists",
  "absent",
];

/** A condition on a field of a message, as data. */
export interface FieldCondition {
  /** The path of the field, such as `address.country`. Elements of an array have their index as name. Empty: the value itself. */
  readonly field: string;
  /** How it compares. */
  readonly operator: Operator;
  /** The value that it is compared with. Left out for `exists` and `absent`. */
  readonly value?: unknown;
}

/** When a message passes: a condition on a field, all of several, or a function. */
export type Condition<I = never> = FieldCondition | readonly FieldCondition[] | ((value: I) => boolean);

/** A condition that was checked, ready to use. */
export type Test = (value: unknown) => boolean;

/** A condition as a function that never throws on any value, unless it is the user's own. @throws OptionError */
export function testOf(path: string, condition: Condition): Test {
  if (typeof condition === "function") return condition as Test;
  if (!Array.isArray(condition)) return fieldTest(path, condition as FieldCondition);
  const all = condition.map((one, i) => fieldTest(`${path}[${i}]`, one));
  return (value) => all.every((test) => test(value));
}

function fieldTest(path: string, given: FieldCondition): Test {
  only(path, given, ["field", "operator", "value"]);
  const { field, value } = given;
  const operator = oneOf(`${path}.operator`, given.operator, OPERATORS);
  const names = field === "" ? [] : text(`${path}.field`, field).split(".");
  const compare = comparison(path, operator, value);
  return (message) => compare(fieldOf(message, names));
}

/** A field by its path; undefined if there is none. Only own properties: `constructor` is no field of an object. */
export function fieldOf(value: unknown, names: readonly string[]): unknown {
  let at = value;
  for (const name of names) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Record<string, unknown>)[name];
  }
  return at;
}

type Scalar = string | number | boolean | null;

function isScalar(value: unknown): value is Scalar {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}

/** Values of different types are never equal, and have no order. */
function comparison(path: string, operator: Operator, value: unknown): Test {
  const scalar = (): Scalar => {
    if (isScalar(value)) return value;
    throw new OptionError(`${path}.value`, value, `a text, number, boolean or null, for ${operator}`);
  };
  const ordered = (holds: (sign: number) => boolean): Test => {
    const right = scalar();
    return (left) =>
      typeof left === typeof right && left !== null && right !== null && (left as Scalar) !== right
        ? holds((left as number) < (right as number) ? -1 : 1)
        : left === right && holds(0);
  };
  switch (operator) {
    case "eq": {
      const right = scalar();
      return (left) => left === right;
    }
    case "ne": {
      const right = scalar();
      return (left) => left !== right;
    }
    case "lt":
      return ordered((sign) => sign < 0);
    case "le":
      return ordered((sign) => sign <= 0);
    case "gt":
      return ordered((sign) => sign > 0);
    case "ge":
      return ordered((sign) => sign >= 0);
    case "in":
    case "not in": {
      if (!(Array.isArray(value) && value.every(isScalar)))
        throw new OptionError(
          `${path}.value`,
          value,
          `a list of texts, numbers, booleans or null, for ${operator}`,
        );
      const among = new Set<unknown>(value);
      return operator === "in" ? (left) => among.has(left) : (left) => !among.has(left);
    }
    case "contains": {
      const part = scalar();
      return (left) =>
        typeof left === "string"
          ? typeof part === "string" && left.includes(part)
          : Array.isArray(left) && left.includes(part);
    }
    case "matches": {
      const pattern = patternOf(path, value);
      return (left) => typeof left === "string" && pattern.test(left);
    }
    case "exists":
    case "absent":
      if (value !== undefined) throw new OptionError(`${path}.value`, value, `absent, for ${operator}`);
      return operator === "exists" ? (left) => left !== undefined : (left) => left === undefined;
    default:
      return operator satisfies never;
  }
}

function patternOf(path: string, value: unknown): RegExp {
  if (typeof value === "string") {
    try {
      return new RegExp(value, "u");
    } catch {
      // Said below.
    }
  }
  throw new OptionError(`${path}.value`, value, "a regular expression, as text, for matches");
}
