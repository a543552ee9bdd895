// The bound of a mailbox, checked where a user gives it: at the spawn.

import type { MailboxLimits } from "./behaviour.js";
import { count, oneOf } from "./options.js";

/** @throws OptionError */
export function checkBound(given: MailboxLimits): MailboxLimits {
  count("mailbox.capacity", given.capacity, 1, true);
  oneOf("mailbox.overflow", given.overflow, ["reject", "drop-newest", "drop-oldest", "exit"]);
  return given;
}
