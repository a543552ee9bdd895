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

export function conformance(name: string, kind: Kind): void {
  describe(`${name} as a store`, () => {
    describe("writes", () => writeTests(kind));
    describe("values", () => valueTests(kind));
    describe("scans", () => scanTests(kind));
    describe("takes", () => takeTests(kind));
    describe("claims", () => claimTests(kind));
    describe("its life", () => lifeTests(kind));
  });
}
