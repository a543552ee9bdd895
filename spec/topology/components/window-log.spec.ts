// The log of windows that were handed over, held against a set of their starts.

import { fc, test } from "@fast-check/vitest";
import { expect } from "vitest";
import { WindowLog } from "../../../lib/topology/components/window-log.js";
import { sized } from "../../support/proof.js";

const EVERY_MS = 5;

test.prop(
  [
    fc.array(fc.record({ type: fc.constantFrom("add", "add", "remove"), window: fc.nat(12) }), {
      maxLength: 60,
    }),
  ],
  { numRuns: sized(200) },
)("a window is open until it is added, and again when it is removed [O57]", (steps) => {
  const log = new WindowLog(EVERY_MS);
  const closed = new Set<number>();
  for (const { type, window } of steps) {
    const start = window * EVERY_MS;
    log[type](start);
    if (type === "add") closed.add(start);
    else closed.delete(start);
    for (let from = -EVERY_MS; from <= 13 * EVERY_MS; from += EVERY_MS) {
      let open = from;
      while (closed.has(open)) open += EVERY_MS;
      expect(log.firstOpen(from)).toBe(open);
    }
  }
});

test("a window that the log has dropped stays closed", () => {
  const log = new WindowLog(1);
  for (let start = 0; start < 2_100; start += 2) log.add(start);
  log.remove(0);
  expect(log.firstOpen(0)).toBeGreaterThan(0);
});
