// Hosts of pipelines under SIGKILL, with a real file and real processes.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ChildProgram, childProgram } from "../../support/child-program.js";
import { proving, sized } from "../../support/proof.js";
import { everyPoint } from "./every-point.js";
import { ChaosUsageError, readChaosOptions } from "./options.js";
import { killOnSqlite } from "./runs.js";

let program: ChildProgram;
beforeAll(async () => {
  program = await childProgram(new URL("child.ts", import.meta.url));
});
afterAll(() => program.remove());

const SEED = 7;

describe("a pipeline on SQLite", () => {
  it("accounts for every input once, however often its host is killed [Y115]", async () => {
    const kills = sized(proving ? 100 : 10, 0.02);
    const report = await killOnSqlite({ kills, seed: SEED, child: program.args });
    expect(report.findings).toEqual({ lost: [], duplicated: [], completions: 1, wrong: [] });
    expect(report.line).toBe(`${kills} kills, ${kills * 10} inputs, 0 lost, 0 duplicated, completed once`);
  });

  it.runIf(proving)(
    "accounts for every input when its host is killed at every point in turn [Y116]",
    async () => {
      const report = await everyPoint({ seed: SEED, child: program.args, step: 3 });
      expect(report.findings).toEqual({ lost: [], duplicated: [], completions: 1, wrong: [] });
      expect(report.kills).toBeGreaterThan(10);
    },
  );
});

describe("the command line of chaos:pipelines", () => {
  it("has defaults, and takes kills and seed [Y117]", () => {
    expect(readChaosOptions([])).toEqual({ kills: 100, seed: 1, queue: "sqlite", everyPoint: false });
    const given = ["--kills", "1000", "--seed", "7", "--queue", "postgres"];
    expect(readChaosOptions(given)).toEqual({ kills: 1_000, seed: 7, queue: "postgres", everyPoint: false });
  });

  it.each([
    [["--kills", "0"], "--kills is 0"],
    [["--kills", "1e3"], "--kills is 1e3"],
    [["--seed", "x"], "--seed is x"],
    [["--queue", "memory"], "--queue is memory"],
    [["--queue", "postgres", "--every-point"], "--queue sqlite"],
    [["--queue", "jetstream", "--every-point"], "--queue sqlite"],
    [["--kill", "1"], "--kill"],
    [["1000"], "1000"],
  ])("refuses %j", (args, problem) => {
    expect(() => readChaosOptions(args)).toThrow(ChaosUsageError);
    expect(() => readChaosOptions(args)).toThrow(problem);
  });
});
