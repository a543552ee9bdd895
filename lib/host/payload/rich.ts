// Values that JSON would change: through devalue, with records for errors and for objects with a key `__proto__`.
//
// devalue follows references in circles, but not through what a reviver makes. So an object with a record is stored as its number
// alone, comes back as an empty shell, and is filled in when everything is there.

import { parse, stringify } from "devalue";
import { type ErrorClass, emptyError, fillError } from "./error-record.js";
import { UnstorableValueError } from "./errors.js";
import { isBuffer } from "./storable.js";
import { type Found, type Special, survey } from "./survey.js";

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
  if (value === undefined) return UNDEFINED;
  const found = survey(value);
  const { specials } = found;
  try {
    if (specials.size === 0) return BARE + stringify(value, reducers(found));
    const records = [...specials.values()].map(({ record }) => record);
    return RECORDED + stringify([value, ...records], reducers(found));
  } catch (error) {
    // The survey saw nothing wrong: the value answers differently each time it is read.
    throw new UnstorableValueError("", "a value that changes while it is read", "return a copy", {
      cause: error,
    });
  }
}

const UNDEFINED = `${BARE}-1`;

type Reducer = (value: unknown) => unknown;

/** As few as the value needs: devalue asks each of them about each part. */
function reducers({ specials, buffers }: Found): Record<string, Reducer> {
  const bytes: Record<string, Reducer> = buffers
    ? { Buffer: (value) => isBuffer(value) && new Uint8Array(value) }
    : {};
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
  if (text === UNDEFINED) return undefined;
  const shells = new Map<number, object>();
  const shell = <T extends object>(id: number, empty: T): T => {
    shells.set(id, empty);
    return empty;
  };
  const decoded: unknown = parse(text.slice(1), {
    Buffer: (bytes: Uint8Array) => (typeof Buffer === "undefined" ? bytes : Buffer.from(bytes.buffer)),
    Error: (id: number) => shell(id, emptyError()),
    Proto: (id: number) => shell(id, {}),
    DOMException: ([id, message, name]: [number, string, string]) =>
      shell(id, new DOMException(message, name)),
  });
  if (text.startsWith(BARE)) return decoded;
  if (!Array.isArray(decoded)) throw new TypeError("records, where there is no array");
  const [value, ...records] = decoded as [unknown, ...(readonly unknown[])[]];
  for (const [id, empty] of shells) {
    const record = records[id - 1] as readonly unknown[];
    if (empty instanceof Error) fillError(empty, record, classes);
    else fillObject(empty, record);
  }
  return value;
}

function fillObject(object: object, [bare, ...members]: readonly unknown[]): void {
  if (bare === true) Object.setPrototypeOf(object, null);
  for (let i = 0; i < members.length; i += 2)
    Object.defineProperty(object, members[i] as string, {
      value: members[i + 1],
      enumerable: true,
      writable: true,
      configurable: true,
    });
}
