// The events and reports that sessions emit.

import type { Kernel } from "../../process/kernel.js";
import type { RemoteNode } from "../../process/pid.js";
import type { VersionRange } from "./frame-text.js";
import type { SessionEnd } from "./session-machine.js";

/** A session with another node has begun. */
export interface NodeUp {
  /** The other node. */
  readonly node: RemoteNode;
  /** The epoch: the same at both nodes, and new each time. */
  readonly epoch: string;
  /** The version of the protocol that both nodes have. */
  readonly version: number;
  /** The capabilities that both nodes have. */
  readonly capabilities: readonly string[];
}

/**
 * A session with another node has ended, at both nodes.
 *
 * | reason | |
 * |---|---|
 * | `left` | the other node has left, or this one has |
 * | `unreachable` | nobody listens there |
 * | `timeout` | nothing arrived within the limit |
 * | `stalled` | heartbeats arrived, but nothing was acknowledged within the limit |
 * | `gap` | a frame was lost |
 * | `undecodable` | a frame was not readable |
 * | `slept` | the process was stopped or blocked for so long that other nodes may have ended the session |
 * | `overflow` | the queue was full of signals that must not be lost alone, such as exits and links |
 * | `moved`, `stale`, `unanswered` | the other node had ended the session before |
 * | `versions` | the nodes have no version in common |
 */
export interface NodeDown {
  /** The other node. */
  readonly node: RemoteNode;
  /** The epoch that has ended. */
  readonly epoch: string;
  /** Why it ended. */
  readonly reason: SessionEnd;
  /** Which node ended it. */
  readonly by: "here" | "there";
  /** How many signals were not acknowledged. They may have arrived. Messages among them are dead letters. */
  readonly lost: number;
}

/** Two nodes have no version of the protocol in common, and do not work together. */
export interface NodeRefused {
  /** The other node. */
  readonly node: RemoteNode;
  /** The versions that this node has. */
  readonly here: VersionRange;
  /** The versions that the other node has. */
  readonly there: VersionRange;
}

declare module "../../process/events.js" {
  interface SystemEventMap {
    /** A session with another node has begun. */
    nodeUp: [NodeUp];
    /** A session with another node has ended. */
    nodeDown: [NodeDown];
    /** Another node has no version of the protocol in common with this one. */
    nodeRefused: [NodeRefused];
  }
}

/** The end of a session, as telemetry counts it. */
export type SessionEndTap = Pick<NodeDown, "reason" | "by">;

declare module "../../process/taps.js" {
  interface Taps {
    sessionEnded(end: SessionEndTap): void;
  }
}

/** Receives the beginning and the end of each session, before the listeners of events. */
export interface SessionListener {
  up?(event: NodeUp): void;
  down?(event: NodeDown): void;
}

export function tellRefused(kernel: Kernel, refused: NodeRefused): void {
  if (kernel.events.wants.nodeRefused) kernel.events.publish("nodeRefused", refused);
  const { node, here, there } = refused;
  const text =
    `${kernel.node.name} and the node ${node.name} (${node.id}) do not work together: this one has ${versions(here)} of the protocol ` +
    `between nodes, the other one ${versions(there)}. Deploy a release that has a version in common`;
  tell(kernel, "error", text);
}

/** Reports something about the carrier or the other nodes. */
export function tell(kernel: Kernel, level: "warn" | "error", text: string, error?: unknown): void {
  if (!kernel.reports.admits("transport")) return;
  kernel.reports.write({ level, event: "transport", path: kernel.node.name, error, text });
}

function versions({ least, most }: VersionRange): string {
  return least === most ? `version ${least}` : `versions ${least} to ${most}`;
}
