// Random programs about devices, networks, requests and faults: a search with reduction has the same outcomes as one without.

import { describe, it } from "vitest";
import { sized } from "../../support/proof.js";
import { expectAllInstructions, expectSameOutcomes } from "./programs/compared.js";

describe.each<[string, number, number, number]>([
  ["world", 3, sized(3, 0.007, 3), 50],
  ["network", 3, sized(3, 0.005, 3), 100],
  ["requests", 3, sized(3, 0.007, 3), 50],
  ["faults", 4, sized(4, 0.013, 4), 400],
])("random programs about %s", (theme, least, programs, samples) => {
  it("have the same outcomes in a search with reduction as in one without [T12]", () =>
    expectSameOutcomes(theme, least, programs));
  it("perform each of their instructions, most of them often", () => expectAllInstructions(theme, samples));
});
