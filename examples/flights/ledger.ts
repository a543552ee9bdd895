// The ledger: a server that keeps what each flight contributed, and how often it was told so.

import { defineServer, type ServerDefinition, type ServerRef } from "signalbox";

/** What a worker found out about one flight. */
export interface Contribution {
  readonly hour: number;
  readonly delay: number;
  readonly distance: number;
}

/**
 * One slot per flight. Sums are taken in the order of the flights afterwards: adding up as the commits come in would
 * round fractions differently in each run, and no comparison could be exact.
 */
export interface Account {
  /** How often each flight was committed: 0 is lost, 2 is duplicated. */
  readonly commits: Uint32Array;
  readonly hour: Uint8Array;
  readonly delay: Float64Array;
  readonly distance: Float64Array;
}

interface Calls {
  account(state: Account): Account;
}

interface Casts {
  commit(state: Account, index: number, part: Contribution): void;
}

export type LedgerRef = ServerRef<Calls, Casts>;

export const Ledger: ServerDefinition<[flights: number], Calls, Casts> = defineServer({
  label: "ledger",
  init: (_ctx, flights: number): Account => ({
    commits: new Uint32Array(flights),
    hour: new Uint8Array(flights),
    delay: new Float64Array(flights),
    distance: new Float64Array(flights),
  }),
  calls: {
    account: (account: Account): Account => account,
  },
  casts: {
    /** Adds, and does not look whether it has: a flight that comes twice is to show, in the count and in the sums. */
    commit: (account: Account, index: number, { hour, delay, distance }: Contribution): void => {
      account.commits[index]! += 1;
      account.hour[index] = hour;
      account.delay[index]! += delay;
      account.distance[index]! += distance;
    },
  },
});
