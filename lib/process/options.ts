// Options are checked once, at the boundary: path, value, what is allowed.

import { OptionError } from "./errors.js";
import { Pid } from "./pid.js";
import { isError } from "./show.js";

/** A duration in milliseconds. @throws OptionError */
export function delay(path: string, value: unknown, least = 0, orInfinity = false): number {
  if (typeof value === "number" && value >= least && (orInfinity || value !== Number.POSITIVE_INFINITY))
    return value;
  const allowed = `a number of milliseconds, ${least} or more${orInfinity ? " (Infinity to wait forever)" : ""}`;
  throw new OptionError(path, value, allowed);
}

/** A whole number. @throws OptionError */
export function count(path: string, value: unknown, least: number, orInfinity = false): number {
  if (orInfinity && value === Number.POSITIVE_INFINITY) return value;
  if (Number.isSafeInteger(value) && (value as number) >= least) return value as number;
  throw new OptionError(path, value, `a whole number, ${least} or more${orInfinity ? ", or Infinity" : ""}`);
}

/** One of a few words. @throws OptionError */
export function oneOf<T extends string>(path: string, value: unknown, words: readonly T[]): T {
  if (words.includes(value as T)) return value as T;
  throw new OptionError(path, value, `one of ${words.map((word) => `"${word}"`).join(", ")}`);
}

/** A text that is not empty. @throws OptionError */
export function text(path: string, value: unknown): string {
  if (typeof value === "string" && value !== "") return value;
  throw new OptionError(path, value, "a text that is not empty");
}

/** An object with a method of this name. @throws OptionError */
export function withMethod<T>(path: string, value: T | undefined, name: keyof T, allowed: string): T {
  if (typeof value?.[name] === "function") return value;
  throw new OptionError(path, value, allowed);
}

/** An object with an array of this name. @throws OptionError */
export function withList<T>(path: string, value: T | undefined, name: keyof T, allowed: string): T {
  if (Array.isArray((value as T | undefined | null)?.[name])) return value as T;
  throw new OptionError(path, value, allowed);
}

/** Where messages can go. @throws OptionError */
export function address(path: string, value: unknown): Pid<unknown> | string {
  if (typeof value === "string" || value instanceof Pid) return value;
  throw new OptionError(path, value, "a pid or a registered name");
}

/** A text that may be empty: a name to look for. @throws OptionError */
export function word(path: string, value: unknown): string {
  if (typeof value === "string") return value;
  throw new OptionError(path, value, "a text");
}

/** A function. @throws OptionError */
export function callable<T>(path: string, value: T, allowed = "a function"): T {
  if (typeof value === "function") return value;
  throw new OptionError(path, value, allowed);
}

/** An Error, which says where it comes from. @throws OptionError */
export function anError(path: string, value: unknown): void {
  if (!isError(value)) throw new OptionError(path, value, "an Error");
}

/** The kernel of a system. @throws OptionError */
export function kernelOf<K extends { readonly spawn: unknown }>(system: { readonly kernel: K }): K {
  const kernel = (system as { readonly kernel?: K } | undefined | null)?.kernel;
  // The system may be of another copy of the library.
  if (typeof kernel?.spawn === "function") return kernel;
  throw new OptionError("system", system, "a System");
}

/** Requires a pid. @throws OptionError */
export function checkPid(path: string, value: unknown): void {
  // A pid may be of another copy of the library.
  if (typeof value !== "object" || value === null || !("node" in value))
    throw new OptionError(path, value, "a pid");
}

/** Requires a pid or a registered name. Called when there is no process there. @throws OptionError */
export function checkTarget(path: string, value: unknown): void {
  if (typeof value === "string") return;
  // A pid may be of another copy of the library.
  if (typeof value !== "object" || value === null || !("node" in value))
    throw new OptionError(path, value, "a pid or a registered name");
}

/** Requires a boolean. @throws OptionError */
export function flag(path: string, given: unknown): boolean {
  if (typeof given === "boolean") return given;
  throw new OptionError(path, given, "true or false");
}
