// Nodes of a cluster over a real NATS server: killed, stopped and cut off, while they dispatch to each other's consumers.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ChildProgram, childProgram } from "../../support/child-program.js";
import { describeNats } from "../../support/nats.js";
import { graded, sized } from "../../support/proof.js";
import { ChaosUsageError } from "../command-line.js";
import { readChaosOptions } from "./options.js";
import { strikeNodes } from "./run.js";

describeNats("nodes of a cluster", () => {
  let program: ChildProgram;
  beforeAll(async () => {
    program = await childProgram(new URL("node.ts", import.meta.url));
  });
  afterAll(() => program.remove());

  it("lose no dispatch, and have each link at both ends, whatever befalls them [N1129]", async () => {
    const faults = graded({ quick: 3, short: 25, full: sized(100, 0.02) });
    const report = await strikeNodes({ faults, seed: 7, nodes: 3, dispatches: 200, child: program.args });
    expect(report.findings).toEqual([]);
    expect(report.line).toBe(`${faults} faults, ${faults * 200} dispatches, 0 lost, links symmetric`);
    expect(report.acknowledged).toBeGreaterThan(faults * 100);
  });
});

describe("the command line of chaos:nodes", () => {
  it("has defaults, and takes faults, seed, nodes and dispatches", () => {
    expect(readChaosOptions([])).toEqual({ faults: 100, seed: 1, nodes: 3, dispatches: 1_000 });
    const given = ["--faults", "9", "--seed", "7", "--nodes", "5", "--dispatches", "20"];
    expect(readChaosOptions(given)).toEqual({ faults: 9, seed: 7, nodes: 5, dispatches: 20 });
  });

  it.each([
    [["--faults", "x"], "--faults is x"],
    [["--nodes", "1"], "--nodes is 1"],
    [["--fault", "1"], "--fault"],
    [["1000"], "1000"],
  ])("refuses %j", (args, problem) => {
    expect(() => readChaosOptions(args)).toThrow(ChaosUsageError);
    expect(() => readChaosOptions(args)).toThrow(problem);
  });
});
