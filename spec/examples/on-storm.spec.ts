// The examples as they run on a cluster of Apache Storm: what outlives a program there is in files. Here our own host runs
// them; `npm run storm:cluster` runs them on a cluster.

import { appendFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { System } from "signalbox";
import type { Topology } from "signalbox/topology";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseFlights } from "../../examples/flights-stream/flights.js";
import { STORM_PLAN, stormFindings, stormFlights, withLast } from "../../examples/flights-stream/storm.js";
import { straightAnswer } from "../../examples/flights-stream/straight.js";
import { folderIn, Journal, Journals, readJournal } from "../../examples/wordcount/journal.js";
import { fileLedger, stormResults, stormWordCount } from "../../examples/wordcount/storm.js";
import { wordsOf } from "../../examples/wordcount/text.js";
import { compare, StraightCount } from "../../examples/wordcount/totals.js";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "on-storm-"));
});
afterEach(() => rm(folder, { recursive: true }));

const path = (name: string): string => join(folder, name);

async function runToItsEnd(topology: Topology): Promise<void> {
  await using system = new System({ name: "on-storm" });
  const running = await system.start(topology);
  await running.finished();
  await running.stop();
}

describe("a journal", () => {
  it("has the records of all programs before", () => {
    for (const record of [1, 2]) {
      using journal = new Journal(path("j"), () => undefined);
      journal.append(record);
    }
    const seen: unknown[] = [];
    using _ = new Journal(path("j"), (record) => seen.push(record));
    expect(seen).toEqual([1, 2]);
  });

  it("leaves out a record that was cut, and begins the next one on a new line", async () => {
    await writeFile(path("j"), '["a"]\n["b');
    const seen: unknown[] = [];
    using journal = new Journal(path("j"), (record) => seen.push(record));
    journal.append(["c"]);
    expect(seen).toEqual([["a"], ["c"]]);
    expect(readJournal(path("j"))).toEqual([["a"], ["c"]]);
  });

  it("shows two programs the same records in the same order", () => {
    const [ours, theirs]: [unknown[], unknown[]] = [[], []];
    using one = new Journal(path("j"), (record) => ours.push(record));
    using other = new Journal(path("j"), (record) => theirs.push(record));
    one.append(1);
    other.append(2);
    one.append("é3");
    other.append(4);
    one.append(5);
    expect(ours).toEqual([1, 2, "é3", 4, 5]);
    expect(theirs).toEqual([1, 2, "é3", 4]);
  });

  it("is empty without a file", () => {
    expect(readJournal(path("none"))).toEqual([]);
  });

  it("is opened with its first record, in a folder that is known then", () => {
    let asked = 0;
    const journals = new Journals(() => {
      asked++;
      return folder;
    });
    expect(asked).toBe(0);
    journals.append("j", 1);
    journals.append("j", 2);
    expect([asked, readJournal(path("j"))]).toEqual([1, [1, 2]]);
  });

  it("names the variable that has no folder", () => {
    expect(() => folderIn("NO_SUCH_FOLDER")).toThrow("NO_SUCH_FOLDER is not set");
  });
});

describe("a ledger in a file", () => {
  it("counts the word at one place of a line once, whichever program counts it", () => {
    const first = fileLedger(path("count"));
    expect([first.count(1, 0, "cow"), first.count(1, 1, "cow"), first.count(1, 0, "cow")]).toEqual([1, 2, 2]);
    const next = fileLedger(path("count"));
    expect([next.count(1, 1, "cow"), next.count(2, 0, "cow")]).toEqual([2, 3]);
    // The program before has not noticed yet that it is over.
    expect([first.count(2, 0, "cow"), first.count(2, 1, "moon")]).toEqual([3, 1]);
    expect(next.count(2, 1, "moon")).toBe(1);
  });
});

describe("the word count for Storm", () => {
  const TEXT = Array.from({ length: 40 }, (_, n) => `The cow no. ${n} jumped over ${n % 7} moons`);
  const straight = new StraightCount();
  for (const line of TEXT) straight.add(wordsOf(line));

  it("counts exactly, and goes on with the lines that are not done when it begins again [N1480]", async () => {
    await writeFile(path("text.txt"), `${TEXT.slice(0, 25).join("\n")}\n`);
    await runToItsEnd(stormWordCount(() => folder));
    expect(stormResults(folder).done.size).toBe(25);
    await appendFile(path("text.txt"), TEXT.slice(25).join("\n"));
    // Three lines come again although their words were counted, as after a kill before the ack.
    const done = await readFile(path("done.log"), "utf8");
    await writeFile(path("done.log"), done.split("\n").slice(3).join("\n"));
    await runToItsEnd(stormWordCount(() => folder));
    const { counts, done: all } = stormResults(folder);
    expect(compare(straight.counts, counts)).toEqual({ lost: 0, surplus: 0 });
    expect(all.size).toBe(TEXT.length);
  });

  it("needs no folder while it is only looked at", () => {
    const { blueprint } = stormWordCount(() => {
      throw new Error("asked for the folder");
    });
    expect(blueprint.components.map(({ name }) => name)).toEqual(["lines", "split", "count", "results"]);
  });
});

describe("the flights for Storm", () => {
  const RECORDS = Array.from({ length: 60 }, (_, n) => ({
    date: `2001/01/0${1 + (n % 5)} ${String((n * 7) % 24).padStart(2, "0")}:10`,
    delay: (n % 9) - 3,
    origin: ["SFO", "LAX", "JFK"][n % 3],
    destination: ["BOS", "SEA"][n % 2],
  }));
  const flights = parseFlights("flights.json", JSON.stringify(RECORDS));

  it("end with a flight on each route that closes its windows", () => {
    const last = withLast(flights, STORM_PLAN).slice(flights.length);
    expect(last.map(({ origin, destination }) => `${origin}-${destination}`).sort()).toEqual([
      "JFK-BOS",
      "JFK-SEA",
      "LAX-BOS",
      "LAX-SEA",
      "SFO-BOS",
      "SFO-SEA",
    ]);
    const latest = (flights.at(-1)?.at ?? 0) + STORM_PLAN.windowMs;
    for (const { at } of last) expect(at).toBeGreaterThan(latest);
  });

  it("leave their findings in files", async () => {
    await writeFile(path("flights.json"), JSON.stringify(RECORDS));
    await runToItsEnd(stormFlights(() => folder));
    const found = stormFindings(folder);
    const wanted = straightAnswer(flights, STORM_PLAN);
    for (const [key, row] of wanted.rows) expect(found.rows.get(key)).toEqual(row);
    for (const [key, window] of wanted.windows) expect(found.windows.get(key)).toEqual(window);
    expect([found.done, found.failed]).toEqual([flights.length + 6, 0]);
  });
});
