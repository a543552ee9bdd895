// A message that holds the reply address of its own call, as most messages of calls do: `{ take: 3, replyTo }`. The address needs no
// word, since the signal has it. So a message that is plain otherwise travels as plain JSON, with null in the place of the address.

import type { Request } from "../../process/request.js";

/** The number of this form of a value: the key of the address follows it. */
export const OWN_REPLY = 3;

/** The message with null in the place of the address. */
export interface WithoutReply {
  readonly message: object;
  readonly key: string;
}

/** JSON makes a member of this name, and an assignment would not. */
const PROTO = "__proto__";

/** Undefined for a message of which no member is the address, and for one that a copy would change. */
export function withoutReply(message: object, call: Request): WithoutReply | undefined {
  if (Object.getPrototypeOf(message) !== Object.prototype) return undefined;
  const keys = Object.keys(message);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as string;
    if ((message as Record<string, unknown>)[key] !== call) continue;
    if (key === PROTO || Object.getOwnPropertySymbols(message).length > 0) return undefined;
    const copy: Record<string, unknown> = { ...message };
    copy[key] = null;
    return { message: copy, key };
  }
  return undefined;
}

/** Puts the address back into a message that came. @throws TypeError when it has no place there */
export function withReply(message: unknown, key: unknown, call: Request): object {
  const isObject = typeof message === "object" && message !== null && !Array.isArray(message);
  if (!isObject || typeof key !== "string" || key === PROTO || !Object.hasOwn(message, key))
    throw new TypeError("a message without a place for its reply address");
  (message as Record<string, unknown>)[key] = call;
  return message;
}
