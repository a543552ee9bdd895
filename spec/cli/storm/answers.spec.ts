// What Storm's program prints, read: tables of topologies, and exceptions of Java.

import { describe, expect, test } from "vitest";
import { Refusal } from "../../../lib/cli/shell/answer.js";
import { Misuse } from "../../../lib/cli/shell/arguments.js";
import { exceptionsIn, failureOf, topologiesOf } from "../../../lib/cli/storm/answers.js";

/** The format of the rows of `storm list`: columns of 20, 10, 10, 12, 12, 20 and 20 characters, which long texts exceed. */
const WIDTHS = [20, 10, 10, 12, 12, 20, 20];
const row = (...cells: readonly (string | number)[]): string =>
  cells.map((cell, i) => String(cell).padEnd(WIDTHS[i] ?? 0)).join(" ");
const table = (...rows: readonly string[]): string =>
  [
    "Running: java -client -Ddaemon.name= org.apache.storm.command.ListTopologies",
    "15:00:00.000 [main] INFO  o.a.s.u.NimbusClient - Found leader nimbus : localhost:6627",
    row("Topology_name", "Status", "Num_tasks", "Num_workers", "Uptime_secs", "Topology_Id", "Owner"),
    "-".repeat(88),
    ...rows,
    "",
  ].join("\n");

describe("the list", () => {
  test("has a topology in each row, also with long names, names with blanks, and no owner [N1471]", () => {
    const long = "a-topology-with-a-long-name";
    const found = topologiesOf(
      table(
        row("words", "ACTIVE", 12, 1, 3_601, "words-3-1764428400", "storm"),
        row(long, "REBALANCING", 1_234, 10, 5, `${long}-12-1764428400`, "a b"),
        row("two words 7", "KILLED", 1, 0, 0, "two words 7-1-1764428400", ""),
      ),
    );
    expect(found).toEqual([
      {
        name: "words",
        status: "ACTIVE",
        tasks: 12,
        workers: 1,
        uptimeSecs: 3_601,
        id: "words-3-1764428400",
        owner: "storm",
      },
      {
        name: long,
        status: "REBALANCING",
        tasks: 1_234,
        workers: 10,
        uptimeSecs: 5,
        id: `${long}-12-1764428400`,
        owner: "a b",
      },
      {
        name: "two words 7",
        status: "KILLED",
        tasks: 1,
        workers: 0,
        uptimeSecs: 0,
        id: "two words 7-1-1764428400",
        owner: "",
      },
    ]);
  });

  test("may be empty, and an output without it is an error", () => {
    expect(topologiesOf("Running: java\nNo topologies running.\n")).toEqual([]);
    expect(topologiesOf(table())).toEqual([]);
    expect(() => topologiesOf("Running: java\n")).toThrow(Misuse);
  });
});

/** How the texts of Storm's classes look when Java prints them. */
const trace = (...exceptions: readonly string[]): string =>
  [
    "Running: java -client",
    `Exception in thread "main" ${exceptions[0]}`,
    "\tat org.apache.storm.Some.method(Some.java:7)",
    ...exceptions.slice(1).flatMap((one) => [`Caused by: ${one}`, "\t... 3 more"]),
    "",
  ].join("\n");

describe("a failure", () => {
  test("is the exception that ended the program, with its causes, and none that was logged before", () => {
    const logged =
      'WARN Ignoring exception\nException in thread "pool" java.io.IOException: once\nCaused by: a.B: c\n';
    expect(exceptionsIn(logged + trace("a.b.C$D: text: more", "e.F"))).toEqual([
      { name: "C$D", text: "text: more" },
      { name: "F", text: "" },
    ]);
    expect(exceptionsIn("nothing of the kind")).toEqual([]);
  });

  test.each([
    [
      "org.apache.storm.utils.WrappedNotAliveException: words is not alive",
      "Storm refused: words is not alive",
    ],
    ["NotAliveException(msg:words is not alive)", "Storm refused: words is not alive"],
    ["org.apache.storm.generated.NotAliveException: null", "Storm refused: null"],
    [
      "java.lang.RuntimeException: Topology name words is either not allowed or it already exists on the cluster",
      "Storm refused: Topology name words is either not allowed or it already exists on the cluster",
    ],
    ["AlreadyAliveException(msg:words is already alive)", "Storm refused: words is already alive"],
    ["AuthorizationException(msg:kill is not authorized)", "Storm refused: kill is not authorized"],
    [
      "org.apache.storm.utils.WrappedInvalidTopologyException: Invalid component x for topology words, valid values are a,b",
      "Storm refused: Invalid component x for topology words, valid values are a,b",
    ],
  ])("by which Nimbus says no is a refusal: %s [N1469]", (exception, text) => {
    for (const output of [trace(exception), trace("java.lang.RuntimeException: outer", exception)]) {
      const error = failureOf("storm kill", "ended with code 1", output);
      expect(error).toBeInstanceOf(Refusal);
      expect(error.message).toBe(text);
    }
  });

  test("without a Nimbus says how to name one [N1469]", () => {
    const text =
      "Could not find leader nimbus from seed hosts [localhost]. Did you specify a valid list of nimbus hosts for config nimbus.seeds?";
    const output = trace(`org.apache.storm.utils.NimbusLeaderNotFoundException: ${text}`);
    const error = failureOf("storm list", "ended with code 1", output);
    expect(error).toBeInstanceOf(Misuse);
    expect(error.message).toBe(`Nimbus cannot be reached: ${text}\n--nimbus HOST:PORT says where it is`);
  });

  test("of another kind is the first cause, or the last lines of the output", () => {
    const caused = failureOf("storm jar", "ended with code 1", trace("a.B: outer", "c.D: inner"));
    expect(caused).toBeInstanceOf(Misuse);
    expect(caused.message).toBe("storm jar ended with code 1: D: inner");
    const lines = Array.from({ length: 20 }, (_, i) => `line ${i}`);
    const plain = failureOf("storm jar", "ended with code 2", `${lines.join("\n")}\n`);
    expect(plain.message).toBe(`storm jar ended with code 2:\n${lines.slice(10).join("\n")}`);
  });
});
