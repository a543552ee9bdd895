// What user code throws may be anything, also an object that throws when it is looked at.

import { show } from "../../process/show.js";

/** Whatever decides about an error looks at these. */
const LOOKED_AT = ["name", "message", "code", "cause", "retriable"];

/** What was thrown; instead of an object that cannot be looked at, an error that says what it is. */
export function readable(thrown: unknown): unknown {
  if ((typeof thrown !== "object" && typeof thrown !== "function") || thrown === null) return thrown;
  try {
    void (thrown instanceof Error);
    for (const name of LOOKED_AT) void (thrown as Record<string, unknown>)[name];
    return thrown;
  } catch {
    return new Error(`what was thrown cannot be read: ${show(thrown)}`);
  }
}
