// Names of leases as keys of a bucket, one for each: a key is a token of a subject, and has few characters.

import { OptionError } from "../../process/errors.js";
import { text } from "../../process/options.js";

/** A server takes subjects of 4 kB at most, with what stands around the key. */
const LONGEST_KEY = 1_024;
const UTF8 = new TextEncoder();

/** The key of a lease: all but letters, digits, `-`, `_` and `/` is `=` and two digits for each byte. @throws OptionError */
export function keyOf(name: string): string {
  const key = text("name", name).replace(/[^\w/-]/gu, (character) =>
    [...UTF8.encode(character)].map((byte) => `=${byte.toString(16).padStart(2, "0")}`).join(""),
  );
  if (key.length <= LONGEST_KEY) return key;
  throw new OptionError("name", name, `a name whose key has ${LONGEST_KEY} characters at most`);
}
