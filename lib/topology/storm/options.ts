// Options of an export, with their defaults in one table.

import { OptionError } from "../../process/errors.js";
import { checked, maybe, ms, whole } from "../../process/option-schema.js";
import type { Blueprint } from "../definition/blueprint.js";
import { checkName } from "../definition/field.js";

/** Options of {@link fluxDefinition}. */
export interface StormOptions {
  /** The name of the topology in the cluster. Default: its own name. */
  readonly name?: string;
  /** The worker processes that Storm spreads the tasks over. Default 1. */
  readonly workers?: number;
  /**
   * After this time without an answer of a component's program, Storm ends the worker. Storm counts whole seconds. Default: the
   * largest `timeoutMs` of the shell components; 30,000 ms when there is none.
   */
  readonly subprocessTimeoutMs?: number;
  /** How Storm starts a component of ours, in the folder `resources` of the jar. Default `["node", "component.mjs"]`. */
  readonly command?: readonly string[];
  /** Added to the environment of every component. Storm appends `PATH` to the one there is. */
  readonly env?: Readonly<Record<string, string>>;
  /** More keys of Storm's configuration, or other values for them. */
  readonly conf?: Readonly<Record<string, unknown>>;
}

/** The options, checked and with their defaults. */
export interface FullStormOptions {
  readonly name: string | undefined;
  readonly workers: number;
  readonly subprocessTimeoutMs: number | undefined;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly conf: Readonly<Record<string, unknown>>;
}

const DEFAULTS = { workers: 1, command: ["node", "component.mjs"], env: {}, conf: {} };

const CHECKS = {
  name: maybe(checkName),
  workers: whole(1),
  subprocessTimeoutMs: maybe(ms(1)),
  command: (path: string, given: unknown): readonly string[] => {
    if (
      Array.isArray(given) &&
      given.length > 0 &&
      given.every((one) => typeof one === "string" && one !== "")
    )
      return [...given];
    throw new OptionError(path, given, "an array of texts: the program, and its arguments");
  },
  env: (path: string, given: unknown): Readonly<Record<string, string>> => {
    const env = record(path, given);
    for (const [name, value] of Object.entries(env))
      if (typeof value !== "string") throw new OptionError(`${path}.${name}`, value, "a text");
    return { ...env } as Record<string, string>;
  },
  conf: (path: string, given: unknown): Readonly<Record<string, unknown>> => {
    const conf = record(path, given);
    for (const [key, value] of Object.entries(conf)) checkJson(`${path}[${JSON.stringify(key)}]`, value);
    return { ...conf };
  },
};

/** @throws OptionError when an option is unknown or wrong */
export function checkStormOptions(options: StormOptions): FullStormOptions {
  return checked("", options, CHECKS, DEFAULTS);
}

/** The blueprint of a topology, which may be that of another copy of this library. @throws OptionError when it is none */
export function checkTopology(topology: { readonly blueprint: Blueprint }): Blueprint {
  const blueprint: Partial<Blueprint> | undefined = topology?.blueprint;
  if (Array.isArray(blueprint?.components) && Array.isArray(blueprint?.subscriptions))
    return blueprint as Blueprint;
  throw new OptionError("topology", topology, "a topology, as `build` of a builder returns it");
}

function record(path: string, value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new OptionError(path, value, "an object");
}

/** Whether JSON can carry a value. */
export function isJson(value: unknown): boolean {
  try {
    checkJson("", value);
    return true;
  } catch {
    return false;
  }
}

/** How deep a value may be nested; a circle has no end. */
const DEEPEST = 100;

/** @throws OptionError when a value would be another one after it has been written as JSON */
export function checkJson(path: string, value: unknown, depth = 0): void {
  if (value === null || typeof value === "string" || typeof value === "boolean") return;
  if (typeof value === "number" && Number.isFinite(value)) return;
  const isPlain =
    typeof value === "object" &&
    [Object.prototype, Array.prototype, null].includes(Object.getPrototypeOf(value));
  if (!isPlain || depth > DEEPEST) throw new OptionError(path, value, "a value that JSON can carry");
  for (const [key, part] of Object.entries(value as object)) checkJson(`${path}.${key}`, part, depth + 1);
}
