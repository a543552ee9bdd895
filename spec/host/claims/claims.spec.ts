// Claims of durable hosts: who holds one, and whose rows may be taken over.

import { defineTable, memory, type Store } from "signalbox/store";
import { expect, test } from "vitest";
import {
  goneTokens,
  heldTokens,
  holderOf,
  takeClaim,
  takeNewClaim,
  tokensIn,
} from "../../../lib/host/claims/claims.js";
import { System } from "../../../lib/index.js";
import { storeContext } from "../../../lib/store/open-store.js";

const rows = defineTable("rows", {
  columns: { id: "integer", holder: "integer?" },
  key: ["id"],
  indexes: { holder: ["holder", "id"] },
});

async function opened(): Promise<{ readonly system: System; readonly store: Store }> {
  const system = new System({ report: false });
  const schema = { name: "rows", version: 1, tables: [rows] };
  return { system, store: await memory().open([schema], storeContext(system.kernel)) };
}

test("a claim that another program holds is refused with its holder; a free one is taken", async () => {
  const { system, store } = await opened();
  const taken = (holder: unknown): Error => new Error("taken", { cause: holder });
  const claim = await takeClaim(store, "hosts/a", taken);
  const refused = await takeClaim(store, "hosts/a", taken).catch((error: Error) => error);
  expect(refused).toMatchObject({ message: "taken", cause: { name: "hosts/a", token: claim.token } });
  expect(await holderOf(store, "hosts/a")).toMatchObject({ token: claim.token });
  expect(await holderOf(store, "hosts/")).toBeUndefined();
  const fresh = await takeNewClaim(store, "hosts/", system.kernel);
  expect(await heldTokens(store, "hosts/")).toEqual(new Set([claim.token, fresh.token]));
  await claim.release();
  expect(await holderOf(store, "hosts/a")).toBeUndefined();
  expect(await heldTokens(store, "hosts/")).toEqual(new Set([fresh.token]));
  await system.stop();
});

test("the tokens in rows come once each, in order, without rows that no host holds", async () => {
  const { system, store } = await opened();
  const holders = [7, null, 3, 7, null, 3, 5];
  await store.commit({
    writes: holders.map((holder, id) => ({ type: "insert", table: rows, row: { id, holder } })),
  });
  expect(await tokensIn(store, rows)).toEqual([3, 5, 7]);
  await system.stop();
});

test("a host is gone if its claim is not held; a claim that has lapsed is revoked first", async () => {
  const revoked: unknown[] = [];
  const store = {
    claims: async () => [
      { name: "hosts/a", token: 1, owner: "", since: 0, held: true },
      { name: "hosts/b", token: 2, owner: "", since: 0, held: false },
    ],
    revoke: async (...of: unknown[]) => revoked.push(of) > 0,
  } as unknown as Store;
  let lapsed = 0;
  const notice = (): void => void lapsed++;
  expect(await goneTokens(store, "hosts/", [1, 2, 3], notice)).toEqual([2, 3]);
  expect([revoked, lapsed]).toEqual([[["hosts/b", 2]], 1]);
  expect(await goneTokens({} as Store, "hosts/", [])).toEqual([]);
});
