// The bird strikes: the whole of it in a small form, with a real process under SIGKILL; what is wrong with records; the comparison.

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { System } from "signalbox";
import { csvRows, isDamaged, runPipeline } from "signalbox/pipeline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Airports } from "../../examples/birdstrikes/airports.js";
import { lastLine, main, summary } from "../../examples/birdstrikes/app.js";
import { DAMAGED_LINES, withDamage } from "../../examples/birdstrikes/damage.js";
import { parseOptions } from "../../examples/birdstrikes/options.js";
import { birdstrikes } from "../../examples/birdstrikes/pipeline.js";
import type { Left } from "../../examples/birdstrikes/report.js";
import { killsAt, run } from "../../examples/birdstrikes/run.js";
import { progressLine, screenLines, type View } from "../../examples/birdstrikes/screen.js";
import { differences, straightTotals } from "../../examples/birdstrikes/straight.js";
import { parseStrike, type Strike, validated } from "../../examples/birdstrikes/strike.js";
import type { Output } from "../../examples/flights/command-line.js";
import { bundledFile } from "../../examples/flights/data-file.js";
import { type ChildProgram, childProgram } from "../support/child-program.js";
import { proving } from "../support/proof.js";

const STRIKES = readFileSync(bundledFile("birdstrikes.csv"), "utf8");
const AIRPORTS = bundledFile("airports.csv");
const folder = mkdtempSync(join(tmpdir(), "birdstrikes-spec-"));
let service: ChildProgram;
beforeAll(async () => {
  service = await childProgram(new URL("../../examples/birdstrikes/service.ts", import.meta.url));
});
afterAll(() => {
  service.remove();
  rmSync(folder, { recursive: true });
});

function paper(): Output & { text: string } {
  return {
    text: "",
    write(text) {
      this.text += text;
    },
  };
}

async function app(...args: readonly string[]) {
  const [out, err] = [paper(), paper()];
  const code = await main(args, out, err, service.args);
  return { code, out: out.text, err: err.text, last: out.text.trimEnd().split("\n").at(-1) };
}

describe("the bird strikes", () => {
  it("come to the totals of a straight computation, though their process is killed [Y118]", async () => {
    const store = join(folder, "kept");
    const limit = proving ? 300 : 100;
    const args = ["--limit", `${limit}`, "--kills", "2", "--seed", "4", "--store", store];
    const { code, out, last } = await app(...args);
    const { records, reported } = straightTotals(STRIKES, limit);
    const dead = records + DAMAGED_LINES - reported;
    expect(last).toBe(
      `${limit} records, ${reported} reported, ${dead} dead letters, killed 2 times: totals equal to the straight computation`,
    );
    expect(code).toBe(0);
    expect(out).toContain("killed 2 of 2 times\n");
    for (const name of ["jobs.db", "report.db", "strikes.csv"])
      expect(existsSync(join(store, name))).toBe(true);
    expect(await app("--store", store)).toMatchObject({
      code: 2,
      out: "",
      err: expect.stringContaining(store),
    });
  });

  it("are one JSON document when they are asked to be", async () => {
    const { code, out } = await app("--limit", "20", "--kills", "0", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      records: 20,
      damagedLines: 12,
      killed: 0,
      isEqual: true,
      differences: [],
    });
  });

  it("say so when the process ends in another way", async () => {
    const options = {
      ...{
        service: ["-e", "process.exit(3)"],
        folder,
        airports: AIRPORTS,
        lines: 1,
        kills: 0,
        seed: 1,
        calls: 1,
      },
      show: { everyMs: 0, show: () => undefined },
    };
    await expect(run(options)).rejects.toThrow("ended with 3");
  });
});

describe("the input", () => {
  it("has each damaged line alone among the records, at the same places for the same seed", async () => {
    const bytes = withDamage(STRIKES, 500, 9);
    expect(bytes.equals(withDamage(STRIKES, 500, 9))).toBe(true);
    expect(bytes.equals(withDamage(STRIKES, 500, 8))).toBe(false);
    const text = bytes.toString("latin1").split("\n").slice(1, -1);
    expect(text).toHaveLength(500 + DAMAGED_LINES);
    const whole = new Set(STRIKES.split(/\r?\n/).slice(1, 501));
    expect(text.filter((line) => !whole.has(line))).toHaveLength(DAMAGED_LINES);
  });

  it("gives as many messages, whatever the damage, and all of them are accounted for", async () => {
    await using system = new System({ report: false });
    const { records, reported, airports } = straightTotals(STRIKES, 400);
    const file = join(folder, "strikes.csv");
    writeFileSync(file, withDamage(STRIKES, 400, 2));
    const written = new Map<unknown, number>();
    const report = {
      placeholder: () => "?",
      run: (_sql: string, values: readonly unknown[]) => {
        for (let i = 0; i < values.length; i += 8)
          written.set(values[i + 1], (written.get(values[i + 1]) ?? 0) + Number(values[i + 3]));
      },
    };
    const pipeline = birdstrikes({ file, airports: new Airports(AIRPORTS), report, called: () => undefined });
    const { inputs, dead } = await runPipeline(system, pipeline);
    expect([inputs, dead]).toEqual([records + DAMAGED_LINES, records + DAMAGED_LINES - reported]);
    expect(written).toEqual(new Map([...airports].map(([airport, { strikes }]) => [airport, strikes])));
  });
});

describe("a record", () => {
  const row = {
    ...{ "Airport Name": "DENVER INTL AIRPORT", "Flight Date": "1996-02-29", "Phase of flight": "Climb" },
    ...{ "Effect Amount of damage": "Minor", "Cost Total $": "12", "Speed IAS in knots": "" },
  };

  it("may lack its speed, and nothing else", () => {
    const airport = "DENVER INTL AIRPORT";
    const strike = {
      airport,
      date: "1996-02-29",
      phase: "Climb",
      damage: "Minor",
      cost: 12,
      speed: undefined,
    };
    expect(validated(parseStrike(row))).toEqual(strike);
    expect(new Airports(AIRPORTS).locate(strike)).toEqual({ ...strike, iata: "DEN" });
  });

  it.each([
    [{ "Flight Date": "1995-02-29" }, 'damaged line: the date is "1995-02-29"'],
    [{ "Flight Date": "yesterday" }, 'damaged line: the date is "yesterday"'],
    [{ "Cost Total $": "-5" }, 'damaged line: the cost is "-5"'],
    [{ "Cost Total $": "" }, 'damaged line: the cost is ""'],
    [{ "Speed IAS in knots": "fast" }, 'damaged line: the speed is "fast"'],
    [{ "Effect Amount of damage": "C" }, "unknown damage: C"],
    [{ "Speed IAS in knots": "0" }, "impossible speed: 0 knots at Climb"],
  ])("is a dead letter with %j", (fields, reason) => {
    expect(() => validated(parseStrike({ ...row, ...fields }))).toThrow(reason);
  });

  it("may be of an aircraft that stands", () => {
    const parked = { ...row, "Phase of flight": "Parked", "Speed IAS in knots": "0" };
    expect(validated(parseStrike(parked)).speed).toBe(0);
  });

  it("has an airport that the airports file has, with one exception in the file", async () => {
    const airports = new Airports(AIRPORTS);
    const codes = new Map<string, string>();
    const unknown = new Set<string>();
    const source = csvRows("strikes", { path: bundledFile("birdstrikes.csv"), damaged: "pass" });
    const ctx = { checkpoint: undefined, input: undefined, signal: new AbortController().signal };
    for await (const { value } of source.open(ctx as never)) {
      if (isDamaged(value)) throw new Error(value.$damaged);
      const strike: Strike = parseStrike(value);
      try {
        codes.set(strike.airport, airports.locate(strike).iata);
      } catch {
        unknown.add(strike.airport);
      }
    }
    expect([...unknown]).toEqual(["BARKSDALE AIR FORCE BASE ARPT"]);
    expect(new Set(codes.values()).size).toBe(49);
    expect(
      ["NEW ORLEANS INTL", "PORTLAND INTL (OR)", "CHICAGO MIDWAY INTL ARPT"].map((name) => codes.get(name)),
    ).toEqual(["MSY", "PDX", "MDW"]);
  });
});

describe("the comparison", () => {
  // A straight computation knows names of airports and no codes, so no code is compared.
  const ANY_CODE = "XXX";
  const straight = straightTotals(STRIKES, 100);
  const left: Left = {
    airports: [...straight.airports.values()].map((totals) => ({ ...totals, iata: ANY_CODE })),
    dead: new Map([...straight.dead, ["damaged line", 12]]),
    ...{ inputs: 112, status: "completed" },
  };
  const [first, ...others] = left.airports as [Left["airports"][0], ...Left["airports"]];

  it("finds nothing where nothing differs", () => {
    expect(differences(straight, 12, left)).toEqual([]);
    expect(lastLine(straight, left, 3, [])).toMatch(
      /^100 records, \d+ reported, \d+ dead letters, killed 3 times: totals equal to the straight computation$/,
    );
  });

  it.each<[string, Partial<Left>, RegExp]>([
    ["a strike too many", { airports: [{ ...first, strikes: first.strikes + 1 }, ...others] }, /^strikes at/],
    ["a cost", { airports: [{ ...first, cost: -1 }, ...others] }, /^cost at/],
    ["an airport that is missing", { airports: others }, /^airports: /],
    ["an airport that is there twice", { airports: [first, first, ...others] }, /^airports: /],
    ["a dead letter that is missing", { dead: new Map() }, /^dead letters, /],
    [
      "a dead letter of another kind",
      { dead: new Map([...left.dead, ["other", 1]]) },
      /^dead letters, other: 1/,
    ],
    ["inputs", { inputs: 111 }, /^inputs: 111, and has to be 112/],
    ["an end", { status: "failed" }, /^the execution is: failed/],
  ])("finds %s", (_what, wrong, said) => {
    const found = differences(straight, 12, { ...left, ...wrong });
    expect(found[0]).toMatch(said);
    expect(lastLine(straight, left, 3, found)).toMatch(
      /: [1-9]\d* totals differ from the straight computation$/,
    );
  });

  it("prints the airports with the most strikes, and reasons", () => {
    const text = summary({ ...left, airports: [{ ...first, iata: "DEN", strikes: 2, speeds: 0, knots: 0 }] });
    expect(text).toContain("report: 1 airports");
    expect(text).toContain("  DEN  2 strikes");
    expect(text).toContain("no speeds");
    expect(text).toContain("damaged line 12");
  });
});

describe("the kills", () => {
  it("fall before the end of a run, all of them, and at the same calls for the same seed", () => {
    for (const kills of [0, 1, 3, 50]) {
      const at = killsAt(kills, 7, 10_000);
      expect(at).toHaveLength(kills);
      expect(at).toEqual(killsAt(kills, 7, 10_000));
      expect(at.every((calls) => calls >= 1)).toBe(true);
      expect(at.reduce((sum, calls) => sum + calls, 0)).toBeLessThan(10_000);
    }
    expect(killsAt(10, 7, 10)).toEqual(Array(10).fill(1));
  });
});

describe("the command line", () => {
  it("has defaults", () => {
    const defaults = { kills: 3, seed: 1, limit: Number.POSITIVE_INFINITY, store: undefined, json: false };
    expect(parseOptions([])).toEqual(defaults);
  });

  it("explains itself", async () => {
    const { code, out, err } = await app("--help");
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain("--kills N");
    for (const line of out.split("\n")) expect(line.length).toBeLessThanOrEqual(110);
  });

  it.each([
    [["--kills", "x"], '--kills is "x", expected a whole number from 0 to 1000'],
    [["--limit", "0"], '--limit is "0", expected a whole number from 1'],
    [["--seed=-1"], '--seed is "-1"'],
    [["--store", ""], "--store is empty"],
    [["--store", "/dev/null/no"], "--store: "],
    [["--limit", "2", "--kills", "9"], "--kills is 9, and 2 records are enough for "],
    [["--kill", "1"], "Unknown option '--kill'"],
    [["extra"], "Unexpected argument 'extra'"],
  ])("refuses %j with one line and code 2", async (args, said) => {
    const { code, out, err } = await app(...args);
    expect([code, out]).toEqual([2, ""]);
    expect(err.split("\n")).toEqual([expect.stringContaining(said), ""]);
  });
});

describe("the screen", () => {
  const progress = { inputs: 50, done: 120, dead: 3, pending: 20, rate: 99.6 };
  const view: View = { lines: 200, progress, killed: 1, kills: 3 };

  it("shows how far it is", () => {
    expect(progressLine(view)).toBe(
      "50 of 200 lines read, 120 messages done, 20 pending, 3 dead letters, 100/s, killed 1 of 3 times",
    );
    expect(screenLines(view, 200)[0]).toBe(`[${"#".repeat(7)}${".".repeat(23)}] 25 %`);
    expect(progressLine({ ...view, progress: undefined })).toBe("starting, killed 1 of 3 times");
    expect(screenLines({ ...view, progress: undefined, lines: 0 }, 20)).toEqual([
      "[##################",
      "starting, killed 1 ",
    ]);
  });

  it("draws over itself on a terminal", async () => {
    const [out, err] = [{ ...paper(), isTTY: true, columns: 70 }, paper()];
    expect(await main(["--limit", "5", "--kills", "0"], out, err, service.args)).toBe(0);
    expect(out.text).toContain("\u001b[");
  });
});
