// Values as JSON: plain ones as they are, and any other in the rich form of payloads, marked with the number of the form behind it.

import * as registryErrors from "../../behaviour/registry/errors.js";
import * as serverErrors from "../../behaviour/server/errors.js";
import * as machineErrors from "../../behaviour/state-machine/errors.js";
import * as taskErrors from "../../behaviour/task/errors.js";
import { errorClasses, errorClassesOf } from "../../host/payload/error-classes.js";
import type { ErrorClass } from "../../host/payload/error-record.js";
import { MAX_DEPTH } from "../../host/payload/limits.js";
import { isPlainJson } from "../../host/payload/plain.js";
import { flatten, unfold } from "../../host/payload/rich.js";
import type { Leaves } from "../../host/payload/survey.js";
import * as supervisorErrors from "../../supervisor/errors.js";
import * as codecErrors from "./errors.js";

/** The forms of a value. The number of the plain form is left out at the end of a text. */
const PLAIN = 0;
const BARE = 1;
const RECORDED = 2;

const OWN: readonly ErrorClass[] = [
  ...[registryErrors, serverErrors, machineErrors, taskErrors, supervisorErrors, codecErrors],
].flatMap(errorClassesOf);

/**
 * The classes that errors come back with, by name.
 *
 * @throws OptionError
 */
export function knownClasses(errors: readonly ErrorClass[], path?: string): ReadonlyMap<string, ErrorClass> {
  return errorClasses(errors, OWN, path);
}

/** Encodes values and decodes them. */
export class WireValues {
  readonly #classes: ReadonlyMap<string, ErrorClass>;
  readonly #leaves: Leaves;

  /** @throws OptionError */
  constructor(errors: readonly ErrorClass[], leaves: Leaves) {
    this.#classes = knownClasses(errors);
    this.#leaves = leaves;
  }

  /** The value as JSON, with the number of its form behind a comma, unless it is plain. @throws UnstorableValueError */
  text(value: unknown): string {
    return isPlainJson(value) ? jsonOf(value) : this.#rich(value);
  }

  /** The JSON of a plain value. Undefined: the value is not plain. */
  plain(value: unknown): string | undefined {
    return isPlainJson(value) ? jsonOf(value) : undefined;
  }

  /** The same as {@link text}, with the number of the form in any case. @throws UnstorableValueError */
  marked(value: unknown): string {
    return isPlainJson(value) ? `${jsonOf(value)},${PLAIN}` : this.#rich(value);
  }

  #rich(value: unknown): string {
    const { json, isRecorded } = flatten(value, this.#leaves);
    return `${json},${isRecorded ? RECORDED : BARE}`;
  }

  /** @throws Error when the form is damaged */
  read(json: unknown, form: unknown): unknown {
    if (form === PLAIN || form === undefined) {
      if (typeof json === "object" && json !== null) limitDepth(json, 0);
      return json;
    }
    if (form !== BARE && form !== RECORDED) throw new TypeError("a form of values that is not known");
    return unfold(json, form === RECORDED, this.#classes, this.#leaves);
  }
}

/** @throws TypeError when a getter or a Proxy has made the value another one since it was checked */
function jsonOf(value: unknown): string {
  const json: string | undefined = JSON.stringify(value);
  if (json === undefined) throw new TypeError("there is no JSON for this value");
  return json;
}

/** The depth limit of plain values. Code that walks through received values relies on it. */
function limitDepth(value: object, depth: number): void {
  if (depth === MAX_DEPTH) throw new TypeError(`nested in more than ${MAX_DEPTH} levels`);
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === "object" && item !== null) limitDepth(item, depth + 1);
    return;
  }
  for (const key in value) {
    const member: unknown = (value as Record<string, unknown>)[key];
    if (typeof member === "object" && member !== null) limitDepth(member, depth + 1);
  }
}
