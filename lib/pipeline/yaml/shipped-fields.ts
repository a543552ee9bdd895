// Adapters that change the fields of a message without code: which to keep, leave out, rename or set, and which list to split. All
// computation is code.

import { OptionError } from "../../process/errors.js";
import { text } from "../../process/options.js";
import { aggregate } from "../adapters/values.js";
import { type Adapter, type BatchAdapter, many } from "../definition/adapter.js";
import { fieldOf } from "../definition/condition.js";

type Fields = Readonly<Record<string, unknown>>;
type Config = Readonly<Record<string, unknown>>;

/** The value of a message as fields. @throws TypeError, which makes a dead letter: the next attempt gets the same value */
function fieldsOf(adapter: string, value: unknown): Fields {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Fields;
  throw unfit(`${adapter} needs a message with fields`);
}

function unfit(message: string): TypeError {
  return Object.assign(new TypeError(message), { retriable: false });
}

const pathOf = (path: string): readonly string[] => (path === "" ? [] : path.split("."));

/** @throws OptionError */
function pathsOption(path: string, given: unknown): readonly string[] {
  if (!Array.isArray(given) || given.length === 0)
    throw new OptionError(path, given, "a list of one field or more");
  return given.map((one: unknown, i) => text(`${path}[${i}]`, one));
}

/** @throws OptionError */
function mapOption(path: string, given: unknown, allowed: string): readonly (readonly [string, unknown])[] {
  const entries =
    typeof given === "object" && given !== null && !Array.isArray(given) ? Object.entries(given) : [];
  if (entries.length === 0) throw new OptionError(path, given, allowed);
  return entries;
}

/** Names with the paths that they are taken from. A list takes the last name of each path. @throws OptionError */
function picked(given: unknown): readonly (readonly [name: string, path: readonly string[]])[] {
  const entries = Array.isArray(given)
    ? pathsOption("fields", given).map((path) => [path.slice(path.lastIndexOf(".") + 1), path] as const)
    : mapOption("fields", given, "a list of fields, or fields by their new names").map(
        ([name, path]) => [name, text(`fields.${name}`, path)] as const,
      );
  const names = entries.map(([name]) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined)
    throw new OptionError("fields", twice, "names that differ: give fields by their new names");
  return entries.map(([name, path]) => [name, pathOf(path)] as const);
}

/** Keeps some fields, under new names if that is asked for. Fields that a message does not have are left out. */
export function pick(name: string, config: Config): Adapter<unknown, Fields> {
  const fields = picked(config.fields);
  return {
    name,
    process: (value) =>
      Object.fromEntries(
        fields.flatMap(([to, path]) => {
          const found = fieldOf(fieldsOf(name, value), path);
          return found === undefined ? [] : [[to, found]];
        }),
      ),
  };
}

/** Leaves some fields out. */
export function drop(name: string, config: Config): Adapter<unknown, Fields> {
  const fields = new Set(pathsOption("fields", config.fields));
  return {
    name,
    process: (value) =>
      Object.fromEntries(Object.entries(fieldsOf(name, value)).filter(([field]) => !fields.has(field))),
  };
}

/** Gives fields other names, in their places. */
export function rename(name: string, config: Config): Adapter<unknown, Fields> {
  const fields = new Map(
    mapOption("fields", config.fields, "new names by the old ones").map(([from, to]) => [
      from,
      text(`fields.${from}`, to),
    ]),
  );
  return {
    name,
    process: (value) =>
      Object.fromEntries(
        Object.entries(fieldsOf(name, value)).map(([field, one]) => [fields.get(field) ?? field, one]),
      ),
  };
}

/** Sets fields to values of the file. */
export function set(name: string, config: Config): Adapter<unknown, Fields> {
  const fields = mapOption("fields", config.fields, "values by the names of fields");
  return {
    name,
    process: (value) => Object.fromEntries([...Object.entries(fieldsOf(name, value)), ...fields]),
  };
}

/** Makes a message of each element of a list: the element, or with `as` the message with the element in that field instead of the list. */
export function split(name: string, config: Config): Adapter<unknown, unknown> {
  const { field = "", as } = config;
  const path = field === "" ? [] : pathOf(text("field", field));
  if (as !== undefined) text("as", as);
  if (as !== undefined && path.length === 0)
    throw new OptionError("as", as, "absent without `field`: then the message is the list");
  return {
    name,
    process: (value) => {
      const list = fieldOf(value, path);
      if (!Array.isArray(list))
        throw unfit(`${name} needs a list${field === "" ? "" : ` in ${String(field)}`}`);
      if (as === undefined) return many(list as readonly unknown[]);
      const rest = Object.entries(fieldsOf(name, value)).filter(([one]) => path.length > 1 || one !== field);
      return many(list.map((one: unknown) => Object.fromEntries([...rest, [as as string, one]])));
    },
  };
}

/** Makes one message of many: the list of their values. */
export function collect(name: string, config: Config): BatchAdapter<unknown, readonly unknown[]> {
  return aggregate<unknown, readonly unknown[]>(name, config, (values) => values);
}
