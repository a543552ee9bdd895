// Values as JSON: plain ones as they are, and any other in the rich form of payloads, marked with the number of the form behind it. Between
// the two are objects that are plain but for pids (placed.ts).

import * as registryErrors from "../../behaviour/registry/errors.js";
import * as serverErrors from "../../behaviour/server/errors.js";
import * as machineErrors from "../../behaviour/state-machine/errors.js";
import * as taskErrors from "../../behaviour/task/errors.js";
import { errorClasses, errorClassesOf } from "../../host/payload/error-classes.js";
import type { ErrorClass } from "../../host/payload/error-record.js";
import { MAX_DEPTH } from "../../host/payload/limits.js";
import { isPlainJson } from "../../host/payload/plain.js";
import { flatten, unfold } from "../../host/payload/rich.js";
import type { Leaf, Leaves } from "../../host/payload/survey.js";
import { Pid } from "../../process/pid.js";
import type { Request } from "../../process/request.js";
import * as supervisorErrors from "../../supervisor/errors.js";
import * as codecErrors from "./errors.js";
import { fill, OWN_REPLY, PLACED, placed } from "./placed.js";

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
  readonly #pids: Leaf;

  /** @throws OptionError */
  constructor(errors: readonly ErrorClass[], leaves: Leaves & { readonly Pid: Leaf }) {
    this.#classes = knownClasses(errors);
    this.#leaves = leaves;
    this.#pids = leaves.Pid;
  }

  /**
   * The value as JSON, with the number of its form behind a comma, unless it is plain.
   *
   * @param call - the call whose message it is
   * @throws UnstorableValueError
   */
  text(value: unknown, call?: Request): string {
    if (call === undefined && isPlainJson(value)) return jsonOf(value);
    const placed = this.#placed(value, call);
    if (placed !== undefined) return placed;
    return call !== undefined && isPlainJson(value) ? jsonOf(value) : this.#rich(value);
  }

  /** The same as {@link text}, with the number of the form in any case. @throws UnstorableValueError */
  marked(value: unknown): string {
    return isPlainJson(value) ? `${jsonOf(value)},${PLAIN}` : this.#rich(value);
  }

  #placed(value: unknown, call: Request | undefined): string | undefined {
    if (typeof value !== "object" || value === null) return undefined;
    try {
      const found = placed(value, (member) => {
        if (member === call) return OWN_REPLY;
        return member instanceof Pid ? this.#pids.wordOf(member) : undefined;
      });
      if (found === undefined || !isPlainJson(found.plain)) return undefined;
      return `${jsonOf(found.plain)},${PLACED},${JSON.stringify(found.places)}`;
    } catch {
      // It throws when it is read, or holds what cannot be sent: the careful walk says where.
      return undefined;
    }
  }

  #rich(value: unknown): string {
    const { json, isRecorded } = flatten(value, this.#leaves);
    return `${json},${isRecorded ? RECORDED : BARE}`;
  }

  /**
   * The value that begins at a part of a signal.
   *
   * @param call - the call whose message it is
   * @throws Error when the form is damaged
   */
  read(parts: readonly unknown[], at: number, call?: Request): unknown {
    const json = parts[at];
    const form = parts[at + 1];
    if (form === PLAIN || form === undefined || form === PLACED) {
      if (typeof json === "object" && json !== null) limitDepth(json, 0);
      return form === PLACED ? this.#filled(json, parts[at + 2], call) : json;
    }
    if (form !== BARE && form !== RECORDED) throw new TypeError("a form of values that is not known");
    return unfold(json, form === RECORDED, this.#classes, this.#leaves);
  }

  #filled(json: unknown, places: unknown, call: Request | undefined): unknown {
    return fill(json, places, (word) => {
      if (word !== OWN_REPLY) return this.#pids.revive(word);
      if (call === undefined) throw new TypeError("a reply address, and no call");
      return call;
    });
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
