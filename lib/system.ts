// The System that users create: processes, and what the floors above add to it.

import { ProcessSystem } from "./process/system.js";

/** The processes, names, groups, timers and events of one system. */
export class System extends ProcessSystem {}
