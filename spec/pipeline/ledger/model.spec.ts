// The real ledgers against a model of the invariant: whatever a host does, and whatever happens to it and its store.

import * as fc from "fast-check";
import { describe, it } from "vitest";
import { sized } from "../../support/proof.js";
import { KINDS } from "./bench.js";
import { Drive, moves } from "./drive.js";

/** The cost of a run differs: SQLite writes to a disk. */
const RUNS: Readonly<Record<string, readonly [quick: number, share: number]>> = {
  volatile: [60, 1],
  memory: [40, 1],
  SQLite: [6, 0.1],
};

describe("a ledger held against the invariant", () => {
  for (const { name, place } of KINDS.filter((kind) => kind.name in RUNS))
    it(`counts, settles, hands out and ends as the model does, over crashes and failing commits: ${name} [Y32]`, async () => {
      const [quick, share] = RUNS[name] as readonly [number, number];
      await fc.assert(
        fc.asyncProperty(moves, fc.constantFrom(1, 4, 400), async (all, batchMessages) => {
          const at = await place();
          try {
            await new Drive(at.source, batchMessages).play(all);
          } finally {
            await at.dispose();
          }
        }),
        { numRuns: sized(quick, share), seed: 32 },
      );
    });
});
