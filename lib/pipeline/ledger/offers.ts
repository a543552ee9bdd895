// Which executions the hosts of a shared store can run: each host writes the versions that it has, and an offer counts while the claim of
// its host is held. The offers of a host that is gone are given back with the rest of what it held (give-back.ts).

import { heldTokens } from "../../host/claims/claims.js";
import type { Claim, Store } from "../../store/index.js";
import { HOST_CLAIMS, offers } from "./tables.js";

/** A version of a pipeline whose executions a host can run. */
export interface Offer {
  readonly pipeline: string;
  readonly version: number;
}

/** Most offers that are read. */
const MOST_OFFERS = 100_000;

/** Says what a host can run. */
export async function offer(store: Store, claim: Claim, all: readonly Offer[]): Promise<void> {
  const holder = claim.token;
  const rows = all.map(({ pipeline, version }) => ({ pipeline, version, holder }));
  await store.commit({ claim, writes: rows.map((row) => ({ type: "put", table: offers, row })) });
}

/** Takes the offers of a host back: it ends. */
export async function withdraw(store: Store, claim: Claim): Promise<void> {
  await store.commit({
    claim,
    writes: [{ type: "clear", table: offers, index: "holder", prefix: [claim.token] }],
  });
}

/** The offers of all hosts that hold their claim. */
export async function offered(store: Store): Promise<readonly Offer[]> {
  const rows = await store.scan(offers, { limit: MOST_OFFERS });
  // Read after the offers: a host has its claim before it offers.
  const held = await heldTokens(store, HOST_CLAIMS);
  return rows.filter(({ holder }) => held.has(holder));
}
