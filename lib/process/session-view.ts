// What a system knows of its connection to another node. The transport says it, and operations show it.

import type { RemoteNode } from "./pid.js";

/** A session as a person sees it: for `signalbox nodes`. Counts begin when this node first hears of the other one. */
export interface SessionView {
  /** The other node. */
  readonly node: RemoteNode;
  /** What the session does. `suspect`: nothing was heard for half of the limit. */
  readonly state: "absent" | "hello" | "up" | "suspect" | "refused" | "left";
  /** The epoch that is up: the same at both nodes. */
  readonly epoch: string | undefined;
  /** The version of the protocol. */
  readonly version: number | undefined;
  /** How long the epoch has been up, in milliseconds. */
  readonly uptimeMs: number | undefined;
  /** How much may be sent before the other node acknowledges more. */
  readonly credit: { readonly frames: number; readonly size: number };
  /** Signals that wait, and the bytes of memory that they take, about. */
  readonly queued: { readonly signals: number; readonly bytes: number };
  /** Frames that are sent and not acknowledged. */
  readonly inFlight: number;
  /** Gaps that this node found, since it knows the other one. */
  readonly gaps: number;
  /** Epochs that have ended. */
  readonly ends: number;
  /** Signals that were not acknowledged when an epoch ended. */
  readonly lost: number;
  /** Signals that were refused: there was no session, or too much waited. */
  readonly refused: number;
  /** The median of the last round trips of heartbeats, in milliseconds. */
  readonly roundTripMs: number | undefined;
  /** The last of these round trips. */
  readonly lastRoundTripMs: number | undefined;
}
