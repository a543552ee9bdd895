// User code may throw anything, even an object that throws when its properties are read.

import { show } from "../../process/show.js";

/** The properties that decisions about an error read. */
const LOOKED_AT = ["name", "message", "code", "cause", "retriable"];

/** The thrown value. For an object that cannot be read: an error that describes it. */
export function readable(thrown: unknown): unknown {
  if ((typeof thrown !== "object" && typeof thrown !== "function") || thrown === null) return thrown;
  try {
    void (thrown instanceof Error);
    for (const name of LOOKED_AT) void (thrown as Record<string, unknown>)[name];
    return thrown;
  } catch {
    return new Error(`the thrown value cannot be read: ${show(thrown)}`);
  }
}
