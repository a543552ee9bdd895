// The careful walk over a value that is not plain JSON: refuses what cannot be stored, with its path, and finds what devalue does
// not store by itself: errors, and objects with a key `__proto__`.

import { show } from "../../process/show.js";
import { errorRecord } from "./error-record.js";
import { UnstorableValueError } from "./errors.js";
import { MAX_DEPTH } from "./limits.js";
import { ADVICE, type BuiltIn, builtIn, isAnyError, isBuffer, isPlainObject } from "./storable.js";

/** An object that is stored as a record beside the value; `record` has its members. */
export interface Special {
  readonly kind: "error" | "dom" | "proto";
  /** From 1: devalue takes 0 for no answer. */
  readonly id: number;
  record: readonly unknown[];
}

/** The objects that need a record, in the order of their ids. */
export type Specials = Map<object, Special>;

/** A kind of object that a text holds as a word of its own, such as a pid. Its members are not looked at. */
export interface Leaf {
  /** The word for an object of this kind. Undefined: the object is of another kind. @throws UnstorableValueError */
  wordOf(object: object): string | undefined;
  /** The object for a word. @throws Error for a word that is none */
  revive(word: unknown): object;
}

/** Kinds of leaves by the names that they have in texts. */
export type Leaves = Readonly<Record<string, Leaf>>;

/** The findings of a survey. */
export interface Found {
  readonly specials: Specials;
  /** The leaves among the objects: the names of their kinds, and their words. */
  readonly leaves: ReadonlyMap<object, readonly [kind: string, word: string]>;
  /** Whether there are Buffers, which devalue would give back as Uint8Arrays. */
  readonly buffers: boolean;
}

/**
 * @throws UnstorableValueError with a path that begins at the value
 */
export function survey(value: unknown, leaves?: Leaves): Found {
  const walk = new Survey(leaves);
  walk.visit(value);
  return walk;
}

/** One step of a path; formatted only for an error. */
type PathStep = string | number | { readonly text: string };

class Survey implements Found {
  readonly specials: Specials = new Map();
  readonly leaves = new Map<object, readonly [kind: string, word: string]>();
  buffers = false;
  /** In the order in which they were met, so that a part that turns out to be unstorable can be forgotten. */
  readonly #met = new Set<object>();
  /** From the value to the member that is looked at. After an error it stays where it was. */
  readonly #trail: PathStep[] = [];
  readonly #kinds: readonly (readonly [kind: string, leaf: Leaf])[];

  constructor(leaves: Leaves | undefined) {
    this.#kinds = leaves === undefined ? [] : Object.entries(leaves);
  }

  visit(value: unknown): void {
    switch (typeof value) {
      case "function":
        throw this.#refusal(`the function ${value.name || "(anonymous)"}`, ADVICE.function);
      case "symbol":
        throw this.#refusal(String(value), ADVICE.symbol);
      case "object":
        if (value === null || this.#met.has(value)) return;
        if (this.#trail.length >= MAX_DEPTH)
          throw this.#refusal(`nested in ${MAX_DEPTH} levels`, ADVICE.depth);
        this.#met.add(value);
        try {
          this.#members(value);
        } catch (error) {
          if (error instanceof UnstorableValueError) throw error;
          throw this.#refusal("a value that throws when it is read", ADVICE.hostile, error);
        }
    }
  }

  #members(value: object): void {
    if (this.#leaf(value)) return;
    if (isAnyError(value)) {
      this.#error(value);
      return;
    }
    const kind = Array.isArray(value) || isPlainObject(value) ? undefined : builtIn(value);
    if (kind?.type === "refused") throw this.#refusal(kind.found, kind.advice);
    this.#noSymbols(value);
    if (kind !== undefined) this.#builtIn(value, kind);
    else if (Array.isArray(value)) this.#array(value);
    else this.#object(value);
  }

  #leaf(value: object): boolean {
    for (const [kind, leaf] of this.#kinds) {
      const word = this.#wordOf(leaf, value);
      if (word === undefined) continue;
      this.leaves.set(value, [kind, word]);
      return true;
    }
    return false;
  }

  #wordOf(leaf: Leaf, value: object): string | undefined {
    try {
      return leaf.wordOf(value);
    } catch (error) {
      if (!(error instanceof UnstorableValueError)) throw error;
      throw this.#refusal(error.found, error.advice);
    }
  }

  #builtIn(value: object, kind: BuiltIn): void {
    if ("names" in kind) this.#noNames(value, kind.names);
    if (kind.type === "bytes" && isBuffer(value)) this.buffers = true;
    if (kind.type === "map") this.#map(value as Map<unknown, unknown>);
    if (kind.type === "set") {
      let i = 0;
      for (const item of value as Set<unknown>) this.#under({ text: `.item(${i++})` }, item);
    }
  }

  #array(array: readonly unknown[]): void {
    const prototype = Object.getPrototypeOf(array);
    // That of another realm is an array, too.
    if (prototype !== Array.prototype && !Array.isArray(prototype))
      throw this.#refusal("an array of a class of its own", "copy it with [...array]");
    for (const key of Object.keys(array)) {
      const index = Number(key);
      if (!(index < array.length) || String(index) !== key) {
        this.#trail.push(key);
        throw this.#refusal(
          "a named property of an array",
          "copy the array with [...array], or return an object",
        );
      }
      this.#member(array, key, index);
    }
  }

  #object(object: object): void {
    const keys = Object.keys(object);
    for (const key of keys) this.#member(object, key, key);
    if (!Object.hasOwn(object, "__proto__")) return;
    const special = this.#special(object, "proto");
    const members = keys.flatMap((key) => [key, (object as Record<string, unknown>)[key]]);
    special.record = [Object.getPrototypeOf(object) === null, ...members];
  }

  /** A member; reading may throw. */
  #member(of: object, key: string, step: PathStep): void {
    let value: unknown;
    try {
      value = (of as Record<string, unknown>)[key];
    } catch (error) {
      this.#trail.push(step);
      throw this.#refusal("a property that throws when it is read", ADVICE.hostile, error);
    }
    this.#under(step, value);
  }

  #under(step: PathStep, value: unknown): void {
    if (
      (typeof value === "object" && value !== null) ||
      typeof value === "function" ||
      typeof value === "symbol"
    ) {
      this.#trail.push(step);
      this.visit(value);
      this.#trail.pop();
    }
  }

  #map(map: Map<unknown, unknown>): void {
    let i = 0;
    for (const [key, value] of map) {
      this.#under({ text: `.key(${i++})` }, key);
      if (typeof value === "object" || typeof value === "function" || typeof value === "symbol")
        this.#under({ text: `.get(${show(key)})` }, value);
    }
  }

  /** An error is always storable: a property that is not becomes a short text. */
  #error(error: Error): void {
    const dom = builtIn(error).type === "dom";
    const special = this.#special(error, dom ? "dom" : "error");
    special.record = errorRecord(error, (value, key) => {
      const [trail, met, specials] = [this.#trail.length, this.#met.size, this.specials.size];
      try {
        this.#under(key, value);
        return value;
      } catch {
        this.#trail.length = trail;
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

  #noSymbols(value: object): void {
    for (const symbol of Object.getOwnPropertySymbols(value)) {
      const hidden = Object.getOwnPropertyDescriptor(value, symbol)?.enumerable !== true;
      // These two make `arguments` and namespaces such as Math; other hidden properties are not data.
      if (hidden && symbol !== Symbol.iterator && symbol !== Symbol.toStringTag) continue;
      this.#trail.push({ text: `[${String(symbol)}]` });
      throw this.#refusal("a property under a symbol", "name the property with a text, or leave it out");
    }
  }

  /** Requires that a Date, a Map and so on has no properties of its own. */
  #noNames(value: object, names: number): void {
    const own = Object.keys(value);
    if (own.length === names) return;
    this.#trail.push(own.at(-1) as string);
    throw this.#refusal(
      "a property of a built-in object",
      "return the value and the property as members of an object",
    );
  }

  #refusal(found: string, advice: string, cause?: unknown): UnstorableValueError {
    const path = this.#trail.map(textOf).join("");
    return new UnstorableValueError(path, found, advice, cause === undefined ? {} : { cause });
  }
}

/** Removes what was added after the first `size` members. */
function forget(from: Set<object> | Specials, size: number): void {
  for (const late of [...from.keys()].slice(size)) from.delete(late);
}

const IDENTIFIER = /^[a-zA-Z_$][a-zA-Z_$0-9]*$/;

function textOf(step: PathStep): string {
  if (typeof step === "number") return `[${step}]`;
  if (typeof step === "object") return step.text;
  return IDENTIFIER.test(step) ? `.${step}` : `[${show(step)}]`;
}
