// The claims of durable hosts. A row that names the token of a claim belongs to its host while the claim is held; any other host may take
// over the rows of a host that is gone.

import type { Kernel } from "../../process/kernel.js";
import { processName } from "../../process/process-name.js";
import {
  type Claim,
  type ClaimInfo,
  type Columns,
  ConflictError,
  type Store,
  type Table,
} from "../../store/index.js";

/**
 * Takes a claim in the name of this program.
 *
 * @param taken - makes the error if another program holds the claim: `holder` is that program, unless it has just ended
 */
export async function takeClaim(
  store: Store,
  name: string,
  taken: (holder: ClaimInfo | undefined) => Error,
): Promise<Claim> {
  const claim = await store.claim(name, { owner: processName() });
  if (claim === undefined) throw taken(await holderOf(store, name));
  return claim;
}

/** Takes a claim under a new id. */
export function takeNewClaim(store: Store, prefix: string, kernel: Kernel): Promise<Claim> {
  const name = prefix + kernel.env.id();
  return takeClaim(store, name, () => new ConflictError("claims", [name], "no owner", "one"));
}

/** The claim of this name, if it is held. */
export async function holderOf(store: Store, name: string): Promise<ClaimInfo | undefined> {
  return (await store.claims(name)).find((one) => one.name === name && one.held);
}

/** The tokens of the claims that are held. To find rows of hosts that are gone, read the rows first: each host has its claim before its rows. */
export async function heldTokens(store: Store, prefix: string): Promise<ReadonlySet<number>> {
  return new Set((await store.claims(prefix)).filter((one) => one.held).map(({ token }) => token));
}

/** The tokens that rows of a table name. The table has an index `holder`, by that column first. */
export async function tokensIn<C extends Columns>(store: Store, table: Table<C>): Promise<number[]> {
  const tokens: number[] = [];
  for (let after = 0; ; ) {
    const [first] = await store.scan(table, { index: "holder", after, limit: 1 });
    if (first === undefined) return tokens;
    after = first.holder as number;
    tokens.push(after);
  }
}

/**
 * The tokens whose hosts can write no more. A claim that has lapsed is revoked, so that its host cannot renew it late.
 *
 * @param tokens - seen in rows before this call, so none of them is of a claim that was made since
 * @param lapsed - called for each claim that its host has not given back: the program of that host ended without notice
 */
export async function goneTokens(
  store: Store,
  prefix: string,
  tokens: readonly number[],
  lapsed: () => void = () => undefined,
): Promise<number[]> {
  if (tokens.length === 0) return [];
  const gone: number[] = [];
  const claims = await store.claims(prefix);
  for (const token of tokens) {
    const claim = claims.find((one) => one.token === token);
    if (claim?.held === true) continue;
    if (claim !== undefined) {
      // False: it was not held any more. Either way its owner can write no more.
      await store.revoke(claim.name, token);
      lapsed();
    }
    gone.push(token);
  }
  return gone;
}
