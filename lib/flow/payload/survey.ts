// The careful walk over a value that is not plain JSON: refuses what cannot be stored, with its path, and finds what devalue does
// not store by itself: errors, and objects with a key `__proto__`.

import { show } from "../../process/show.js";
import { errorRecord } from "./error-record.js";
import { UnstorableValueError } from "./errors.js";
import { MAX_DEPTH } from "./limits.js";
import { ADVICE, type BuiltIn, builtIn, isAnyError, isPlainObject } from "./storable.js";

/** An object that is stored as a record beside the value; `record` has its members. */
export interface Special {
  readonly kind: "error" | "dom" | "proto";
  /** From 1: devalue takes 0 for no answer. */
  readonly id: number;
  record: readonly unknown[];
}

/** What a survey has found. */
export type Specials = Map<object, Special>;

/**
 * @returns the objects that need a record, in the order of their ids
 * @throws UnstorableValueError with a path that begins at the value
 */
export function survey(value: unknown): Specials {
  const walk = new Survey();
  walk.visit(value, "", 0);
  return walk.specials;
}

class Survey {
  readonly specials: Specials = new Map();
  /** In the order in which they were met, so that a part that turns out to be unstorable can be forgotten. */
  readonly #met = new Set<object>();

  visit(value: unknown, path: string, depth: number): void {
    switch (typeof value) {
      case "function":
        throw new UnstorableValueError(path, `the function ${value.name || "(anonymous)"}`, ADVICE.function);
      case "symbol":
        throw new UnstorableValueError(path, String(value), ADVICE.symbol);
      case "object":
        if (value === null || this.#met.has(value)) return;
        if (depth >= MAX_DEPTH)
          throw new UnstorableValueError(path, `nested in ${MAX_DEPTH} levels`, ADVICE.depth);
        this.#met.add(value);
        try {
          this.#members(value, path, depth + 1);
        } catch (error) {
          if (error instanceof UnstorableValueError) throw error;
          throw new UnstorableValueError(path, "a value that throws when it is read", ADVICE.hostile, {
            cause: error,
          });
        }
    }
  }

  #members(value: object, path: string, depth: number): void {
    if (isAnyError(value)) {
      this.#error(value, path, depth);
      return;
    }
    const kind = Array.isArray(value) || isPlainObject(value) ? undefined : builtIn(value);
    if (kind?.type === "refused") throw new UnstorableValueError(path, kind.found, kind.advice);
    this.#noSymbols(value, path);
    if (kind !== undefined) this.#builtIn(value, kind, path, depth);
    else if (Array.isArray(value)) this.#array(value, path, depth);
    else this.#object(value, path, depth);
  }

  #builtIn(value: object, kind: BuiltIn, path: string, depth: number): void {
    if ("names" in kind) this.#noNames(value, path, kind.names);
    if (kind.type === "map") this.#map(value as Map<unknown, unknown>, path, depth);
    if (kind.type === "set") {
      let i = 0;
      for (const item of value as Set<unknown>) this.visit(item, `${path}.item(${i++})`, depth);
    }
  }

  #array(array: readonly unknown[], path: string, depth: number): void {
    if (!isArrayPrototype(Object.getPrototypeOf(array)))
      throw new UnstorableValueError(path, "an array of a class of its own", "copy it with [...array]");
    for (const key of Object.keys(array)) {
      if (!isIndex(key, array.length))
        throw new UnstorableValueError(
          `${path}${segment(key)}`,
          "a named property of an array",
          "copy the array with [...array], or return an object",
        );
      this.#member(array, key, `${path}[${key}]`, depth);
    }
  }

  #object(object: object, path: string, depth: number): void {
    for (const key of Object.keys(object)) this.#member(object, key, path + segment(key), depth);
    if (!Object.hasOwn(object, "__proto__")) return;
    const special = this.#special(object, "proto");
    const members = Object.keys(object).flatMap((key) => [key, (object as Record<string, unknown>)[key]]);
    special.record = [Object.getPrototypeOf(object) === null, ...members];
  }

  /** A member; reading may throw. */
  #member(of: object, key: string, path: string, depth: number): void {
    let value: unknown;
    try {
      value = (of as Record<string, unknown>)[key];
    } catch (error) {
      throw new UnstorableValueError(path, "a property that throws when it is read", ADVICE.hostile, {
        cause: error,
      });
    }
    this.visit(value, path, depth);
  }

  #map(map: Map<unknown, unknown>, path: string, depth: number): void {
    let i = 0;
    for (const [key, value] of map) {
      this.visit(key, `${path}.key(${i++})`, depth);
      this.visit(value, `${path}.get(${show(key)})`, depth);
    }
  }

  /** An error is always storable: a property that is not becomes a short text. */
  #error(error: Error, path: string, depth: number): void {
    const dom = builtIn(error).type === "dom";
    const special = this.#special(error, dom ? "dom" : "error");
    special.record = errorRecord(error, (value, key) => {
      const met = this.#met.size;
      const specials = this.specials.size;
      try {
        this.visit(value, path + segment(key), depth);
        return value;
      } catch {
        forget(this.#met, met);
        forget(this.specials, specials);
        return show(value);
      }
    });
  }

  #special(of: object, kind: Special["kind"]): Special {
    const special: Special = { kind, id: this.specials.size + 1, record: [] };
    this.specials.set(of, special);
    return special;
  }

  #noSymbols(value: object, path: string): void {
    for (const symbol of Object.getOwnPropertySymbols(value)) {
      const hidden = Object.getOwnPropertyDescriptor(value, symbol)?.enumerable !== true;
      // These two make `arguments` and namespaces such as Math; other hidden properties are not data.
      if (hidden && symbol !== Symbol.iterator && symbol !== Symbol.toStringTag) continue;
      throw new UnstorableValueError(
        `${path}[${String(symbol)}]`,
        "a property under a symbol",
        "name the property with a text, or leave it out",
      );
    }
  }

  /** Requires that a Date, a Map and so on has no properties of its own. */
  #noNames(value: object, path: string, names: number): void {
    const own = Object.keys(value);
    if (own.length === names) return;
    const advice = "return the value and the property as members of an object";
    throw new UnstorableValueError(
      path + segment(own.at(-1) as string),
      "a property of a built-in object",
      advice,
    );
  }
}

/** Removes what was added after the first `size` members. */
function forget(from: Set<object> | Specials, size: number): void {
  for (const late of [...from.keys()].slice(size)) from.delete(late);
}

/** Of this realm or another one. */
function isArrayPrototype(prototype: unknown): boolean {
  return prototype === Array.prototype || Array.isArray(prototype);
}

function isIndex(key: string, length: number): boolean {
  const index = Number(key);
  return Number.isInteger(index) && index >= 0 && index < length && String(index) === key;
}

const IDENTIFIER = /^[a-zA-Z_$][a-zA-Z_$0-9]*$/;

function segment(key: string): string {
  return IDENTIFIER.test(key) ? `.${key}` : `[${show(key)}]`;
}
