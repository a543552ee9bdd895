// Random programs about devices, networks, requests and faults: a search with reduction has the same outcomes as one without.

import { describe, expect, it } from "vitest";
import { sized } from "../../support/proof.js";
import type { Theme } from "./programs/language.js";
import { compare, occurrences } from "./programs/property.js";
import { THEMES } from "./programs/themes.js";

describe.each<[string, number, number]>([
  ["world", 6, 0.02],
  ["network", 3, 0.015],
  ["requests", 6, 0.02],
  ["faults", 8, 0.04],
])("random programs about %s", (name, quick, share) => {
  const theme = THEMES[name] as Theme;

  it("have the same outcomes in a search with reduction as in one without [T12]", async () => {
    const { full, partly, plain, reduced, redundant } = await compare(theme, sized(quick, share));
    expect(full).toBeGreaterThanOrEqual(quick);
    expect(partly).toBeLessThan(full);
    expect(reduced - redundant).toBeLessThan(plain);
  });

  it("perform each of their instructions, most of them often", async () => {
    const counts = await occurrences(theme, 400);
    for (const op of Object.keys(theme.operations)) expect(counts.get(op) ?? 0, op).toBeGreaterThan(1);
  });
});
