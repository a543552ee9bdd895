// Hosts of pipelines under SIGKILL, with a real file and real processes.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ChildProgram, childProgram } from "../../support/child-program.js";
import { graded, proving, sized } from "../../support/proof.js";
import { ChaosUsageError } from "../command-line.js";
import { everyPoint } from "./every-point.js";
import { readChaosOptions } from "./options.js";
import { killOnSqlite } from "./runs.js";

let program: ChildProgram;
beforeAll(async () => {
  program = await childProgram(new URL("child.ts", import.meta.url));
});
afterAll(() => program.remove());

const SEED = 7;

describe("a pipeline on SQLite", () => {
  it("accounts for every input once, however often its host is killed [Y115]", async () => {
    const kills = graded({ quick: 4, short: 40, full: sized(100, 0.02) });
    const report = await killOnSqlite({ kills, seed: SEED, child: program.args });
    expect(report.findings).toEqual({ lost: [], duplicated: [], completions: 1, wrong: [] });
    expect(report.line).toBe(`${kills} kills, ${kills * 10} inputs, 0 lost, 0 duplicated, completed once`);
  });

  it("goes on after it stood still", async () => {
    const report = await killOnSqlite({ kills: 2, stops: 2, seed: SEED, child: program.args });
    expect(report.line).toBe("2 kills, 20 inputs, 0 lost, 0 duplicated, completed once, 2 stops");
  });

  it.runIf(proving)(
    "accounts for every input when its host is killed at every point in turn [Y116]",
    async () => {
      const step = graded({ quick: 3, short: 23, full: 3 });
      const report = await everyPoint({ seed: SEED, child: program.args, step });
      expect(report.findings).toEqual({ lost: [], duplicated: [], completions: 1, wrong: [] });
      expect(report.kills).toBeGreaterThan(graded({ quick: 10, short: 3, full: 10 }));
    },
  );
});

describe("the command line of chaos:pipelines", () => {
  it("has defaults, and takes how often what strikes, hosts and seed [Y117]", () => {
    const none = { stops: 0, restarts: 0, leaseMs: undefined, everyPoint: false };
    expect(readChaosOptions([])).toEqual({ ...none, kills: 100, seed: 1, queue: "sqlite", hosts: 1 });
    const given = ["--kills", "1000", "--seed", "7", "--queue", "postgres"];
    const shared = { ...none, kills: 1_000, seed: 7, queue: "postgres" };
    expect(readChaosOptions(given)).toEqual({ ...shared, hosts: 3 });
    const strikes = ["--hosts", "2", "--stops", "20", "--server-restarts", "3", "--lease-ms", "500"];
    expect(readChaosOptions([...given, ...strikes])).toEqual({
      ...{ ...shared, hosts: 2, stops: 20, restarts: 3, leaseMs: 500 },
    });
  });

  it.each([
    [["--kills", "0"], "--kills is 0"],
    [["--kills", "1e3"], "--kills is 1e3"],
    [["--seed", "x"], "--seed is x"],
    [["--hosts", "3"], "a SQLite file has one host"],
    [["--stops", "x"], "--stops is x"],
    [["--server-restarts", "1"], "SQLite has no server"],
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
