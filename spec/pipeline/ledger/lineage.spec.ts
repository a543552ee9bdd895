// Rows of lineage come back as they were, and are small.

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sourceId } from "../../../lib/pipeline/definition/message-id.js";
import { decodeEntry, encodeEntry, type LineageEntry } from "../../../lib/pipeline/ledger/lineage.js";
import { sized } from "../../support/proof.js";

const text = fc.oneof(
  fc.string({ minLength: 1, unit: "binary" }),
  fc.constantFrom("\t", "\n", '"', "a\tb\nc", "\0", "\ud800"),
);
const call = fc.record(
  {
    adapter: text,
    status: fc.constantFrom("completed" as const, "skipped" as const, "ended" as const, "failed" as const),
    startedMs: fc.integer({ min: 0, max: 4e12 }),
    tookMs: fc.nat(1e9).map((us) => us / 1_000),
    gave: fc.nat(),
    input: text,
    output: text,
    error: text,
  },
  { requiredKeys: ["adapter", "status", "startedMs", "tookMs", "gave"] },
);
const entry: fc.Arbitrary<LineageEntry> = fc.record(
  {
    id: fc.nat(1_000).map((n) => sourceId(0, n)),
    route: text,
    status: fc.constantFrom("completed" as const, "dead" as const, "cancelled" as const),
    attempt: fc.nat(100),
    calls: fc.array(call, { maxLength: 5 }),
    children: fc.nat(),
    batch: text,
    errors: fc.array(text, { minLength: 1, maxLength: 3 }),
  },
  { requiredKeys: ["id", "route", "status", "attempt", "calls", "children"] },
);

describe("a row of lineage", () => {
  it("comes back as it was, whatever its texts hold, and every store can keep it [Y6]", () => {
    const property = fc.property(entry, (one) => {
      const row = encodeEntry(one);
      expect(decodeEntry(one.id, row)).toEqual(one);
      expect(decodeEntry(one.id, new TextEncoder().encode(row))).toEqual(one);
      expect(row).not.toContain("\0");
      expect((row as string & { isWellFormed(): boolean }).isWellFormed()).toBe(true);
    });
    fc.assert(property, { numRuns: sized(200), seed: 70 });
  });

  it("has about 90 bytes for three calls", () => {
    const calls = ["parse", "validate", "enrich"].map((adapter, i) => ({
      adapter,
      status: "completed" as const,
      startedMs: 1_790_000_000_000 + i,
      tookMs: 0.112,
      gave: 1,
    }));
    const one: LineageEntry = {
      id: "10.10",
      route: "ingest",
      status: "completed",
      attempt: 1,
      calls,
      children: 1,
    };
    expect(encodeEntry(one).length).toBeLessThan(90);
  });

  it("that is damaged is refused", () => {
    expect(() => decodeEntry("10.10", "?\t1\t1\tr")).toThrow("no entry of a lineage");
    expect(() => decodeEntry("10.10", "c\t1\t1\tr\n?\t1")).toThrow("no call of a lineage");
  });
});
