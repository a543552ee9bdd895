// The names of the options of a cluster, for those who check them before they load it.

import { SESSION_DEFAULTS } from "../session/limits.js";

export const CLUSTER_OPTIONS: readonly string[] = [
  ...["labels", "settleMs", "errors", "maxBytes", "capabilities"],
  ...Object.keys(SESSION_DEFAULTS),
];
