// What a test and its two nodes say to each other.

import type { PostgresConnection } from "../../../support/postgres.js";

/** How a node is started. */
export interface WitnessOptions {
  readonly name: string;
  /** The name of the other node. */
  readonly other: string;
  readonly servers: string;
  readonly cluster: string;
  /** The limit of silence of its sessions. */
  readonly limitMs: number;
  /** What may wait for a node that does not read. */
  readonly queueBytes: number;
  /** The time of the lease of its singleton. */
  readonly ttlMs: number;
  readonly postgres: PostgresConnection;
  readonly place: string;
}

/** The test asks a node to act. */
export interface Question {
  readonly id: number;
  readonly act: string;
  readonly args: readonly unknown[];
}

/** What came of it. The first answer, of number 0, says that the node has begun. */
export interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

/** How a dispatch ended: with a reply, or with the code of an error. */
export interface DispatchEnd {
  readonly reply?: string | undefined;
  readonly deliveredTo?: string | undefined;
  readonly reroutedFrom?: readonly string[] | undefined;
  readonly code?: string | undefined;
}

/** What a node has seen. */
export interface View {
  /** EXIT and DOWN at its process, with their reasons. */
  readonly signals: readonly string[];
  /** How calls that are not answered ended. */
  readonly calls: readonly string[];
  /** The numbers of messages that arrived, and of those that are dead letters. */
  readonly got: readonly number[];
  readonly dead: readonly number[];
  readonly ends: readonly DispatchEnd[];
  /** Envelopes that its consumer keeps. */
  readonly held: readonly string[];
  /** The tokens with which its singleton ran, and those that were lost or given back. */
  readonly tokens: readonly number[];
  readonly lost: readonly number[];
  /** Why sessions ended, and at which node. */
  readonly downs: readonly string[];
  /** Links of its process. */
  readonly links: number;
  /** The members of the group. */
  readonly group: readonly string[];
  /** How many nodes it sees. */
  readonly nodes: number;
  /** Whether it has the lease of the singleton now. */
  readonly isHeld: boolean;
}
