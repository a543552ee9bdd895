// Threads as nodes: they end, hang and are started again, while the main thread dispatches to what runs in them.

import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Compiled } from "../../support/compiled.js";
import { graded, sized } from "../../support/proof.js";
import { strikeThreads } from "./threads-run.js";

const FOLDER = "spec/chaos/nodes";

describe("threads as nodes", () => {
  const compiled = new Compiled("chaos-threads");
  beforeAll(() => compiled.bundle(FOLDER, "threads-program"));
  afterAll(() => compiled.remove());

  it("lose no dispatch, have each link at both ends, and run each worker once, whatever befalls them [N1208]", async () => {
    const faults = graded({ quick: 4, short: 30, full: sized(100, 0.02) });
    const program = pathToFileURL(compiled.argsFor(`${FOLDER}/threads-program.ts`).at(-1) as string).href;
    const report = await strikeThreads({ faults, seed: 7, dispatches: 100, program });
    expect(report.findings).toEqual([]);
    const line = `${faults} faults, ${faults * 100} dispatches, 0 lost, links symmetric, names unique`;
    expect(report.line).toBe(line);
    expect(report.acknowledged).toBeGreaterThan(faults * 50);
  });
});
