// Flights through windows of time: what comes of them is what a straight loop finds, however the work is divided.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fc, test } from "@fast-check/vitest";
import type { Pid } from "signalbox";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Output } from "../../examples/flights/command-line.js";
import { lastLine, main } from "../../examples/flights-stream/app.js";
import { bars, sparkline } from "../../examples/flights-stream/charts.js";
import { dateText, type Flight, parseFlights, readFlights } from "../../examples/flights-stream/flights.js";
import { merge, rank, Total } from "../../examples/flights-stream/ranking.js";
import { progressLine, reportLines, screenLines } from "../../examples/flights-stream/report.js";
import { Results } from "../../examples/flights-stream/results.js";
import { run, type View } from "../../examples/flights-stream/run.js";
import { differences, straightAnswer } from "../../examples/flights-stream/straight.js";
import { flightsStream, mostHeld, type Plan } from "../../examples/flights-stream/stream.js";

const HOUR = 3_600_000;
const DAYS: Plan = { windowMs: 24 * HOUR, everyMs: 6 * HOUR, top: 10, tasks: 2 };
/** Real flights of the same three months, a tenth of those that the program takes unless told otherwise. */
const SMALL = createRequire(import.meta.url)
  .resolve("vega-datasets")
  .replace(/build.*/, "data/flights-2k.json");

function flightsAt(...texts: readonly string[]): readonly Flight[] {
  const records = texts.map((text) => {
    const [day, time, origin, destination, delay] = text.split(" ");
    return { date: `${day} ${time}`, origin, destination, delay: Number(delay) };
  });
  return parseFlights("made up", JSON.stringify(records));
}

const FEW = flightsAt(
  "2001/01/01 00:10 SFO LAX 5",
  "2001/01/01 00:50 SFO JFK 7.5",
  "2001/01/01 00:50 LAX SFO -3",
  "2001/01/01 01:00 SFO LAX 1",
  "2001/01/01 07:30 SFO LAX 2",
);

/** A run in which nothing went wrong. */
function resultsOf(flights: readonly Flight[], plan: Plan): Results {
  const { rows, windows, overall } = straightAnswer(flights, plan);
  const results = new Results();
  for (const row of rows.values()) results.addRow(row);
  for (const window of windows.values()) results.addWindow(window);
  results.overall = overall;
  results.done = flights.length;
  return results;
}

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "flights-stream-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function fileOf(name: string, text: string): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, text);
  return file;
}

function paper(): Output & { text: string } {
  return {
    text: "",
    write(text) {
      this.text += text;
    },
  };
}

describe("a run", () => {
  it.each([1, 2, 5])("finds in real flights what the straight loop finds, with %i tasks", async (tasks) => {
    const flights = (await readFlights(SMALL)).slice(0, 400);
    const plan = { ...DAYS, tasks };
    const results = await run({ ...plan, flights });
    expect(differences(results, straightAnswer(flights, plan))).toEqual([]);
    expect(results).toMatchObject({ done: 400, failed: 0 });
  });

  it.each([1, 3])(
    "finds the same when its window tasks are killed again and again, with %i tasks",
    async (tasks) => {
      const flights = (await readFlights(SMALL)).slice(0, 1_000);
      const plan = { ...DAYS, tasks };
      let kills = 0;
      const results = await run({
        ...plan,
        flights,
        meddle: (running, system, found) => {
          // Kills another task whenever a hundred flights more are done. It looks in each turn, not by a clock:
          // on a busy machine a timer would come too late.
          system.spawn({
            init: (ctx) => ctx.send(ctx.self, "look"),
            handle: (ctx) => {
              if (kills === 8) return;
              ctx.send(ctx.self, "look");
              if (found.done < 100 * (kills + 1)) return;
              const { pid } = running.tasks(kills % 2 === 0 ? "hours" : "routes")[kills % tasks] ?? {};
              if (pid === undefined) return;
              kills++;
              system.exit(pid as Pid<never>, "kill");
            },
          });
        },
      });
      expect(kills).toBe(8);
      expect(lastLine(flights, plan, results)).toMatchObject({ good: true });
    },
  );

  it("hands over the hours of each airport, and the routes of each window", async () => {
    const plan = { ...DAYS, windowMs: 2 * HOUR, everyMs: HOUR };
    const { rows, windows, overall } = await run({ ...plan, flights: FEW });
    expect([...rows.values()].map(({ hour, ...row }) => ({ at: dateText(hour), ...row }))).toEqual(
      expect.arrayContaining([
        { at: "2001/01/01 00:00", origin: "SFO", flights: 2, delay: 12.5 },
        { at: "2001/01/01 00:00", origin: "LAX", flights: 1, delay: -3 },
        { at: "2001/01/01 01:00", origin: "SFO", flights: 1, delay: 1 },
        { at: "2001/01/01 07:00", origin: "SFO", flights: 1, delay: 2 },
      ]),
    );
    expect(rows.size).toBe(4);
    expect(
      [...windows.values()].map(({ start, flights }) => `${dateText(start)}: ${flights}`).sort(),
    ).toEqual([
      "2000/12/31 23:00: 3",
      "2001/01/01 00:00: 4",
      "2001/01/01 01:00: 1",
      "2001/01/01 06:00: 1",
      "2001/01/01 07:00: 1",
    ]);
    expect(windows.get(Date.UTC(2001, 0, 1))?.best).toEqual([
      { route: "SFO-LAX", flights: 2 },
      { route: "LAX-SFO", flights: 1 },
      { route: "SFO-JFK", flights: 1 },
    ]);
    expect(overall).toMatchObject({ flights: 5, known: 3, best: [{ route: "SFO-LAX", flights: 3 }, {}, {}] });
  });

  it("has nothing to find without flights", async () => {
    const results = await run({ ...DAYS, flights: [] });
    expect(lastLine([], DAYS, results)).toEqual({
      line: "0 flights, 0 windows, 0 routes, sums exact",
      good: true,
    });
  });

  const code = fc.constantFrom("SFO", "LAX", "JFK", "ORD", "ATL");
  const flight = fc.record({
    at: fc.integer({ min: -60, max: 60 }).map((half) => half * (HOUR / 2)),
    delay: fc.double({ min: -60, max: 600, noNaN: true }),
    origin: code,
    destination: code,
  });
  const plan = fc
    .tuple(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 12 }))
    .map(([one, other]) => ({ windowMs: Math.max(one, other) * HOUR, everyMs: Math.min(one, other) * HOUR }));
  test.prop(
    [
      fc.array(flight, { maxLength: 40 }),
      plan,
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 3 }),
    ],
    { numRuns: 20 },
  )(
    "agrees with the straight loop, whatever the flights and the windows",
    async (some, windows, tasks, top) => {
      const flights = some.toSorted((one, other) => one.at - other.at);
      const results = await run({ ...windows, tasks, top, flights });
      expect(lastLine(flights, { ...windows, tasks, top }, results)).toMatchObject({ good: true });
    },
  );

  it("allows more flights under way than its windows can hold, or nothing would move", () => {
    // An hour has 3 of the five at most, a day has them all; and each of 2 tasks may hold as many.
    expect(mostHeld(FEW, DAYS)).toBe(2 * (4 + 5));
    const { blueprint } = flightsStream(FEW, DAYS, new Results(), mostHeld(FEW, DAYS));
    const spout = blueprint.components.find(({ kind }) => kind === "spout");
    expect(spout?.config.maxPending).toBeGreaterThan(mostHeld(FEW, DAYS));
  });
});

describe("the comparison", () => {
  const plan = DAYS;
  const found = (change: (results: Results) => void) => {
    const results = resultsOf(FEW, plan);
    change(results);
    const { line, good } = lastLine(FEW, plan, results);
    return { good, said: line.slice(line.indexOf("sums")) };
  };
  const [row] = resultsOf(FEW, plan).rows.values();
  const [window] = resultsOf(FEW, plan).windows.values();

  it("finds nothing wrong with what is right", () => {
    expect(found(() => undefined)).toEqual({ good: true, said: "sums exact" });
  });

  it.each<[string, (results: Results) => void, string]>([
    ["a row that is missing", ({ rows }) => rows.clear(), "hours of an airport: 4 missing"],
    [
      "the last bit of a sum",
      (results) => results.addRow({ ...row!, delay: row!.delay + 2 ** -45 }),
      "hours of an airport: 1 wrong",
    ],
    [
      "a row of an hour without flights",
      (results) => results.addRow({ ...row!, hour: 0 }),
      "hours of an airport: 1 too many",
    ],
    [
      "a window that is missing",
      ({ windows }) => windows.delete(window!.start),
      "windows of routes: 1 missing",
    ],
    [
      "a window with a flight too few",
      ({ windows }) => windows.set(window!.start, { ...window!, flights: window!.flights - 1 }),
      "windows of routes: 1 wrong",
    ],
    [
      "two routes in the wrong order",
      (results) => {
        results.overall = { ...results.overall, best: results.overall.best.toReversed() };
      },
      "routes over all: wrong",
    ],
    [
      "a flight that was given up",
      (results) => {
        results.done--;
        results.failed++;
      },
      "flights: 1 not done, 1 failed",
    ],
  ])("notices %s", (_what, change, said) => {
    expect(found(change)).toEqual({ good: false, said: `sums differ: ${said}` });
  });
});

describe("results that come again", () => {
  const [row] = resultsOf(FEW, { windowMs: HOUR, everyMs: HOUR, top: 3, tasks: 1 }).rows.values();

  it("count when they were made of as many flights as those before", () => {
    const results = new Results();
    for (const [flights, delay] of [
      [2, 1],
      [1, 5],
      [2, 3],
    ] as const)
      results.addRow({ ...row!, flights, delay });
    expect([...results.rows.values()]).toEqual([{ ...row!, flights: 2, delay: 3 }]);
  });

  it("replace what their window had added to the total", () => {
    const total = new Total();
    total.set(0, new Map([["A-B", 2]]));
    total.set(1, new Map([["A-B", 1]]));
    total.set(0, new Map([["A-B", 1]]));
    expect([...total.counts]).toEqual([["A-B", 3]]);
    total.set(
      1,
      new Map([
        ["A-B", 1],
        ["A-C", 1],
      ]),
    );
    expect([...total.counts]).toEqual([
      ["A-B", 3],
      ["A-C", 1],
    ]);
  });
});

describe("a ranking", () => {
  const routes = fc.dictionary(fc.constantFrom(..."abcdefgh"), fc.integer({ min: 1, max: 3 }));
  test.prop([routes, fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 4 })])(
    "put together from parts is that of the whole",
    (counts, top, tasks) => {
      const all = Object.entries(counts);
      const parts = Array.from({ length: tasks }, (_, task) =>
        rank(new Map(all.filter((_entry, index) => index % tasks === task)), top),
      );
      expect(merge(parts, top)).toEqual(rank(new Map(all), top));
    },
  );
});

describe("the application", () => {
  it("ends with one line that says it all, and exit code 0", async () => {
    const [out, err] = [paper(), paper()];
    expect(await main(["--file", SMALL, "--top", "3"], out, err)).toBe(0);
    const lines = out.text.trimEnd().split("\n");
    expect(lines.at(-1)).toMatch(/^2000 flights, [1-9]\d+ windows, [1-9]\d+ routes, sums exact$/);
    expect(lines).toContain("mean delay by hour of day, in minutes");
    expect(out.text).not.toContain("\u001b");
    expect(err.text).toBe("");
  });

  it("draws over itself on a terminal, and leaves the report there", async () => {
    const [out, err] = [{ ...paper(), isTTY: true, columns: 60, rows: 10 }, paper()];
    const records = [{ date: "2001/01/01 00:10", delay: 5, origin: "SFO", destination: "LAX" }];
    const file = await fileOf("drawn.json", JSON.stringify(records));
    expect(await main(["--file", file], out, err)).toBe(0);
    expect(out.text).toContain("of 1 flights done");
    expect(out.text).toContain("\u001b[2K");
    expect(out.text).toMatch(
      /busiest routes over all[\s\S]*SFO-LAX[\s\S]*1 flights, \d+ windows, 1 routes, sums exact\n$/,
    );
  });

  it("explains itself", async () => {
    const [out, err] = [paper(), paper()];
    expect(await main(["--help"], out, err)).toBe(0);
    expect(out.text).toContain("--window HOURS");
    expect(err.text).toBe("");
  });

  const good = { date: "2001/01/01 00:10", delay: 5, origin: "SFO", destination: "LAX" };
  it.each([
    ["a file that is not there", undefined, /^cannot read the flights: ENOENT.*missing\.json'$/],
    ["what is not JSON", "not\njson", /is not JSON: /],
    ["what is no array", "{}", /is not an array of flights$/],
    ["a record that is none", [good, null], /record 1 is no object$/],
    ["a date that is missing", [{ delay: 1 }], /record 0: "date" is missing, expected a date such as 2001/],
    [
      "a day that there is not",
      [{ ...good, date: "2001/02/30 00:00" }],
      /"date" is "2001\/02\/30 00:00", expected/,
    ],
    ["an hour that there is not", [{ ...good, date: "2001/02/03 24:00" }], /"date" is "2001\/02\/03 24:00"/],
    ["a number in quotes", [{ ...good, delay: "1" }], /"delay" is "1", expected a finite number$/],
    ["no code of an airport", [{ ...good, origin: "San Francisco" }], /"origin" is "San Fr.*such as SFO$/],
    ["no destination", [{ ...good, destination: 7 }], /"destination" is 7, expected the code/],
  ])("refuses %s with one line and code 2", async (_what, content, said) => {
    const [out, err] = [paper(), paper()];
    const text = typeof content === "string" ? content : JSON.stringify(content);
    const file = content === undefined ? join(folder, "missing.json") : await fileOf("bad.json", text);
    expect(await main(["--file", file], out, err)).toBe(2);
    expect(err.text.split("\n")).toEqual([expect.stringMatching(said), ""]);
    expect(out.text).toBe("");
  });

  it.each([
    [["--window", "0"], '--window is "0", expected a whole number from 1 to 744'],
    [["--window", "1.5"], '--window is "1.5", expected a whole number from 1 to 744'],
    [["--window", "745"], '--window is "745", expected a whole number from 1 to 744'],
    [["--every", "25"], "--every is 25, expected at most 24, or flights fall between two windows"],
    [["--top", "101"], '--top is "101", expected a whole number from 1 to 100'],
    [["--tasks", "17"], '--tasks is "17", expected a whole number from 1 to 16'],
    [["--tasks"], "Option '--tasks <value>' argument missing; --help lists the options"],
    [["--seed", "1"], "Unknown option '--seed'; --help lists the options"],
    [["flights.json"], "Unexpected argument 'flights.json'; --help lists the options"],
  ])("refuses %j with one line and code 2", async (args, said) => {
    const [out, err] = [paper(), paper()];
    expect(await main(args, out, err)).toBe(2);
    expect(err.text).toBe(`${said}\n`);
    expect(out.text).toBe("");
  });

  it("puts flights in the order of their dates, those of one minute in that of the file", () => {
    const flights = flightsAt(
      "2001/01/02 00:00 SFO LAX 1",
      "2001/01/01 00:00 SFO LAX 2",
      "2001/01/02 00:00 SFO LAX 3",
    );
    expect(flights.map(({ delay }) => delay)).toEqual([2, 1, 3]);
  });
});

describe("a chart", () => {
  it("has one cell of a sparkline for each value, from the lowest to the highest", () => {
    expect(sparkline([-3, undefined, 0, 3, 11])).toBe("▁ ▂▄█");
    expect(sparkline([2, 2])).toBe("▅▅");
    expect(sparkline([undefined])).toBe(" ");
  });

  it("has bars to one scale, and those below zero on the other side", () => {
    expect(bars([0, 1, 1.5, 4], 8)).toEqual(["", "██", "███", "████████"]);
    expect(bars([1.0625], 8.5)).toEqual(["████████▌"]);
    expect(bars([-1, undefined, 3], 8)).toEqual(["░░", "  ", "  ██████"]);
    expect(bars([], 8)).toEqual([]);
    expect(bars([0], 8)).toEqual([""]);
  });

  test.prop([fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true })), fc.integer({ min: 1, max: 40 })])(
    "is never wider than it may be, but for the cell where zero is",
    (values, cells) => {
      for (const bar of bars(values, cells)) expect(bar.length).toBeLessThanOrEqual(cells + 1);
    },
  );
});

describe("what is shown", () => {
  const plan = { ...DAYS, windowMs: 2 * HOUR, everyMs: HOUR };
  const view: View = { flights: 10, pending: 4, elapsedMs: 2_000, results: resultsOf(FEW, plan) };

  it("is a screen while it runs", () => {
    expect(screenLines(view, 80, 24)).toEqual([
      "[###############...............] 50 %",
      "2.0 s: 5 of 10 flights done, 4 under way, up to 2001/01/01 07:00",
      "",
      "mean delay by hour of day  █▁     ▄",
      "                           0     6     12    18",
      "",
      "busiest routes over all     in the 2 h to 2001/01/01 09:00, of 1 flights",
      "  1 SFO-LAX       3         SFO-LAX       1",
      "  2 LAX-SFO       1",
      "  3 SFO-JFK       1",
    ]);
  });

  it("is a report in the end", () => {
    const lines = reportLines(view.results, 10);
    expect(lines.slice(0, 4)).toEqual([
      "mean delay by hour of day, in minutes",
      "00:00    3.2  ██████████████████████████████",
      "01:00    1.0  █████████▌",
      "02:00      –",
    ]);
    expect(lines.slice(25)).toEqual([
      "",
      "airports with the most minutes of delay",
      "  1 SFO        16 min,     4 flights, mean   3.9",
      "",
      "busiest routes over all     in the 2 h to 2001/01/01 02:00, of 4 flights",
      "  1 SFO-LAX       3         SFO-LAX       2",
      "  2 LAX-SFO       1         LAX-SFO       1",
      "  3 SFO-JFK       1         SFO-JFK       1",
      "",
    ]);
  });

  test.prop([fc.integer({ min: 1, max: 200 }), fc.integer({ min: 2, max: 50 })], { numRuns: 30 })(
    "never fills the terminal, so that it can be drawn over",
    (columns, rows) => {
      const lines = screenLines(view, columns, rows);
      expect(lines.length).toBeLessThan(rows);
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(Math.max(1, columns - 1));
    },
  );

  it("knows the beginning, and a run without flights", () => {
    const results = new Results();
    expect(progressLine({ flights: 3, pending: 0, elapsedMs: 0, results })).toBe(
      "0.0 s: 0 of 3 flights done, 0 under way, at the beginning",
    );
    expect(screenLines({ flights: 0, pending: 0, elapsedMs: 0, results }, 80, 24)[0]).toMatch(/100 %$/);
    expect(reportLines(results, 10)).toContain("busiest routes over all");
  });
});
