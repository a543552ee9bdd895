// Values that JSON would change: through devalue, with records for errors and for objects with a key `__proto__`.
//
// devalue follows references in circles, but not through what a reviver makes. So an object with a record is stored as its number
// alone, comes back as an empty shell, and is filled in when everything is there.

import { stringify, unflatten } from "devalue";
import { areMembers, type ErrorClass, emptyError, fillError } from "./error-record.js";
import { UnstorableValueError } from "./errors.js";
import { isBuffer } from "./storable.js";
import { type Found, type Leaf, type Leaves, type Special, survey } from "./survey.js";

/** Of a text without records … */
const BARE = "~";
/** … and of one whose first member is the value, and whose others are the records. No JSON text begins so. */
const RECORDED = "!";

/** Whether a text was written by {@link encodeRich}. */
export function isRich(text: string): boolean {
  return text.startsWith(BARE) || text.startsWith(RECORDED);
}

/** @throws UnstorableValueError */
export function encodeRich(value: unknown): string {
  const { json, isRecorded } = flatten(value);
  return (isRecorded ? RECORDED : BARE) + json;
}

/** The form of a rich value as JSON text. */
export interface RichForm {
  readonly json: string;
  /** The value is the first member of an array, whose others are the records. */
  readonly isRecorded: boolean;
}

/** @throws UnstorableValueError */
export function flatten(value: unknown, leaves?: Leaves): RichForm {
  if (value === undefined) return UNDEFINED;
  const found = survey(value, leaves);
  const { specials } = found;
  try {
    if (specials.size === 0) return { json: stringify(value, reducers(found, leaves)), isRecorded: false };
    const records = [...specials.values()].map(({ record }) => record);
    return { json: stringify([value, ...records], reducers(found, leaves)), isRecorded: true };
  } catch (error) {
    // The survey saw nothing wrong: the value answers differently each time it is read.
    throw new UnstorableValueError("", "a value that changes while it is read", "return a copy", {
      cause: error,
    });
  }
}

const UNDEFINED: RichForm = { json: "-1", isRecorded: false };

type Reducer = (value: unknown) => unknown;

/** As few as the value needs: devalue asks each of them about each part. */
function reducers(
  { specials, buffers, leaves: words }: Found,
  leaves: Leaves | undefined,
): Record<string, Reducer> {
  const bytes: Record<string, Reducer> = buffers
    ? { Buffer: (value) => isBuffer(value) && new Uint8Array(value) }
    : {};
  if (words.size > 0) {
    for (const kind of Object.keys(leaves as Leaves))
      bytes[kind] = (value) => {
        const word = words.get(value as object);
        return word?.[0] === kind && word[1];
      };
  }
  if (specials.size === 0) return bytes;
  const of =
    (kind: Special["kind"], stored: (special: Special, value: object) => unknown): Reducer =>
    (value) => {
      const special = typeof value === "object" && value !== null ? specials.get(value) : undefined;
      return special?.kind === kind && stored(special, value as object);
    };
  return {
    ...bytes,
    Error: of("error", ({ id }) => id),
    Proto: of("proto", ({ id }) => id),
    // The message and the name of a DOMException are given to its constructor.
    DOMException: of("dom", ({ id }, value) => [
      id,
      (value as DOMException).message,
      (value as DOMException).name,
    ]),
  };
}

/** @throws Error when the text is damaged */
export function decodeRich(text: string, classes: ReadonlyMap<string, ErrorClass>): unknown {
  return unfold(JSON.parse(text.slice(1)), text.startsWith(RECORDED), classes);
}

/**
 * The value of a parsed form. Calls nothing of the value, whatever the form is, and reads no more of it than there is.
 *
 * @throws Error when the form is damaged
 */
export function unfold(
  form: unknown,
  isRecorded: boolean,
  classes: ReadonlyMap<string, ErrorClass>,
  leaves?: Leaves,
): unknown {
  if (form === -1 && !isRecorded) return undefined;
  const shells = new Map<number, object>();
  const shell = <T extends object>(id: number, empty: T): T => {
    if (!Number.isSafeInteger(id) || shells.has(id)) throw new TypeError(`no object has the record ${id}`);
    shells.set(id, empty);
    return empty;
  };
  const revivers: Parameters<typeof unflatten>[1] & object = {
    Buffer: bufferOf,
    Error: (id: number) => shell(id, emptyError()),
    Proto: (id: number) => shell(id, {}),
    DOMException: ([id, message, name]: [number, string, string]) =>
      shell(id, new DOMException(message, name)),
  };
  for (const kind in leaves) revivers[kind] = (word: unknown) => (leaves[kind] as Leaf).revive(word);
  const decoded: unknown = unflatten(form as unknown[], revivers);
  if (!isRecorded) {
    if (shells.size > 0) throw new TypeError("an object with a record, where there are no records");
    return decoded;
  }
  if (!Array.isArray(decoded)) throw new TypeError("records, where there is no array");
  const [value, ...records] = decoded as unknown[];
  for (const [id, empty] of shells) {
    const record = records[id - 1];
    if (!Array.isArray(record)) throw new TypeError(`the record ${id} is no array`);
    if (empty instanceof Error) fillError(empty, record, classes);
    else fillObject(empty, record);
  }
  return value;
}

function bufferOf(bytes: unknown): Uint8Array {
  // Buffer.from also takes objects that only have a length, and allocates as much.
  if (!(bytes instanceof Uint8Array)) throw new TypeError("a Buffer without bytes");
  return typeof Buffer === "undefined" ? bytes : Buffer.from(bytes.buffer as ArrayBuffer);
}

function fillObject(object: object, [bare, ...members]: readonly unknown[]): void {
  if (!areMembers(members)) throw new TypeError("the record of an object is damaged");
  if (bare === true) Object.setPrototypeOf(object, null);
  for (let i = 0; i < members.length; i += 2)
    Object.defineProperty(object, members[i] as string, {
      value: members[i + 1],
      enumerable: true,
      writable: true,
      configurable: true,
    });
}
