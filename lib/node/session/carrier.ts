// The seam between a session and whatever carries bytes to other nodes: NATS, threads, a simulated network.

import type { RemoteNode } from "../../process/pid.js";

/** Carries frames between nodes: at most once, usually in order. It may lose frames, and it may be slow. */
export interface FrameCarrier {
  /** Sends a frame. Never throws, and never waits. Returns false when the carrier knows that nobody listens there. */
  send(to: RemoteNode, frame: string): boolean;
  /** The longest frame that the carrier takes, in bytes of UTF-8. Sessions read it once, when they are created. Default: no limit. */
  readonly maxFrameBytes?: number;
  /** Bytes that wait to leave this host, if the carrier knows. Sessions send less while there are many. */
  pending?(to: RemoteNode): number;
  /** Whether this carrier may reach a node. Without this method, it may reach any. */
  reaches?(node: RemoteNode): boolean;
  /** Begins to receive. Called once. */
  open(receiver: FrameReceiver): void;
  /**
   * Lets go of everything that belongs to the host. Called once. It may return a promise, for which `close` of the sessions waits. It must
   * not take longer than seconds, and no time once its system has stopped.
   */
  close(): unknown;
  /** Whether the carrier is connected now, if it knows. */
  readonly isConnected?: boolean;
  /** The carrier notices the end of a node at once and reports it by `unreachable`, so that no heartbeats are needed. */
  readonly notices: boolean;
  /** @internal How sessions over this carrier wait. By default as their system does. */
  readonly pace?: SessionPace;
}

/** How sessions wait. By default they use the timers, random numbers and turns of their system. */
export interface SessionPace {
  /** From 0 to 1, for jitter. */
  random(): number;
  /**
   * Calls `fire` after so many milliseconds.
   *
   * @param isEnd - whether a session would end now, so that processes learn of it
   */
  after(ms: number, fire: () => void, isEnd: () => boolean): SessionTimer;
  /** Calls `fire` when the processes that can run have run. */
  endOfTurn(fire: () => void): void;
}

/** A timer of a session. */
export interface SessionTimer {
  cancel(): void;
}

/** Receives what a carrier brings. */
export interface FrameReceiver {
  /** A frame arrived. */
  frame(from: RemoteNode, frame: string): void;
  /** A node was seen: it joined, or it answered. A session begins, unless there is one. */
  seen(node: RemoteNode): void;
  /**
   * Nobody listens at this node: the server found no responders, a port was closed, or a thread ended.
   *
   * @param frame - the frame that found nobody, or its tag, if that is known. A notice about a frame of an older epoch is ignored.
   */
  unreachable(node: RemoteNode, frame?: string): void;
  /** Whether the carrier notices the end of this node at once, from now on. While it does not, silence ends the session. */
  notices(node: RemoteNode, isSure: boolean): void;
  /** Whether an epoch with this node is up. */
  isUp(node: RemoteNode): boolean;
}
