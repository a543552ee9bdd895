// The bound of a mailbox, checked where a user gives it: at a spawn, in the definition of a server, in a child spec.

import type { MailboxLimits } from "./behaviour.js";
import { only } from "./known-options.js";
import { count, oneOf } from "./options.js";

/**
 * @param path - of the bound, for the error text
 * @throws OptionError
 */
export function checkBound(given: MailboxLimits, path = "mailbox"): MailboxLimits {
  only(path, given, ["capacity", "overflow"]);
  count(`${path}.capacity`, given.capacity, 1, true);
  oneOf(`${path}.overflow`, given.overflow, ["reject", "drop-newest", "drop-oldest", "exit"]);
  return given;
}
