// The seam between a session and whatever carries bytes to other nodes: NATS, threads, a simulated network.

import type { RemoteNode } from "../../process/pid.js";

/** Carries frames between nodes: at most once, usually in order. It may lose frames, and it may be slow. */
export interface FrameCarrier {
  /** Sends a frame. Never throws, and never waits. False: it is known that nobody listens there. */
  send(to: RemoteNode, frame: string): boolean;
  /** The longest frame that it takes, in bytes of UTF-8. Sessions read it when they begin with the carrier. Default: any. */
  readonly maxFrameBytes?: number;
  /** Bytes that wait to leave this host, if that is known: sessions send less while there are many. */
  pending?(to: RemoteNode): number;
  /** Whether this carrier may reach a node. Without this method, it may reach any. */
  reaches?(node: RemoteNode): boolean;
  /** Begins to receive. Called once. */
  open(receiver: FrameReceiver): void;
  /** Lets go of everything that belongs to the host. Must not wait. */
  close(): void;
  /** Whether other nodes can be reached at all now, if that is known. */
  readonly isConnected?: boolean;
  /** The end of a node is noticed at once and comes by `unreachable`, so that no heartbeats are needed. */
  readonly notices: boolean;
}

/** Receives what a carrier brings. */
export interface FrameReceiver {
  /** A frame arrived. */
  frame(from: RemoteNode, frame: string): void;
  /** A node was seen: it joined, or it answered. A session begins, unless there is one. */
  seen(node: RemoteNode): void;
  /**
   * Nobody listens at this node: no responders, a closed port, a thread that ended.
   *
   * @param frame - the frame that found nobody, or its tag, if that is known. A notice about a frame of an older epoch is ignored.
   */
  unreachable(node: RemoteNode, frame?: string): void;
}
