// The difference between two JSON values, as a patch that makes the second out of the first. The feed sends patches, and the page applies them, so
// both sides load this file.
//
// Items of a list are compared by a field that names each of them, so a list that was only sorted anew is a few numbers. The order of items and of
// the keys of objects is part of the value: `applied` gives exactly what was compared. A patch is made of arrays alone, because a key may be any
// text, `__proto__` included.

import type { Json } from "../../admin/json-view.js";

/** What makes one value out of another. */
export type Patch =
  /** The new value. */
  | readonly ["=", Json]
  /** Of an object: the patches of its fields, the fields that are gone, and the order of all fields where it is another one. */
  | readonly [
      "o",
      patches: readonly (readonly [key: string, patch: Patch])[],
      gone: readonly string[],
      order?: readonly string[],
    ]
  /** Of a list: the runs that it is put together of, and the patches of items, by their places in the new list. */
  | readonly ["l", runs: readonly Run[], patches: readonly (readonly [place: number, patch: Patch])[]];

/** Items of a list that stand side by side: some of the list before, or new ones. */
export type Run = readonly [from: number, count: number] | readonly [items: readonly Json[]];

type JsonObject = { readonly [key: string]: Json };

/** Fields that name an item of a list, the first that all items have comes first. */
const NAMING = ["pid", "id", "key", "name", "number", "place"];

/** Most values that a comparison looks at. Parts beyond that are replaced instead of compared. */
const MOST_COMPARED = 200_000;

/**
 * The patch that makes `after` out of `before`, or undefined when they are equal. Its cost grows with the size of the two values, and is bounded:
 * parts beyond the first 200,000 values are replaced.
 *
 * @param most - how many values are compared
 */
export function difference(before: Json, after: Json, most: number = MOST_COMPARED): Patch | undefined {
  return new Comparison(most).patch(before, after);
}

/** The value that `difference` was given as `after`. @throws TypeError when the patch was made for another value */
export function applied(before: Json, patch: Patch): Json {
  switch (patch[0]) {
    case "=":
      return patch[1];
    case "o":
      return appliedToObject(isObject(before) ? before : mismatch(), patch);
    case "l":
      return appliedToList(isList(before) ? before : mismatch(), patch);
    default:
      return patch satisfies never;
  }
}

class Comparison {
  #left: number;

  constructor(most: number) {
    this.#left = most;
  }

  patch(before: Json, after: Json): Patch | undefined {
    if (before === after) return undefined;
    if (--this.#left <= 0) return ["=", after];
    if (isList(before)) return isList(after) ? this.#list(before, after) : ["=", after];
    if (isObject(before) && isObject(after)) return this.#object(before, after);
    return ["=", after];
  }

  #object(before: JsonObject, after: JsonObject): Patch | undefined {
    const was = Object.keys(before);
    const is = Object.keys(after);
    const patches: (readonly [string, Patch])[] = [];
    // Mostly the fields are the same.
    if (was.length === is.length && is.every((key, i) => key === was[i])) {
      for (const key of is) this.#field(key, before[key] as Json, after[key] as Json, patches);
      return patches.length === 0 ? undefined : ["o", patches, []];
    }
    const kept: string[] = [];
    const gone: string[] = [];
    for (const key of was) (Object.hasOwn(after, key) ? kept : gone).push(key);
    const added: string[] = [];
    for (const key of is) {
      const now = after[key] as Json;
      if (Object.hasOwn(before, key)) this.#field(key, before[key] as Json, now, patches);
      else {
        added.push(key);
        patches.push([key, ["=", now]]);
      }
    }
    const usual = [...kept, ...added];
    return is.some((key, i) => key !== usual[i]) ? ["o", patches, gone, is] : ["o", patches, gone];
  }

  #field(key: string, before: Json, after: Json, patches: (readonly [string, Patch])[]): void {
    const patch = this.patch(before, after);
    if (patch !== undefined) patches.push([key, patch]);
  }

  #list(before: readonly Json[], after: readonly Json[]): Patch | undefined {
    const places = placesOf(before, after);
    const runs: Run[] = [];
    const patches: (readonly [number, Patch])[] = [];
    const from = places === undefined ? this.#byPlace(before, after) : places;
    for (const [place, item] of after.entries()) {
      const old = from(item, place);
      if (old === undefined) addNew(runs, item);
      else {
        addKept(runs, old);
        const patch = this.patch(before[old] as Json, item);
        if (patch !== undefined) patches.push([place, patch]);
      }
    }
    const isWhole = isAllOf(runs, before.length);
    return isWhole && patches.length === 0 ? undefined : ["l", runs, patches];
  }

  /** Items without names: those before and behind a change stay, and as many as were there are compared one by one. */
  #byPlace(
    before: readonly Json[],
    after: readonly Json[],
  ): (item: Json, place: number) => number | undefined {
    const shorter = Math.min(before.length, after.length);
    const grown = after.length - before.length;
    if (grown === 0) return (_item, place) => place;
    let ahead = 0;
    while (ahead < shorter && this.#isEqual(before[ahead] as Json, after[ahead] as Json)) ahead++;
    let behind = 0;
    while (
      behind < shorter - ahead &&
      this.#isEqual(before.at(-1 - behind) as Json, after.at(-1 - behind) as Json)
    )
      behind++;
    return (_item, place) => {
      if (place < ahead) return place;
      return place >= after.length - behind ? place - grown : undefined;
    };
  }

  #isEqual(a: Json, b: Json): boolean {
    return this.patch(a, b) === undefined;
  }
}

type Places = (item: Json, place: number) => number | undefined;

/** Where items of `after` stand in `before`, by the field that names the items of both. Undefined: there is no such field. */
function placesOf(before: readonly Json[], after: readonly Json[]): Places | undefined {
  if (before.length === 0 || after.length === 0) return undefined;
  const name = NAMING.find((one) => isNamedBy(before, one));
  if (name === undefined || !isNamedBy(after, name)) return undefined;
  const places = new Map(before.map((item, place) => [(item as JsonObject)[name], place]));
  return (item) => places.get((item as JsonObject)[name]);
}

/** Whether each item is an object with this field, a text or a number that no other item has. */
function isNamedBy(items: readonly Json[], name: string): boolean {
  const seen = new Set<Json>();
  for (const item of items) {
    if (!isObject(item) || !Object.hasOwn(item, name)) return false;
    const value = item[name];
    if (typeof value !== "string" && typeof value !== "number") return false;
    if (seen.size === seen.add(value).size) return false;
  }
  return true;
}

function addNew(runs: Run[], item: Json): void {
  const last = runs.at(-1);
  if (last?.length === 1) (last[0] as Json[]).push(item);
  else runs.push([[item]]);
}

function addKept(runs: Run[], place: number): void {
  const last = runs.at(-1);
  if (last?.length === 2 && last[0] + last[1] === place) runs[runs.length - 1] = [last[0], last[1] + 1];
  else runs.push([place, 1]);
}

/** Whether the runs are the list before, in one piece. */
function isAllOf(runs: readonly Run[], length: number): boolean {
  const [first] = runs;
  if (first === undefined) return length === 0;
  return runs.length === 1 && first.length === 2 && first[0] === 0 && first[1] === length;
}

function appliedToObject(
  before: JsonObject,
  [, patches, gone, order]: Extract<Patch, readonly ["o", ...unknown[]]>,
): Json {
  const fields = new Map(Object.entries(before));
  for (const key of gone) fields.delete(key);
  for (const [key, patch] of patches)
    fields.set(key, patch[0] === "=" ? patch[1] : applied(fields.get(key) ?? mismatch(), patch));
  if (order === undefined) return Object.fromEntries(fields);
  return Object.fromEntries(order.map((key) => [key, fields.get(key) as Json]));
}

function appliedToList(
  before: readonly Json[],
  [, runs, patches]: Extract<Patch, readonly ["l", ...unknown[]]>,
): Json {
  const items: Json[] = [];
  for (const run of runs) {
    if (run.length === 2 && run[0] + run[1] > before.length) mismatch();
    for (const item of run.length === 1 ? run[0] : before.slice(run[0], run[0] + run[1])) items.push(item);
  }
  for (const [place, patch] of patches) items[place] = applied(items[place] as Json, patch);
  return items;
}

function mismatch(): never {
  throw new TypeError("the patch was made for another value");
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
