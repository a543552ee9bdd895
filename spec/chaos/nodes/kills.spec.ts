// Nodes of a cluster over a real NATS server: killed, stopped and cut off, while they dispatch to each other's consumers.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ChildProgram, childProgram } from "../../support/child-program.js";
import { describeNats, describeNatsLeases, noLeases } from "../../support/nats.js";
import { graded, sized } from "../../support/proof.js";
import { ChaosUsageError } from "../command-line.js";
import { NamesLedger } from "./names.js";
import { readChaosOptions } from "./options.js";
import { strikeNodes } from "./run.js";

describeNats("nodes of a cluster", () => {
  let program: ChildProgram;
  beforeAll(async () => {
    program = await childProgram(new URL("node.ts", import.meta.url));
  });
  afterAll(() => program.remove());

  it("lose no dispatch, have each link at both ends and each name once, whatever befalls them [N1129]", async () => {
    const faults = graded({ quick: 3, short: 100, full: sized(100, 0.02) });
    const options = { faults, seed: 7, nodes: 3, servers: 1, child: program.args };
    const report = await strikeNodes({ ...options, dispatches: 100 });
    expect(report.findings).toEqual([]);
    const names = noLeases === undefined ? "names unique" : "names not tried";
    expect(report.line).toBe(
      `${faults} faults, ${faults * 100} dispatches, 0 lost, links symmetric, ${names}`,
    );
    expect(report.acknowledged).toBeGreaterThan(faults * 50);
  });
});

describeNatsLeases("nodes of a cluster over three servers", () => {
  let program: ChildProgram;
  beforeAll(async () => {
    program = await childProgram(new URL("node.ts", import.meta.url));
  });
  afterAll(() => program.remove());

  it("lose nothing either, and the server that leads the leases is killed, too [N1206]", async () => {
    const faults = graded({ quick: 2, short: 10, full: sized(30, 0.01) });
    const options = { faults, seed: 5, nodes: 3, servers: 3, child: program.args };
    const report = await strikeNodes({ ...options, dispatches: 100 });
    expect(report.findings).toEqual([]);
    expect(report.line).toContain("0 lost, links symmetric, names unique");
  });
});

describe("the account of names", () => {
  it("finds a token of two holders, a name without a holder, and one with several [N1207]", () => {
    const names = new NamesLedger();
    names.wrote("a (1)", { name: "billing", token: 7 });
    names.wrote("b (1)", { name: "billing", token: 9 });
    names.wrote("a (1)", { name: "billing", token: 7 });
    expect(names.wrong).toEqual([]);
    expect(names.counts).toEqual({ accepted: 2, refused: 1, holders: 2 });
    names.wrote("a (2)", { name: "billing", token: 9 });
    expect(names.wrong).toEqual(["billing with token 9 was held by b (1) and by a (2)"]);
    const billing = { name: "billing", token: 9 };
    const poller = { name: "poller", token: 1 };
    expect(names.inTheEnd([billing, poller])).toEqual([]);
    expect(names.inTheEnd([billing, poller, poller])).toEqual(["poller is held by 2 nodes in the end"]);
    expect(names.inTheEnd([poller])).toEqual(["billing is held by 0 nodes in the end"]);
    expect(names.inTheEnd([{ ...billing, token: 7 }, poller])).toEqual(["billing is held with 7 after 9"]);
  });
});

describe("the command line of chaos:nodes", () => {
  it("has defaults, and takes faults, seed, nodes, dispatches, servers and the carrier", () => {
    expect(readChaosOptions([])).toEqual({
      faults: 100,
      seed: 1,
      nodes: 3,
      dispatches: 1_000,
      servers: 1,
      carrier: "nats",
    });
    const given = [
      "--faults",
      "9",
      "--seed",
      "7",
      "--nodes",
      "5",
      "--dispatches",
      "20",
      "--servers",
      "3",
      "--carrier",
      "threads",
    ];
    expect(readChaosOptions(given)).toEqual({
      faults: 9,
      seed: 7,
      nodes: 5,
      dispatches: 20,
      servers: 3,
      carrier: "threads",
    });
  });

  it.each([
    [["--faults", "x"], "--faults is x"],
    [["--nodes", "1"], "--nodes is 1"],
    [["--carrier", "pigeon"], "--carrier is pigeon"],
    [["--servers", "2"], "--servers is 2"],
    [["--fault", "1"], "--fault"],
    [["1000"], "1000"],
  ])("refuses %j", (args, problem) => {
    expect(() => readChaosOptions(args)).toThrow(ChaosUsageError);
    expect(() => readChaosOptions(args)).toThrow(problem);
  });
});
