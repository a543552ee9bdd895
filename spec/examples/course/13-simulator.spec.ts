// The scenario of the course breaks the shelf that trusts its customers, and no schedule at all breaks the other one.

import { exhaustive, explore } from "signalbox/testing";
import { expect, it } from "vitest";
import { lastTin, Shelf, TrustingShelf } from "../../../examples/course/13-simulator.js";

it("breaks the shelf that trusts its customers", async () => {
  await expect(explore(lastTin(TrustingShelf), { seed: 1 })).rejects.toThrow("-1 tins left");
});

it("breaks the shelf that looks and takes at once in no schedule", async () => {
  const all = await explore(lastTin(Shelf), { strategy: exhaustive(), schedules: 10_000 });
  expect(all.complete).toBe(true);
  expect(all.schedules).toBeGreaterThan(1);
});
