// Hosts of flows under SIGKILL, with a real file and real processes. On PostgreSQL: kills-postgres.spec.ts.

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

describe("flows on SQLite", () => {
  it("lose nothing and repeat no step, however often their host is killed [J52]", async () => {
    const kills = graded({ quick: 4, short: 40, full: sized(100, 0.02) });
    const report = await killOnSqlite({ kills, seed: SEED, child: program.args });
    expect(report.findings).toMatchObject({ lost: [], repeated: [], bookings: [], wrong: [] });
    expect(report.line).toBe(
      `${kills} kills, ${kills * 5} flows, 0 lost, 0 steps repeated, transactions exact`,
    );
  });

  it("go on after they stood still", async () => {
    const report = await killOnSqlite({ kills: 2, stops: 2, seed: SEED, child: program.args });
    expect(report.line).toBe("2 kills, 10 flows, 0 lost, 0 steps repeated, transactions exact, 2 stops");
  });

  it.runIf(proving)("end well when their host is killed at every point in turn", async () => {
    const step = graded({ quick: 3, short: 11, full: 3 });
    const report = await everyPoint({ seed: SEED, child: program.args, flows: 1, step });
    expect(report.findings).toMatchObject({ lost: [], repeated: [], bookings: [], wrong: [] });
    expect(report.kills).toBeGreaterThan(graded({ quick: 10, short: 3, full: 10 }));
  });
});

describe("the command line of chaos:flows", () => {
  it("has defaults, and takes how often what strikes, seed, store, hosts and lease [J340]", () => {
    expect(readChaosOptions([])).toEqual({
      ...{ kills: 100, stops: 0, restarts: 0, cuts: 0, accounts: 0, busy: 0 },
      ...{ seed: 1, store: "sqlite", hosts: 1, leaseMs: undefined, everyPoint: false },
    });
    const strikes = ["--kills", "1000", "--stops", "20", "--server-restarts", "3", "--cuts", "4"];
    const load = ["--accounts", "10", "--busy", "8"];
    const places = ["--seed", "7", "--store", "postgres", "--hosts", "3", "--lease-ms", "500"];
    expect(readChaosOptions([...strikes, ...places, ...load])).toEqual({
      ...{ kills: 1_000, stops: 20, restarts: 3, cuts: 4, accounts: 10, busy: 8 },
      ...{ seed: 7, store: "postgres", hosts: 3, leaseMs: 500, everyPoint: false },
    });
  });

  it.each([
    [["--kills", "0"], "--kills is 0"],
    [["--seed", "x"], "--seed is x"],
    [["--store", "memory"], "--store is memory"],
    [["--hosts", "2"], "a SQLite file has one host"],
    [["--hosts", "17", "--store", "postgres"], "--hosts is 17"],
    [["--stops", "-1"], "--stops"],
    [["--server-restarts", "1"], "SQLite has no server"],
    [["--lease-ms", "500"], "--lease-ms"],
    [["--cuts", "1", "--store", "postgres"], "--hosts 2 or more"],
    [["--accounts", "10", "--store", "postgres"], "--hosts 2 or more"],
    [["--accounts", "1", "--store", "postgres", "--hosts", "2"], "--accounts is 1"],
    [["--busy", "65", "--store", "postgres", "--hosts", "2"], "--busy is 65"],
    [["--every-point", "--store", "postgres"], "--store sqlite"],
    [["--every-point", "--stops", "1"], "--stops"],
    [["--kill", "1"], "--kill"],
  ])("refuses %j", (args, problem) => {
    expect(() => readChaosOptions(args)).toThrow(ChaosUsageError);
    expect(() => readChaosOptions(args)).toThrow(problem);
  });
});
