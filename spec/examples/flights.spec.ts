// The main job in small: a few hundred made-up flights, many kills, and a comparison that notices what it has to.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fc, test } from "@fast-check/vitest";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { lastLine, main } from "../../examples/flights/app.js";
import { mulberry32 } from "../../examples/flights/chaos.js";
import type { Output } from "../../examples/flights/command-line.js";
import { type Flight, hourOf } from "../../examples/flights/flights.js";
import type { Account } from "../../examples/flights/ledger.js";
import { run } from "../../examples/flights/run.js";
import { progressLine, screenLines, type View } from "../../examples/flights/screen.js";
import { compare, ledgerTotals, straightTotals } from "../../examples/flights/totals.js";

/** One in eight is so late that its worker takes a while over it. Fractions, so that the order of additions matters. */
function madeUp(count: number): Flight[] {
  const random = mulberry32(count);
  return Array.from({ length: count }, () => ({
    delay: random() * 80 - 10,
    distance: random() * 3_000,
    time: random() * 24,
  }));
}

/** The ledger of a run in which nothing went wrong. */
function rightAccount(flights: readonly Flight[]): Account {
  return {
    commits: new Uint32Array(flights.length).fill(1),
    hour: Uint8Array.from(flights, ({ time }) => hourOf(time)),
    delay: Float64Array.from(flights, ({ delay }) => delay),
    distance: Float64Array.from(flights, ({ distance }) => distance),
  };
}

const crashesOf = ({ crashes }: { crashes: ReadonlyMap<string, number> }): number =>
  [...crashes.values()].reduce((sum, times) => sum + times, 0);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "flights-"));
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
  afterEach(() => void vi.restoreAllMocks());

  it.each([1, 2, 3, 4, 5])(
    "counts every flight once while workers are killed, with seed %i",
    async (seed) => {
      const flights = madeUp(400);
      const result = await run({ flights, workers: 4, killEvery: 4, seed });
      expect(compare(flights, result.account)).toEqual({ lost: 0, duplicated: 0, exact: true });
      expect(result.failures).toEqual([]);
      expect(result.delivered).toBe(400);
      expect(result.kills).toBeGreaterThan(50);
      expect(crashesOf(result)).toBe(result.kills);
      expect(result.reroutes).toBeGreaterThan(0);
    },
  );

  it("comes to an end with a single worker that is killed at every flight", async () => {
    // Turns of the scheduler are limited in real time, and flights that depart while the worker is down kill nobody. With a
    // clock that stands still, the number of kills is the same on any machine.
    const now = performance.now();
    vi.spyOn(performance, "now").mockReturnValue(now);
    const flights = madeUp(300);
    const result = await run({ flights, workers: 1, killEvery: 1, seed: 1 });
    expect(lastLine(flights, result)).toMatchObject({ good: true });
    expect(result.kills).toBeGreaterThan(250);
    expect(crashesOf(result)).toBe(result.kills);
    expect([...result.crashes.keys()]).toEqual(["worker-1"]);
  });

  it("has nothing to count without flights", async () => {
    const result = await run({ flights: [], workers: 2, killEvery: 1, seed: 1 });
    expect(lastLine([], result).line).toBe(
      "0 flights, 0 crashes, 0 re-routes, 0 lost, 0 duplicated, sums exact",
    );
  });

  it("shows the supervision tree as it is", async () => {
    const views: View[] = [];
    const show = { everyMs: 1, show: (view: View) => views.push(view) };
    const result = await run({ flights: madeUp(300), workers: 2, killEvery: 5, seed: 1, show });
    const last = views.at(-1);
    expect(last?.tree.map(({ depth, id }) => `${depth} ${id}`)).toEqual([
      "0 ledger",
      "0 workers",
      "1 worker-1",
      "1 worker-2",
      "0 chaos",
      "0 screen",
    ]);
    expect(last).toMatchObject({
      flights: 300,
      delivered: 300,
      crashes: result.kills,
      reroutes: result.reroutes,
    });
    const restarts = last?.tree.map((row) => row.restarts) ?? [];
    expect(restarts.reduce((sum, times) => sum + times, 0)).toBe(result.kills);
  });
});

describe("the comparison", () => {
  const flights = madeUp(50);
  const of = (account: Account) => {
    const { line, good } = lastLine(flights, { account, crashes: new Map(), reroutes: 0, failures: [] });
    return { ...compare(flights, account), good, end: line.slice(line.indexOf("re-routes, ") + 11) };
  };

  it("finds nothing wrong with a right ledger", () => {
    expect(of(rightAccount(flights))).toMatchObject({ good: true, end: "0 lost, 0 duplicated, sums exact" });
  });

  it("notices a flight that was lost", () => {
    const account = rightAccount(flights);
    account.commits[7] = 0;
    account.delay[7] = 0;
    account.distance[7] = 0;
    expect(of(account)).toMatchObject({ good: false, end: "1 lost, 0 duplicated, sums differ" });
  });

  it("notices a flight that came three times", () => {
    const account = rightAccount(flights);
    account.commits[7] = 3;
    account.delay[7]! *= 3;
    account.distance[7]! *= 3;
    expect(of(account)).toMatchObject({ good: false, end: "0 lost, 2 duplicated, sums differ" });
  });

  it("notices one lost and one duplicated flight, though there are as many commits as flights", () => {
    const account = rightAccount(flights);
    account.commits[0] = 0;
    account.commits[1] = 2;
    expect(of(account)).toMatchObject({ good: false, lost: 1, duplicated: 1, exact: false });
  });

  it("notices the last bit of one contribution", () => {
    const even = flights.map((flight) => ({ ...flight, delay: 1 }));
    const account = rightAccount(even);
    account.delay[3]! += 2 ** -40;
    expect(compare(even, account)).toEqual({ lost: 0, duplicated: 0, exact: false });
  });

  it("notices a flight in the wrong hour", () => {
    const account = rightAccount(flights);
    account.hour[3] = (account.hour[3]! + 1) % 24;
    expect(of(account)).toMatchObject({ good: false, end: "0 lost, 0 duplicated, sums differ" });
  });

  it("says why a dispatch failed", () => {
    const failures = [new Error("no way"), new Error("no way either")];
    const result = { account: rightAccount(flights), crashes: new Map(), reroutes: 0, failures };
    expect(lastLine(flights, result)).toEqual({
      line: expect.stringMatching(/sums exact, 2 dispatches failed \(no way\)$/),
      good: false,
    });
  });

  const number = fc.double({ noDefaultInfinity: true, noNaN: true });
  test.prop([fc.array(fc.record({ delay: number, distance: number, time: number }))])(
    "agrees with the straight loop for whatever numbers a file may hold",
    (some) => {
      expect(ledgerTotals(rightAccount(some))).toEqual(straightTotals(some));
      expect(compare(some, rightAccount(some))).toEqual({ lost: 0, duplicated: 0, exact: true });
    },
  );

  test.prop([fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 50 })])(
    "counts what was lost and duplicated flight by flight",
    (times) => {
      const some = madeUp(times.length);
      const account = { ...rightAccount(some), commits: Uint32Array.from(times) };
      const { lost, duplicated } = compare(some, account);
      expect(lost).toBe(times.filter((one) => one === 0).length);
      expect(times.reduce((sum, one) => sum + one, 0)).toBe(times.length - lost + duplicated);
    },
  );
});

describe("the application", () => {
  it("ends with one line that says it all, and exit code 0", async () => {
    const [out, err] = [paper(), paper()];
    const file = await fileOf("good.json", JSON.stringify(madeUp(300)));
    const args = ["--file", file, "--kill-every", "5", "--workers", "3", "--seed", "7"];
    expect(await main(args, out, err)).toBe(0);
    expect(out.text.trimEnd().split("\n").at(-1)).toMatch(
      /^300 flights, [1-9]\d* crashes, [1-9]\d* re-routes, 0 lost, 0 duplicated, sums exact$/,
    );
    expect(err.text).toBe("");
  });

  it("draws over itself on a terminal", async () => {
    const [out, err] = [{ ...paper(), isTTY: true, columns: 60, rows: 10 }, paper()];
    const file = await fileOf("drawn.json", JSON.stringify(madeUp(20)));
    expect(await main(["--file", file], out, err)).toBe(0);
    expect(out.text).toContain("100 %");
    // However few drawings a short run has, each is written as one update of the screen.
    expect(out.text).toContain("\u001b[?2026h");
  });

  it("explains itself", async () => {
    const [out, err] = [paper(), paper()];
    expect(await main(["--help"], out, err)).toBe(0);
    expect(out.text).toContain("--kill-every N");
    expect(err.text).toBe("");
  });

  const flight = '{"delay":1,"distance":2,"time":3}';
  it.each([
    ["a file that is not there", undefined, /^cannot read the flights: ENOENT.*missing\.json'$/],
    ["what is not JSON", "not\njson", /is not JSON: /],
    ["an empty file", "", /is not JSON: /],
    ["what is no array", flight, /is not an array of flights$/],
    ["a record that is none", `[${flight},null]`, /record 1 is no object with delay, distance, time$/],
    [
      "a field that is missing",
      `[${flight},${flight},{"delay":1}]`,
      /"distance" of record 2 is missing, expected a/,
    ],
    [
      "a number in quotes",
      '[{"delay":"1","distance":2,"time":3}]',
      /"delay" of record 0 is "1", expected a finite/,
    ],
    ["a number beyond all bounds", '[{"delay":1,"distance":1e999,"time":3}]', /"distance" of record 0 is/],
  ])("refuses %s with one line and code 2", async (_what, text, said) => {
    const [out, err] = [paper(), paper()];
    const file = text === undefined ? join(folder, "missing.json") : await fileOf("bad.json", text);
    expect(await main(["--file", file], out, err)).toBe(2);
    expect(err.text.split("\n")).toEqual([expect.stringMatching(said), ""]);
    expect(out.text).toBe("");
  });

  it.each([
    [["--workers", "0"], '--workers is "0", expected a whole number from 1 to 100'],
    [["--workers", "101"], '--workers is "101", expected a whole number from 1 to 100'],
    [["--kill-every", "1e3"], '--kill-every is "1e3", expected a whole number from 1 to 4294967295'],
    [["--seed=-1"], '--seed is "-1", expected a whole number from 0 to 4294967295'],
    [["--seed"], "Option '--seed <value>' argument missing; --help lists the options"],
    [["--seed", "-1"], "Option '--seed' argument is ambiguous; --help lists the options"],
    [["--sed", "1"], "Unknown option '--sed'; --help lists the options"],
    [["flights.json"], "Unexpected argument 'flights.json'; --help lists the options"],
  ])("refuses %j with one line and code 2", async (args, said) => {
    const [out, err] = [paper(), paper()];
    expect(await main(args, out, err)).toBe(2);
    expect(err.text).toBe(`${said}\n`);
    expect(out.text).toBe("");
  });
});

describe("the screen", () => {
  const view: View = {
    flights: 200,
    delivered: 50,
    reroutes: 3,
    crashes: 2,
    elapsedMs: 2_000,
    tree: [
      { depth: 0, id: "workers", pid: "<flights.3 workers>", restarts: 0 },
      { depth: 1, id: "worker-1", pid: "<flights.4>", restarts: 2 },
      { depth: 1, id: "worker-2", pid: "restarting", restarts: 0 },
    ],
  };

  it("is a pure function of the view", () => {
    expect(screenLines(view, 80, 24)).toEqual([
      "[#######.......................] 25 %",
      "2.0 s: 50 of 200 flights, 25/s, 2 crashes, 3 re-routes",
      "workers          <flights.3 workers>",
      "  worker-1       <flights.4>                2 restarts",
      "  worker-2       restarting",
    ]);
    expect(screenLines(view, 80, 24)).toEqual(screenLines(structuredClone(view), 80, 24));
  });

  it("leaves out what does not fit", () => {
    expect(screenLines(view, 80, 6).slice(2)).toEqual([
      "workers          <flights.3 workers>",
      "  worker-1       <flights.4>                2 restarts",
      "… and 1 more",
    ]);
  });

  test.prop([fc.integer({ min: 1, max: 200 }), fc.integer({ min: 4, max: 50 }), fc.nat({ max: 60 })])(
    "never fills the terminal, so that it can be drawn over",
    (columns, rows, workers) => {
      const row = { depth: 1, id: "worker", pid: "<flights.1>", restarts: 1 };
      const lines = screenLines({ ...view, tree: new Array(workers).fill(row) }, columns, rows);
      expect(lines.length).toBeLessThan(rows);
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(Math.max(1, columns - 1));
    },
  );

  it("shows a run without flights as done, and one that has just begun without a rate", () => {
    expect(screenLines({ ...view, flights: 0, delivered: 0 }, 80, 24)[0]).toMatch(/100 %$/);
    expect(progressLine({ ...view, delivered: 0, elapsedMs: 0 })).toContain(" 0/s,");
  });
});
