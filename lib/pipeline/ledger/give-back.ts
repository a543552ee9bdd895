// A host that is gone leaves messages, sources, batches and offers that name its claim, in a store that several processes share. Another
// host gives them back, in commits that are bounded, and each of which expects the rows to be as they were. So a host that was cut off and
// comes back finds its claim lost, and the store refuses all of its writes.

import { goneTokens, tokensIn } from "../../host/claims/claims.js";
import { type Claim, ConflictError, type RowExpectation, type Store, type Write } from "../../store/index.js";
import { wholeClock } from "../../store/whole-clock.js";
import {
  executionTopic,
  HOST_CLAIMS,
  held,
  messages,
  offers,
  outbox,
  READY_NEWS,
  sources,
} from "./tables.js";

/** What giving back uses of its host. */
export interface GiveBackHost {
  readonly store: Store;
  readonly claim: Claim;
  /** For people: who does it. */
  readonly owner: string;
  /** Most rows of one commit. */
  readonly rows: number;
  /** A broker carries the messages: those that are given back are sent again. */
  readonly carried: boolean;
}

/** Prefix of the claims for giving back: for each host that is gone, only one host does so. */
const GIVE_BACK_CLAIMS = "pipelines/give-back/";

/** Gives back the rows that lost hosts held. */
export async function giveBack(host: GiveBackHost): Promise<void> {
  const { store, claim } = host;
  const tokens = new Set<number>();
  for (const table of [messages, sources, held, offers])
    for (const token of await tokensIn(store, table as typeof held)) tokens.add(token);
  tokens.delete(claim.token);
  for (const token of await goneTokens(store, HOST_CLAIMS, [...tokens])) await giveBackAll(host, token);
}

type Held = typeof messages | typeof sources | typeof held | typeof offers;

async function giveBackAll(host: GiveBackHost, token: number): Promise<void> {
  const name = GIVE_BACK_CLAIMS + token;
  const alone = await host.store.claim(name, { owner: host.owner });
  if (alone === undefined) return;
  try {
    while (await giveBackSome(host, token));
  } catch (error) {
    // A host that was cut off in the middle of this is back. The rest waits for the next time.
    if (!(error instanceof ConflictError)) throw error;
  } finally {
    await alone.release().catch(() => undefined);
  }
}

/** Gives some rows back. False: there are no more. */
async function giveBackSome(
  { store, claim, rows: limit, carried }: GiveBackHost,
  token: number,
): Promise<boolean> {
  const of = { index: "holder", prefix: [token] };
  const [some, read, batches, offered] = await Promise.all([
    store.scan(messages, { ...of, limit }),
    store.scan(sources, { ...of, limit }),
    store.count(held, of),
    store.count(offers, of),
  ]);
  if (some.length + read.length + batches + offered === 0) return false;
  const round = carried ? await wholeClock(store) : 0;
  const expect: RowExpectation[] = [];
  const writes: Write[] = [held, offers].map((table) => ({
    type: "clear",
    table,
    index: "holder",
    prefix: [token],
  }));
  const free = (table: Held, key: readonly (string | number)[], set = {}): void => {
    expect.push({ table, key, is: { holder: token } });
    writes.push({ type: "update", table, key, set: { ...set, holder: null } });
  };
  for (const row of some) {
    // An end without evidence accuses no message: it is no attempt.
    const { scope, queue, lane, id } = row;
    free(messages, [scope, queue, lane, id]);
    if (carried) writes.push({ type: "put", table: outbox, row: { scope, queue, lane, id, round } });
  }
  for (const { scope, name } of read) free(sources, [scope, name]);
  const scopes = new Set([...some, ...read].map(({ scope }) => scope));
  const notify = [...scopes].map((scope) => executionTopic(scope) + READY_NEWS);
  await store.commit({ claim, expect, writes, notify });
  return true;
}
