// Every limit of the admin socket, with its default, in one table.

import type { Limits } from "./connection-machine.js";
import { PROTOCOL_LIMITS } from "./protocol.js";

/** The limits of an admin socket. */
export interface AdminLimits extends Limits {
  /** Most connections at a time. A further one takes the place of the one that is idle for longest; if none is idle, it is closed. */
  readonly connections: number;
  /** Most bytes of a request. */
  readonly requestBytes: number;
}

export const ADMIN_DEFAULTS: AdminLimits = {
  connections: 32,
  requestBytes: PROTOCOL_LIMITS.requestBytes,
  idleMs: 60_000,
  // A backup of a large store takes minutes.
  requestMs: 600_000,
  readMs: 10_000,
  waiting: 16,
};
