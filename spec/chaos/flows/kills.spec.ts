// Hosts of flows under SIGKILL, with real stores and real processes.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Compiled } from "../../support/compiled.js";
import { describePostgres } from "../../support/postgres.js";
import { proving, sized } from "../../support/proof.js";
import { everyPoint } from "./every-point.js";
import { ChaosUsageError, readChaosOptions } from "./options.js";
import { killOnPostgres, killOnSqlite, strikePostgres } from "./runs.js";

let compiled: Compiled;
let child: readonly string[];
beforeAll(() => {
  compiled = new Compiled("chaos-flows");
  compiled.compile("spec/chaos/flows");
  child = compiled.argsFor("spec/chaos/flows/child.ts");
});
afterAll(() => compiled.remove());

const SEED = 7;

describe("flows on SQLite", () => {
  it("lose nothing and repeat no step, however often their host is killed [J52]", async () => {
    const kills = sized(8, 0.01);
    const report = await killOnSqlite({ kills, seed: SEED, child });
    expect(report.findings).toMatchObject({ lost: [], repeated: [], bookings: [], wrong: [] });
    expect(report.line).toBe(
      `${kills} kills, ${kills * 5} flows, 0 lost, 0 steps repeated, transactions exact`,
    );
  });

  it.runIf(proving)("end well when their host is killed at every point in turn", async () => {
    const report = await everyPoint({ seed: SEED, child, flows: 1, step: 3 });
    expect(report.findings).toMatchObject({ lost: [], repeated: [], bookings: [], wrong: [] });
    expect(report.kills).toBeGreaterThan(10);
  });
});

describePostgres("flows on PostgreSQL", () => {
  it("lose nothing and repeat no step, however often their host is killed [J53]", async () => {
    const report = await killOnPostgres({ kills: sized(2, 0.01), seed: SEED, child });
    expect(report.findings).toMatchObject({ lost: [], repeated: [], bookings: [], wrong: [] });
  });

  it.runIf(proving)(
    "lose nothing on two hosts that are killed, stopped and cut off while the server restarts [J57]",
    async () => {
      const report = await strikePostgres({ strikes: 10, seed: SEED, child });
      expect(report.line).toBe("10 strikes, 50 flows, 0 lost, 0 steps repeated, transactions exact");
    },
  );
});

describe("the command line of chaos:flows", () => {
  it("has defaults, and takes kills, seed, store and hosts", () => {
    expect(readChaosOptions([])).toEqual({
      kills: 100,
      seed: 1,
      store: "sqlite",
      hosts: 1,
      everyPoint: false,
    });
    const given = ["--kills", "1000", "--seed", "7", "--store", "postgres", "--hosts", "2"];
    expect(readChaosOptions(given)).toMatchObject({ kills: 1_000, seed: 7, store: "postgres", hosts: 2 });
  });

  it.each([
    [["--kills", "0"], "--kills is 0"],
    [["--seed", "x"], "--seed is x"],
    [["--store", "memory"], "--store is memory"],
    [["--hosts", "2"], "a SQLite file has one host"],
    [["--every-point", "--store", "postgres"], "--store sqlite"],
    [["--kill", "1"], "--kill"],
  ])("refuses %j", (args, problem) => {
    expect(() => readChaosOptions(args)).toThrow(ChaosUsageError);
    expect(() => readChaosOptions(args)).toThrow(problem);
  });
});
