// Operations that change something: how long they may take, and what is done when their host ends meanwhile.

import type { CallRules } from "../../host/index.js";
import type { StoreSource } from "../../store/index.js";
import { FlowOutcomeUnknownError } from "./errors.js";

/** How long a store without a server may take, in milliseconds: another program may hold its lock. */
const STORE_MS = 30_000;
/** What a host adds to the time of its store, in milliseconds. */
const HOST_MS = 5_000;

/** How long an operation waits for its answer, in milliseconds: longer than its store waits for the server. */
export const operationMs = ({ unreachableMs = STORE_MS }: Pick<StoreSource, "unreachableMs">): number =>
  unreachableMs + HOST_MS;

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
