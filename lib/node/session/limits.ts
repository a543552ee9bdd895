// Every limit of sessions between nodes, with its name and default, in one table.

/** The limits of the sessions of one node. Durations are milliseconds, sizes are characters of text unless they say bytes. */
export interface SessionLimits {
  /**
   * A session ends when nothing was heard from the other node for so long, or when it acknowledged nothing. Heartbeats go at least
   * four times as often. 100 or more.
   */
  readonly limitMs: number;
  /** Signals that may wait for one node. A message beyond that is a dead letter at once, with the reason `noconnection`. */
  readonly queueSignals: number;
  /** Bytes of memory, about, that signals for one node may take while they wait. */
  readonly queueBytes: number;
  /** Frames that a node may send before it hears that they arrived. */
  readonly windowFrames: number;
  /** The sizes of these frames together. */
  readonly windowSize: number;
  /** Signals in one frame. */
  readonly batchSignals: number;
  /** Size of a frame. A larger text goes in parts, between the frames of others. 1,024 or more. */
  readonly batchSize: number;
  /** Bytes that may wait in the carrier: beyond that, the session waits. */
  readonly carrierBytes: number;
  /** How long `close` waits for the carrier to send what it has. */
  readonly closeMs: number;
  /** Nodes whose sessions are remembered. A session that is over makes room for a new one. */
  readonly maxNodes: number;
}

/** The default of every limit of sessions. */
export const SESSION_DEFAULTS: SessionLimits = {
  limitMs: 2_000,
  queueSignals: 200_000,
  queueBytes: 32 * 1_024 * 1_024,
  windowFrames: 1_024,
  windowSize: 4 * 1_024 * 1_024,
  batchSignals: 512,
  batchSize: 65_536,
  carrierBytes: 1_024 * 1_024,
  closeMs: 1_000,
  maxNodes: 1_024,
};

/** A session sends a heartbeat after a quarter of its limit, at the latest. */
export const HEARTBEATS_PER_LIMIT = 4;
