// Claims and fencing: one owner at a time, tokens that grow, late writers refused.

import { type Claim, FencedError, type WriteSet } from "signalbox/store";
import { describe, expect, it } from "vitest";
import { storeContext } from "../../support/store-context.js";
import { log, plain } from "../random-sets.js";
import { bench, empty, type Kind, SCHEMA } from "./bench.js";

const owner = { owner: "test" };

const under = (claim: Claim | undefined, id = "a"): WriteSet => ({
  ...(claim && { claim }),
  writes: [{ type: "put", table: plain, row: { id } }],
});

const TTL = 15_000;

export function claimTests(kind: Kind): void {
  const at = bench(kind);

  it("have one owner at a time, and tokens that grow", async () => {
    const { store } = at();
    const first = (await store.claim("one/a", owner)) as Claim;
    expect(await store.claim("one/a", owner)).toBeUndefined();
    const second = (await store.claim("one/b", owner)) as Claim;
    expect(second.token).toBeGreaterThan(first.token);
    await first.release();
    const third = (await store.claim("one/a", owner)) as Claim;
    expect(third.token).toBeGreaterThan(second.token);
    expect(await store.claims("one/")).toEqual([
      { name: "one/a", token: third.token, owner: "test", since: expect.any(Number), held: true },
      { name: "one/b", token: second.token, owner: "test", since: expect.any(Number), held: true },
    ]);
    const [a, b] = (await store.claims("one/")).map(({ since }) => since as number);
    expect(a).toBeGreaterThanOrEqual(b as number);
    expect(Math.abs((await store.clock()) - (a as number))).toBeLessThan(600_000);
    await Promise.all([second.release(), third.release()]);
  });

  it("let their owner write, until they are released", async () => {
    const { store } = at();
    await empty(store);
    const claim = (await store.claim("two", owner)) as Claim;
    await store.commit(under(claim));
    expect(claim.lost.aborted).toBe(false);
    await claim.release();
    expect(claim.lost.aborted).toBe(true);
    const late = store.commit(under(claim, "late"));
    await expect(late).rejects.toThrow(FencedError);
    await expect(late).rejects.toMatchObject({ code: "ERR_STORE_FENCED", claim: "two", token: claim.token });
    expect(await store.get(plain, [["late"]])).toEqual([undefined]);
  });

  it("are lost when they are revoked: a late writer is refused, and others of its group are not", async () => {
    const { store } = at();
    await empty(store);
    const old = (await store.claim("three", owner)) as Claim;
    expect(await store.revoke("three", old.token + 1_000)).toBe(false);
    expect(await store.revoke("three", old.token)).toBe(true);
    expect(await store.revoke("three", old.token)).toBe(false);
    expect(old.lost.aborted).toBe(true);
    const now = (await store.claim("three", owner)) as Claim;
    const outcomes = await Promise.allSettled([
      store.commit(under(old, "old")),
      store.commit(under(now, "new")),
      store.commit({ claim: old, writes: [{ type: "insert", table: log, row: { flow: "old" } }] }),
      store.commit(under(undefined, "none")),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "rejected", "fulfilled"]);
    expect((await store.scan(plain, {})).map((row) => row.id)).toEqual(["new", "none"]);
    await old.release();
    // The late release of the old owner does not touch the new one.
    await store.commit(under(now));
    await now.release();
  });

  it("are renewed by their owner alone, if that is asked for [N1070]", async () => {
    const { store } = at();
    await empty(store);
    const claim = (await store.claim("owned", { ...owner, ttlMs: TTL, renewedBy: "owner" })) as Claim;
    expect(await claim.renew()).toBe(true);
    const { name, token } = claim;
    await store.commit({ claim: { name, token }, writes: [] });
    await store.revoke("owned", token);
    expect(await claim.renew()).toBe(false);
    expect(claim.lost.aborted).toBe(true);
    await expect(store.commit({ claim: { name, token }, writes: [] })).rejects.toThrow(FencedError);
    await expect(store.claim("owned", { ...owner, renewedBy: "nobody" } as never)).rejects.toThrow(
      'renewedBy must be one of "store", "owner"',
    );
  });

  it("refuse a set that only expects something, too", async () => {
    const { store } = at();
    const claim = (await store.claim("four", owner)) as Claim;
    await store.commit({ claim, writes: [] });
    await store.revoke("four", claim.token);
    await expect(store.commit({ claim, writes: [] })).rejects.toThrow(FencedError);
  });

  it("are given back when the store is closed", async () => {
    const { place, store } = at();
    const other = await place.source.open([SCHEMA], storeContext());
    const claim = (await other.claim("five", owner)) as Claim;
    expect(await store.claim("five", owner)).toBeUndefined();
    await other.close();
    expect(claim.lost.aborted).toBe(true);
    const next = (await store.claim("five", owner)) as Claim;
    expect(next.token).toBeGreaterThan(claim.token);
    await next.release();
  });

  it("are refused without a name or an owner", async () => {
    const { store } = at();
    await expect(store.claim("", owner)).rejects.toMatchObject({ code: "ERR_OPTION", path: "name" });
    await expect(store.claim("six", { owner: "" })).rejects.toMatchObject({ path: "owner" });
    await expect(store.claim("six", { owner: "a", ttlMs: 0 })).rejects.toMatchObject({ path: "ttlMs" });
    await expect(store.claim("six", { owner: "a", ttl: 5 } as never)).rejects.toMatchObject({ path: "ttl" });
  });

  const { advance } = kind;
  describe.runIf(advance !== undefined)("that expire", () => {
    it("are lost to others when their owner does not renew them in time", async () => {
      const { place, store } = at();
      await empty(store);
      const other = await (place.other ?? place.source).open([SCHEMA], storeContext());
      const old = (await store.claim("seven", { owner: "old", ttlMs: TTL })) as Claim;
      expect(await other.claim("seven", { owner: "new" })).toBeUndefined();
      await advance?.(place, TTL + 1);
      expect(await other.claims("seven")).toEqual([
        { name: "seven", token: old.token, owner: "old", since: expect.any(Number), held: false },
      ]);
      const now = (await other.claim("seven", { owner: "new" })) as Claim;
      expect(now.token).toBeGreaterThan(old.token);
      await expect(store.commit(under(old, "old"))).rejects.toThrow(FencedError);
      expect(old.lost.aborted).toBe(true);
      await other.commit(under(now, "new"));
      expect((await store.scan(plain, {})).map((row) => row.id)).toEqual(["new"]);
      await other.close();
    });
  });
}
