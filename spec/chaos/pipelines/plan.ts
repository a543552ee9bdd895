// What the parent of a kill test tells its children, and what they answer.

import type { StorePlace } from "../stores.js";

export interface Plan {
  readonly store: StorePlace;
  /** The server of JetStream that carries the messages. Undefined: none does. */
  readonly broker?: string | undefined;
  /** The file with the inputs, and how many there are. */
  readonly file: string;
  readonly inputs: number;
  /** A file with a number: of so many inputs the source may read. The parent raises it. */
  readonly allowed: string;
  /** The file to which outputs and ends are appended. */
  readonly record: string;
  /** Names the host. */
  readonly host: string;
  /** The child kills itself when it comes to this point, counted from 1. Undefined: it does not. */
  readonly killAt?: number | undefined;
  /** How long the claim of a host holds without renewal. Undefined: the store's default. */
  readonly leaseMs?: number | undefined;
}

/** The id of the execution. */
export const EXECUTION = "chaos";
/** Printed when the host is up. */
export const UP = "up";
/** Printed when nothing is left of the allowed inputs, followed by the number of points passed. */
export const IDLE = "idle";
/** Printed when the execution has completed. */
export const COMPLETED = "completed";
