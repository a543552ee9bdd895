// Predicates over fields of the payload and tags of the consumer. A predicate is data: it can be printed, stored, sent and
// checked. A comparison with a missing field is false.

import { OptionError } from "../process/errors.js";
import { oneOf, text } from "../process/options.js";
import type { Envelope } from "./envelope.js";
import type { ConsumerView } from "./member.js";

type Scalar = string | number | boolean;

/** One side of a comparison: a field of the payload, a tag of the consumer, or a value. */
export type Operand =
  | {
      /** The path of a field of the payload: the name of each level, outermost first. */
      readonly payload: readonly string[];
    }
  | {
      /** The name of a tag of the consumer. */
      readonly tag: string;
    }
  | {
      /** A value to compare with. */
      readonly value: Scalar;
    };

/** How two operands compare: equal, not equal, less, less or equal, greater, greater or equal. */
export type Comparison = "eq" | "ne" | "lt" | "le" | "gt" | "ge";

/** A condition on the payload of an envelope and the tags of a consumer, as data. */
export type Predicate =
  | {
      /** `and`: all must be true. `or`: at least one must be true. */
      readonly op: "and" | "or";
      /** The predicates to combine. */
      readonly of: readonly Predicate[];
    }
  | {
      readonly op: "not";
      /** The predicate that must be false. */
      readonly of: Predicate;
    }
  | {
      /** The comparison that must hold. */
      readonly op: Comparison;
      /** The operand on the left of the comparison. */
      readonly left: Operand;
      /** The operand on the right of the comparison. */
      readonly right: Operand;
    }
  | {
      readonly op: "range";
      /** The operand that must lie within the bounds. */
      readonly of: Operand;
      /** The lowest value that is allowed. */
      readonly from: number | string;
      /** The highest value that is allowed. */
      readonly to: number | string;
    }
  | {
      readonly op: "exists";
      /** The field or tag that must exist. */
      readonly of: Operand;
    };

/**
 * A field of the payload, by its path. Elements of an array have their index as name.
 *
 * @example match.compare(match.payload("address.region"), "eq", match.tag("region"))
 */
export function payload(path: string): Operand {
  return { payload: text("path", path).split(".") };
}

/** A tag of the consumer, by its name. */
export function tag(name: string): Operand {
  return { tag: text("name", name) };
}

function operand(side: Operand | Scalar): Operand {
  return typeof side === "object" && side !== null ? side : { value: side };
}

/** Compares two operands. Values of different types are never equal and have no order. */
export function compare(left: Operand | Scalar, op: Comparison, right: Operand | Scalar): Predicate {
  oneOf("op", op, COMPARISONS);
  return checked({ op, left: operand(left), right: operand(right) });
}

/** True for values from `from` to `to`, both included. */
export function range(of: Operand, from: number | string, to: number | string): Predicate {
  return checked({ op: "range", of, from, to });
}

/** True when the field or tag exists. */
export function exists(of: Operand): Predicate {
  return checked({ op: "exists", of });
}

/** True when all of the predicates are true. */
export function and(...of: readonly Predicate[]): Predicate {
  return checked({ op: "and", of });
}

/** True when at least one of the predicates is true. */
export function or(...of: readonly Predicate[]): Predicate {
  return checked({ op: "or", of });
}

/** True when the predicate is false, also when it is false because a field is missing. */
export function not(of: Predicate): Predicate {
  return checked({ op: "not", of });
}

const COMPARISONS: readonly Comparison[] = ["eq", "ne", "lt", "le", "gt", "ge"];

function checked(predicate: Predicate): Predicate {
  checkPredicate("predicate", predicate);
  return predicate;
}

/** @internal Checks a predicate, which may come from outside the program. @throws OptionError that names the wrong part */
export function checkPredicate(path: string, predicate: unknown): void {
  const { op, of, left, right, from, to } = (predicate ?? {}) as Record<string, unknown>;
  if (op === "and" || op === "or") {
    if (!Array.isArray(of)) throw new OptionError(`${path}.of`, of, "a list of predicates");
    for (const [i, one] of of.entries()) checkPredicate(`${path}.of[${i}]`, one);
  } else if (op === "not") checkPredicate(`${path}.of`, of);
  else if (op === "exists") checkOperand(`${path}.of`, of);
  else if (op === "range") {
    checkOperand(`${path}.of`, of);
    checkBound(`${path}.from`, from);
    checkBound(`${path}.to`, to);
  } else if (COMPARISONS.includes(op as Comparison)) {
    checkOperand(`${path}.left`, left);
    checkOperand(`${path}.right`, right);
  } else throw new OptionError(path, predicate, "a predicate: and, or, not, compare, range or exists");
}

function checkOperand(path: string, of: unknown): void {
  const { payload: names, tag: name, value } = (of ?? {}) as Record<string, unknown>;
  if (Array.isArray(names) && names.every((one) => typeof one === "string")) return;
  if (typeof name === "string" || ["string", "number", "boolean"].includes(typeof value)) return;
  throw new OptionError(path, of, "payload(path), tag(name), or a text, number or boolean");
}

function checkBound(path: string, bound: unknown): void {
  if (typeof bound !== "number" && typeof bound !== "string")
    throw new OptionError(path, bound, "a number or a text");
}

/** @internal Whether the predicate holds for this envelope and this consumer. */
export function evaluate(predicate: Predicate, envelope: Envelope<unknown>, consumer: ConsumerView): boolean {
  switch (predicate.op) {
    case "and":
      return predicate.of.every((one) => evaluate(one, envelope, consumer));
    case "or":
      return predicate.of.some((one) => evaluate(one, envelope, consumer));
    case "not":
      return !evaluate(predicate.of, envelope, consumer);
    case "exists":
      return read(predicate.of, envelope, consumer) !== undefined;
    case "range": {
      const value = read(predicate.of, envelope, consumer);
      return holds("ge", value, predicate.from) && holds("le", value, predicate.to);
    }
    default: {
      const left = read(predicate.left, envelope, consumer);
      const right = read(predicate.right, envelope, consumer);
      return left !== undefined && right !== undefined && holds(predicate.op, left, right);
    }
  }
}

/** Only two numbers, or two strings, have an order. */
function holds(op: Comparison, left: unknown, right: unknown): boolean {
  if (op === "eq") return left === right;
  if (op === "ne") return left !== right;
  if (typeof left === "number" && typeof right === "number")
    return inOrder(op, left < right ? -1 : left > right ? 1 : 0);
  if (typeof left === "string" && typeof right === "string")
    return inOrder(op, left < right ? -1 : left > right ? 1 : 0);
  return false;
}

function inOrder(op: Exclude<Comparison, "eq" | "ne">, difference: number): boolean {
  switch (op) {
    case "lt":
      return difference < 0;
    case "le":
      return difference <= 0;
    case "gt":
      return difference > 0;
    case "ge":
      return difference >= 0;
    default:
      return op satisfies never;
  }
}

function read(from: Operand, envelope: Envelope<unknown>, consumer: ConsumerView): unknown {
  if ("value" in from) return from.value;
  if ("tag" in from) return Object.hasOwn(consumer.tags, from.tag) ? consumer.tags[from.tag] : undefined;
  let at: unknown = envelope.payload;
  for (const name of from.payload) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Record<string, unknown>)[name];
  }
  return at ?? undefined;
}
