// What the parent of a kill test tells its child: which flows run, on which store, and when the child is to kill itself.

import type { Node } from "../../flow/programs/program.js";
import type { StorePlace } from "../stores.js";

export interface Plan {
  readonly store: StorePlace;
  /** The file to which every deed is appended. */
  readonly record: string;
  readonly flows: readonly { readonly id: string; readonly program: Node }[];
  /** The child kills itself when it comes to this point, counted from 1. Undefined: it does not. */
  readonly killAt?: number | undefined;
  /** Whether the process stays when its flows have ended, until it is killed. */
  readonly stays?: boolean | undefined;
  /** Names the host, where several hold the store at once. */
  readonly host?: string | undefined;
  /** How long the claim of a host holds without renewal. */
  readonly leaseMs?: number | undefined;
  /** Between how many accounts bookings move money. Undefined: they move none. */
  readonly accounts?: number | undefined;
}

/** The file to which hosts append the flows that come to the hospital, beside the record. */
export const visitsOf = (record: string): string => `${record}.visits`;

/** Printed when the host is up. */
export const UP = "up";
/** Printed when every flow of the plan has ended, followed by the number of points passed. */
export const IDLE = "idle";
