// One suite for every kind of store. A kind runs it from a spec of its own:
//
//     conformance("memory", { make: async () => ({ source: memory(), dispose: async () => undefined }), runs: 100 });
//
// The parts are in files of their own.

import { describe } from "vitest";
import type { Kind } from "./conformance/bench.js";
import { claimTests } from "./conformance/claims.js";
import { lifeTests } from "./conformance/life.js";
import { scanTests } from "./conformance/scans.js";
import { takeTests } from "./conformance/takes.js";
import { valueTests } from "./conformance/values.js";
import { writeTests } from "./conformance/writes.js";

export type { Kind, Place } from "./conformance/bench.js";

type Part = "writes" | "values" | "scans" | "takes" | "claims" | "its life";

const PARTS: Readonly<Record<Part, (kind: Kind) => void>> = {
  writes: writeTests,
  values: valueTests,
  scans: scanTests,
  takes: takeTests,
  claims: claimTests,
  "its life": lifeTests,
};

/** @param without - parts that another kind runs on the same statements */
export function conformance(name: string, kind: Kind, without: readonly Part[] = []): void {
  const parts = Object.entries(PARTS).filter(([part]) => !without.some((one) => one === part));
  describe(`${name} as a store`, () => {
    for (const [part, tests] of parts) describe(part, () => tests(kind));
  });
}
