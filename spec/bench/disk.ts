// What the disk itself takes: the bytes of a step appended to a file, and the sync that makes them durable.

import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { median, type Program } from "./program.js";
import { SIZES } from "./sizes.js";

/** Bytes that a store appends for a step: pages of its log. */
const STEP = Buffer.alloc(4_096, "step");

/** One `write` and one `fdatasync` after the other. The time is the median of all. */
export function syncs(count: number): Program {
  return {
    operations: count,
    expected: count * STEP.length,
    run: async () => {
      const folder = mkdtempSync(join(tmpdir(), "signalbox-bench-"));
      const file = openSync(join(folder, "log"), "w");
      const elapsedNs: number[] = [];
      try {
        for (let i = 0; i < count; i++) {
          const started = performance.now();
          writeSync(file, STEP);
          fdatasyncSync(file);
          elapsedNs.push((performance.now() - started) * 1e6);
        }
        return { counted: statSync(join(folder, "log")).size, figures: { ns: median(elapsedNs) } };
      } finally {
        closeSync(file);
        rmSync(folder, { recursive: true });
      }
    },
  };
}

export const programs: Readonly<Record<string, Program>> = {
  "flow-lonely-step": syncs(SIZES.flows.lonely),
};
