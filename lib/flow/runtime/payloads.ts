// Values as JSON text. An error keeps its name, message, code and cause.

import type { Stored } from "../journal/entry.js";
import type { Payloads } from "./port.js";

interface PackedError {
  readonly name: string;
  readonly message: string;
  readonly code?: unknown;
  readonly cause?: unknown;
}

export const jsonPayloads: Payloads = {
  encode: (value) => {
    if (value === undefined) return null;
    if (value instanceof Error) return `E${JSON.stringify(pack(value))}`;
    return `J${JSON.stringify(value)}`;
  },
  decode: (stored: Stored) => {
    if (stored === null) return undefined;
    const text = stored as string;
    const value: unknown = JSON.parse(text.slice(1));
    return text[0] === "E" ? unpack(value as PackedError) : value;
  },
};

function pack(error: Error): PackedError {
  const { name, message, cause } = error;
  const { code } = error as { code?: unknown };
  return { name, message, code, cause: cause instanceof Error ? pack(cause) : undefined };
}

function unpack({ name, message, code, cause }: PackedError): Error {
  const error = new Error(message, cause === undefined ? undefined : { cause: unpack(cause as PackedError) });
  error.name = name;
  return code === undefined ? error : Object.assign(error, { code });
}
