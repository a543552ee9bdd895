// The word count in small: a little text, many kills, and a comparison that notices what it has to.

import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fc, test } from "@fast-check/vitest";
import { System } from "signalbox";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Output } from "../../examples/flights/command-line.js";
import { lastLine, main } from "../../examples/wordcount/app.js";
import { tasksOf } from "../../examples/wordcount/chaos.js";
import { type CountTask, sharedLedger } from "../../examples/wordcount/ledger.js";
import { OpenLines } from "../../examples/wordcount/open-lines.js";
import { parseOptions } from "../../examples/wordcount/options.js";
import { type RunOptions, run } from "../../examples/wordcount/run.js";
import { progressLine, screenLines, type View } from "../../examples/wordcount/screen.js";
import {
  bundledFiles,
  type Chunks,
  linesOf,
  markdownIn,
  splitLines,
  wordsOf,
} from "../../examples/wordcount/text.js";
import { compare, StraightCount, top } from "../../examples/wordcount/totals.js";
import { type Line, wordCount } from "../../examples/wordcount/word-count.js";

/** Some words are in every line, some in one only, and one line in five is empty. */
function madeUp(count: number): string[] {
  return Array.from({ length: count }, (_, n) =>
    n % 5 === 4
      ? ""
      : `The cow No. ${n} jumped over the moon, and over ${n % 7} MOONS of the ${"word ".repeat(n % 40)}`,
  );
}

async function* streamOf(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines;
}

async function* brokenAfter(chunks: readonly string[], error: Error): AsyncGenerator<string> {
  yield* chunks;
  throw error;
}

async function listOf(items: AsyncIterable<string>): Promise<string[]> {
  const list: string[] = [];
  for await (const item of items) list.push(item);
  return list;
}

const runOn = (lines: readonly string[], options: Partial<RunOptions> = {}) =>
  run({ lines: streamOf(lines), counters: 3, killEvery: 3, seed: 1, dedupe: true, ...options });

const CLEAN = { lost: 0, surplus: 0 };

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "wordcount-"));
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

async function app(args: readonly string[], input: () => Chunks = () => []) {
  const [out, err] = [paper(), paper()];
  const code = await main(args, { out, err, input });
  return { code, out: out.text, err: err.text, last: out.text.trimEnd().split("\n").at(-1) };
}

describe("a run", () => {
  it("counts straight on when no process is killed", async () => {
    const result = await runOn(madeUp(50), { killEvery: 0 });
    expect(compare(result.straight.counts, result.counts)).toEqual(CLEAN);
    expect(result).toMatchObject({ done: 50, kills: 0, replayed: 0 });
  });

  it.each([1, 2])(
    "counts every word once while tasks of all kinds are killed, with seed %i",
    async (seed) => {
      const result = await runOn(madeUp(150), { seed });
      expect(compare(result.straight.counts, result.counts)).toEqual(CLEAN);
      expect(result.done).toBe(150);
      expect(result.kills).toBeGreaterThan(20);
      expect(result.replayed).toBeGreaterThan(0);
    },
  );

  it("counts some words again without dedupe, and loses none", async () => {
    const result = await runOn(madeUp(100), { dedupe: false });
    const { lost, surplus } = compare(result.straight.counts, result.counts);
    expect(lost).toBe(0);
    expect(surplus).toBeGreaterThan(0);
    expect(lastLine(result, false)).toMatchObject({
      good: true,
      line: expect.stringMatching(/, \d+ counted again$/),
    });
    expect(lastLine(result, true).good).toBe(false);
  });

  it("comes to an end with a single counter and a kill for every line", async () => {
    const result = await runOn(madeUp(60), { counters: 1, killEvery: 1 });
    expect(compare(result.straight.counts, result.counts)).toEqual(CLEAN);
    expect(result.kills).toBeGreaterThan(40);
  });

  it("keeps marks of no more lines than may be pending, and of those that were read ahead", async () => {
    const result = await runOn(madeUp(300), { killEvery: 20 });
    expect(result.mostOpen).toBeGreaterThan(1);
    expect(result.mostOpen).toBeLessThanOrEqual(128 + 64 + 1);
  });

  it("has nothing to count without lines", async () => {
    const line = "0 lines, 0 words, 0 distinct, 0 kills, 0 replayed, lost 0, counts exact";
    expect(lastLine(await runOn([]), true)).toEqual({ line, good: true });
  });

  it("ends, and says why, when the text cannot be read to its end", async () => {
    const broken = new Error("the disk is gone");
    await expect(runOn([], { lines: brokenAfter(madeUp(20), broken) })).rejects.toBe(broken);
  });

  it("shows the topology as it is, and its end last", async () => {
    const views: View[] = [];
    const show = { everyMs: 5, show: (view: View) => views.push(view) };
    const result = await runOn(madeUp(100), { show });
    expect(views.length).toBeGreaterThan(1);
    const last = views.at(-1);
    expect(last).toMatchObject({ read: 100, done: 100, kills: result.kills, replayed: result.replayed });
    expect(last?.metrics.phase).toBe("ended");
    expect(last?.metrics.components.map(({ name, tasks }) => `${name} ${tasks}`).sort()).toEqual([
      "__acker 4",
      "count 3",
      "lines 1",
      "results 1",
      "split 2",
    ]);
  });

  const word = fc.constantFrom("the", "The", "cow", "moon", "naïve", "Ωmega", "月", "x1");
  const line = fc.array(fc.tuple(word, fc.constantFrom(" ", "-", ", ", "  ")), { maxLength: 40 });
  test.prop(
    [
      fc.array(line, { maxLength: 30 }),
      fc.record({
        seed: fc.nat(),
        counters: fc.integer({ min: 1, max: 5 }),
        killEvery: fc.integer({ min: 0, max: 8 }),
        dedupe: fc.boolean(),
      }),
    ],
    { numRuns: 8 },
  )("comes to the same as looking each word up in the whole text", async (parts, options) => {
    const lines = parts.map((pairs) => pairs.flat().join(""));
    const result = await runOn(lines, options);
    const everything = lines
      .join(" ")
      .toLowerCase()
      .split(/[ ,-]+/);
    const wanted = new Map(
      everything
        .filter((one) => one !== "")
        .map((one) => [one, everything.filter((other) => other === one).length]),
    );
    expect(result.straight.counts).toEqual(wanted);
    if (options.dedupe || options.killEvery === 0) expect(result.counts).toEqual(wanted);
    else expect(compare(wanted, result.counts).lost).toBe(0);
  });
});

describe("chaos", () => {
  it("may strike every task: of ackers, bolts and spouts, and the system task", async () => {
    await using system = new System({ name: "victims" });
    const ledger = (task: CountTask) => sharedLedger(task, undefined);
    const parts = { ledger, write: () => undefined, counters: 2, onDone: () => undefined };
    const running = await system.start(wordCount({ ...parts, lines: nothing() }));
    expect(tasksOf(running).map(({ label }) => label)).toEqual([
      ...["__acker-0", "__acker-1", "__acker-2", "__acker-3", "split-0", "split-1", "count-0", "count-1"],
      ...["results-0", "lines-0", "system-task"],
    ]);
    await running.stop();
    expect(tasksOf(running)).toEqual([]);
  });

  async function* nothing(): AsyncGenerator<Line> {}
});

describe("the open lines", () => {
  it("let a word count once", () => {
    const lines = new OpenLines();
    lines.open(7, 40);
    const asked = [0, 39, 0, 39].map((at) => lines.first(7, at));
    expect(asked).toEqual([true, true, false, false]);
  });

  it("let no word of a closed line count, for it was counted before the line was done", () => {
    const lines = new OpenLines();
    lines.open(1, 1);
    lines.first(1, 0);
    lines.close(1);
    expect(lines.first(1, 0)).toBe(false);
    expect([lines.size, lines.most]).toEqual([0, 1]);
  });

  const step = fc.record({
    what: fc.constantFrom("open" as const, "word" as const, "close" as const),
    line: fc.nat({ max: 3 }),
    at: fc.nat({ max: 69 }),
  });
  const early: { what: "open" | "word" | "close"; line: number; at: number }[] = [
    { what: "word", line: 2, at: 6 },
    { what: "open", line: 2, at: 0 },
    { what: "word", line: 2, at: 6 },
  ];
  test.prop([fc.array(step, { maxLength: 200 })], { examples: [[early]] })(
    "agree with a set of everything that was counted",
    (steps) => {
      const lines = new OpenLines();
      const open = new Set<number>();
      const counted = new Set<string>();
      const once = new Set<number>(); // a number is given to one line only
      for (const { what, line, at } of steps) {
        if (what === "open" && !once.has(line)) {
          lines.open(line, 70);
          open.add(line);
          once.add(line);
        } else if (what === "close") {
          lines.close(line);
          open.delete(line);
        } else if (what === "word") {
          const key = `${line} ${at}`;
          const isFirst = open.has(line) && !counted.has(key);
          expect(lines.first(line, at)).toBe(isFirst);
          // A word of a line that is not open is not counted: it is the first again once the line is open.
          if (isFirst) counted.add(key);
        }
        expect(lines.size).toBe(open.size);
      }
    },
  );
});

describe("the comparison", () => {
  const counts = (...pairs: [string, number][]) => new Map(pairs);

  it("finds a word that is missing, and one that is there too often, though there are as many as there should be", () => {
    expect(compare(counts(["a", 2], ["b", 2]), counts(["a", 1], ["b", 3]))).toEqual({ lost: 1, surplus: 1 });
    expect(compare(counts(), counts(["a", 2]))).toEqual({ lost: 0, surplus: 2 });
  });

  it("calls a run bad when a word is lost, a line is not done, or, with dedupe, a word is counted again", () => {
    const straight = new StraightCount();
    straight.add(["a", "a"]);
    const of = (found: number, done: number, dedupe: boolean) =>
      lastLine({ straight, counts: counts(["a", found]), done, kills: 3, replayed: 4 }, dedupe);
    const start = "1 lines, 2 words, 1 distinct, 3 kills, 4 replayed";
    expect(of(2, 1, true)).toEqual({ good: true, line: `${start}, lost 0, counts exact` });
    expect(of(1, 1, false)).toEqual({ good: false, line: `${start}, lost 1, counts differ` });
    expect(of(3, 1, true)).toEqual({ good: false, line: `${start}, lost 0, counts differ, 1 counted again` });
    expect(of(3, 1, false)).toEqual({ good: true, line: `${start}, lost 0, counts differ, 1 counted again` });
    expect(of(2, 0, true)).toEqual({ good: false, line: `${start}, lost 0, counts exact, 1 lines not done` });
  });

  it("gives words that are as frequent in the order of the alphabet", () => {
    expect(top(counts(["b", 1], ["c", 2], ["a", 1]), 2)).toEqual([
      ["c", 2],
      ["a", 1],
    ]);
  });
});

describe("the text", () => {
  it("has words of any script, in lower case, with apostrophes within them", () => {
    const words = wordsOf("`Don't` — L’été, 2nd naïve_moon: 月 (x)");
    expect(words).toEqual(["don't", "l’été", "2nd", "naïve", "moon", "月", "x"]);
    expect(wordsOf("--- | ---")).toEqual([]);
  });

  const piece = fc.constantFrom("a", "b", "\n", "\r\n", "\n\n");
  test.prop([fc.array(piece, { maxLength: 30 }), fc.array(fc.nat({ max: 60 }), { maxLength: 5 })])(
    "has the same lines wherever it is cut",
    async (pieces, cuts) => {
      const text = pieces.join("");
      const at = [0, ...cuts.map((cut) => Math.min(cut, text.length)).sort((a, b) => a - b), text.length];
      const chunks = at.slice(1).map((end, n) => text.slice(at[n], end));
      const wanted = text.split(/\r?\n/);
      if (wanted.at(-1) === "") wanted.pop();
      expect(await listOf(splitLines(chunks))).toEqual(wanted);
    },
  );

  it("is read from one file after the other, and no more of it than asked for", async () => {
    const [one, two] = [await fileOf("one.txt", "a\nb"), await fileOf("two.txt", "d\ne\n")];
    const lines = (limit: number) => listOf(linesOf([one, "-", two], limit, () => ["c", "c\n"]));
    expect(await lines(Number.POSITIVE_INFINITY)).toEqual(["a", "b", "cc", "d", "e"]);
    expect(await lines(3)).toEqual(["a", "b", "cc"]);
  });

  it("is by default all Markdown files of a folder, in the same order everywhere, links not followed", async () => {
    const base = join(folder, "packages");
    await mkdir(join(base, "b"), { recursive: true });
    await symlink(base, join(base, "b", "again"));
    for (const name of ["c.md", "B.MD", "b/README.md", "b/index.js", "a.md"])
      await writeFile(join(base, name), "");
    const found = (await markdownIn(base)).map((path) => path.slice(base.length + 1).replaceAll("\\", "/"));
    expect(found).toEqual(["B.MD", "a.md", "b/README.md", "c.md"]);
    expect((await bundledFiles()).length).toBeGreaterThan(10);
  });
});

describe("the application", () => {
  it("ends with the top ten and one line that says it all, and exit code 0", async () => {
    const file = await fileOf("text.md", `${madeUp(100).join("\n")}\n`);
    const { code, out, err, last } = await app(["--kill-every", "4", "--counters", "2", "--seed", "7", file]);
    expect(last).toMatch(
      /^100 lines, \d+ words, \d+ distinct, [1-9]\d* kills, [1-9]\d* replayed, lost 0, counts exact$/,
    );
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(/^ *\d+ word\n +\d+ the\n/m);
  });

  it("counts standard input", async () => {
    const { code, out, last } = await app(["-", "--kill-every", "0"], () => ["one two", " two\nTwo"]);
    expect(code).toBe(0);
    expect(out).toContain("\n3 two\n1 one\n");
    expect(last).toBe("2 lines, 4 words, 2 distinct, 0 kills, 0 replayed, lost 0, counts exact");
  });

  it("draws over itself on a terminal", async () => {
    const [out, err] = [{ ...paper(), isTTY: true, columns: 70, rows: 12 }, paper()];
    expect(await main(["-"], { out, err, input: () => ["one two"] })).toBe(0);
    expect(out.text).toContain("\u001b[2K0.");
    expect(out.text).toContain("\u001b[10A");
  });

  it("explains itself", async () => {
    const { code, out, err } = await app(["--help"]);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain("--kill-every N");
    for (const line of out.split("\n")) expect(line.length).toBeLessThanOrEqual(110);
  });

  it("has defaults, which its help names", () => {
    const own = { files: [], limit: 50_000, counters: 4, killEvery: 100, dedupe: true, seed: 1 };
    expect(parseOptions([])).toEqual(own);
    const files = { files: ["a", "b", "-"], limit: Number.POSITIVE_INFINITY };
    expect(parseOptions(["--files", "a", "b", "-", "--no-dedupe"])).toEqual({
      ...own,
      ...files,
      dedupe: false,
    });
    expect(parseOptions(["--limit", "0", "--dedupe"])).toEqual({ ...own, limit: Number.POSITIVE_INFINITY });
  });

  it.each([
    [["--counters", "0"], '--counters is "0", expected a whole number from 1 to 100'],
    [["--kill-every", "1e3"], '--kill-every is "1e3", expected a whole number from 0 to 4294967295'],
    [["--seed=-1"], '--seed is "-1", expected a whole number from 0 to 4294967295'],
    [["--limit", "ten"], '--limit is "ten", expected a whole number from 0 to 4294967295'],
    [["--dedupe", "--no-dedupe"], "--dedupe and --no-dedupe exclude each other"],
    [["--files", "-", "-"], "standard input can be read once: - is given more than once"],
    [[""], "a file's name is empty"],
    [["--sed", "1"], "Unknown option '--sed'"],
    [["no/such.md"], "cannot read no/such.md: ENOENT"],
    [[tmpdir()], `cannot read ${tmpdir()}: it is a directory`],
  ])("refuses %j with one line and code 2", async (args, said) => {
    const { code, out, err } = await app(args);
    expect([code, out]).toEqual([2, ""]);
    expect(err.split("\n")).toEqual([expect.stringContaining(said), ""]);
  });

  it("says so when a file breaks off while it is read", async () => {
    const input = () => brokenAfter(["one\ntwo\n"], new Error("the line\nis dead"));
    expect(await app(["-"], input)).toMatchObject({ code: 2, err: "cannot read -: the line is dead\n" });
  });
});

describe("the screen", () => {
  const view: View = {
    ...{ read: 60, done: 50, kills: 3, replayed: 2, elapsedMs: 2_000 },
    metrics: { name: "word-count", phase: "running", uptimeMs: 2_000, components: [] },
  };

  it("begins with how far it is", () => {
    const said = "2.0 s: 50 of 60 lines done, 25/s, 3 kills, 2 replayed";
    expect(progressLine(view)).toBe(said);
    expect(screenLines(view, undefined, 80, 24).slice(0, 2)).toEqual([said, "word-count: running, up 2.0 s"]);
    expect(progressLine({ ...view, done: 0, elapsedMs: 0 })).toContain(" 0/s,");
  });

  it("leaves out what does not fit", () => {
    expect(screenLines(view, view, 10, 3)).toEqual(["2.0 s: 50", "word-cou…"]);
  });
});
