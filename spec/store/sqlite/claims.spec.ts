// What a file remembers of claims whose owners are gone.

import { type Claim, sqlite } from "signalbox/store";
import { describe, expect, it } from "vitest";
import { DRIVERS, newFolder, open } from "./support.js";

const LIVES = 20;

describe.each(DRIVERS)("claims on %s", (driver) => {
  it("of owners that are gone are forgotten when another claims, and tokens grow all the same", async () => {
    using folder = newFolder();
    const file = folder.file("a.db");
    const first = await open(sqlite(file, { driver }));
    const claims: Claim[] = [];
    for (let life = 0; life < LIVES; life++)
      claims.push((await first.claim(`host-${life}`, { owner: "test" })) as Claim);
    expect(await first.claims("host-")).toHaveLength(LIVES);
    await first.close();
    let token = Math.max(...claims.map((claim) => claim.token));
    for (let life = 0; life < 3; life++) {
      const store = await open(sqlite(file, { driver }));
      const revoked = (await store.claim("revoked", { owner: "test" })) as Claim;
      expect(revoked.token).toBeGreaterThan(token);
      expect(await store.claims("")).toHaveLength(1);
      await store.revoke("revoked", revoked.token);
      const held = (await store.claim(`later-${life}`, { owner: "test" })) as Claim;
      const other = (await store.claim(`other-${life}`, { owner: "test" })) as Claim;
      expect((await store.claims("")).map(({ name, held }) => [name, held])).toEqual([
        [held.name, true],
        [other.name, true],
      ]);
      token = other.token;
      await store.close();
    }
  });
});
