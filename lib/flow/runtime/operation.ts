// Operations that change something, and what is done when their host ends meanwhile.

import type { CallRules } from "../../host/index.js";
import { FlowOutcomeUnknownError } from "./errors.js";

/** The rules of an operation whose repeat finds what the first attempt did: the handle asks the next host, too. */
export const mayRepeat = (operation: string, of: string, what?: "schedule"): CallRules => ({
  repeat: "always",
  unknown: (cause) => new FlowOutcomeUnknownError(operation, of, cause, what),
});

/** The rules of an operation that is not repeated: when the host that began it ends, its outcome is unknown. */
export const once = (operation: string, of: string, what?: "schedule"): CallRules => ({
  ...mayRepeat(operation, of, what),
  repeat: "if untaken",
});
