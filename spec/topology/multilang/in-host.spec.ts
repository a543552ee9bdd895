// Components in other programs as parts of real topologies: in plain Python, and ours as children. What is waited for is
// an ack, a dead letter or a log line, never a time.

import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as library from "signalbox/topology";
import {
  type BoltDefinition,
  bolt,
  type DeadStream,
  grouping,
  type ShellBoltOptions,
  type SpoutDefinition,
  shellBolt,
  shellSpout,
  type TopologyRef,
  topology,
} from "signalbox/topology";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { proving } from "../../support/proof.js";
import { needsPython, python } from "../../support/python.js";
import { COUNT, type Count, LINE, type Line, WORD, type Word, WordStage } from "./word-stage.js";

const dist = process.env.SIGNALBOX_DIST ?? fileURLToPath(new URL("../../../dist/", import.meta.url));
const built = existsSync(join(dist, "topology/index.js"));
const needsBuild = built ? "" : " (skipped: there is no dist with topologies; npm run build)";

const at = (name: string): string => fileURLToPath(new URL(`components/${name}`, import.meta.url));

// A place of its own for what the children leave behind, so that it can be looked at.
const temporary = mkdtempSync(join(tmpdir(), "signalbox-in-host-"));
const before = process.env.TMPDIR;
beforeAll(() => {
  process.env.TMPDIR = temporary;
});
afterAll(() => {
  if (before === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = before;
  rmSync(temporary, { recursive: true });
});

/** Process ids of all children there are: each has a directory with a file named after it. */
const childrenNow = (): number[] =>
  readdirSync(temporary).flatMap((directory) => readdirSync(join(temporary, directory)).map(Number));

/** Whether there is a process of this number. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** A component in Python, started without what it does not need. */
const pythonOf = (name: string, ...args: readonly string[]) => ({
  command: "python3",
  args: ["-B", "-S", "-E", at(name), ...args],
});

const splitOf = (options: Partial<ShellBoltOptions> = {}) =>
  shellBolt({ ...pythonOf("split.py"), input: LINE, streams: { words: WORD }, ...options });

const countOf = () =>
  shellBolt({ ...pythonOf("count.py"), inputs: { words: WORD }, streams: { counts: COUNT } });

/** Retries without long waits. */
const soon = { retryBackoff: { minMs: 1, maxMs: 10 } };

function countWords(lines: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of lines.flatMap((line) => line.split(" "))) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

const sorted = (counts: ReadonlyMap<string, number>): [string, number][] =>
  [...counts].sort(([a], [b]) => (a < b ? -1 : 1));

/** The tasks that were restarted, each with how often. */
const restartsOf = (running: TopologyRef): [component: string, restarts: number][] =>
  running
    .tasks()
    .filter(({ restarts }) => restarts > 0)
    .map(({ component, restarts }) => [component, restarts]);

describe.skipIf(!python)(`bolts in Python in a topology${needsPython}`, () => {
  test("count words exactly, and every line is acked once", async () => {
    await using stage = new WordStage();
    const lines = Array.from({ length: 60 }, (_, n) => `line ${n} of the ${n % 7} být 是 😀`);
    const running = await stage.start(
      topology("word-count", soon)
        .spout("lines", stage.lines)
        .bolt("split", splitOf(), { tasks: 2, from: { "lines.lines": grouping.shuffle() } })
        .bolt("count", countOf(), { tasks: 2, from: { "split.words": grouping.fields("word") } })
        .bolt("collect", stage.collector, { from: { "count.counts": grouping.global() } })
        .build(),
    );
    stage.put(...lines);
    await stage.until(() => stage.acked.length === lines.length);
    const children = childrenNow();
    expect([children.length, children.every(isAlive)]).toEqual([4, true]);

    expect(await running.stop()).toEqual({ drained: true, unfinished: 0 });
    expect([...stage.acked].sort()).toEqual([...lines].sort());
    expect(sorted(stage.counts)).toEqual(sorted(countWords(lines)));
    // The programs were told the ids of the tasks that their tuples went to.
    const collector = running.tasks("collect")[0]?.task;
    expect(stage.log.filter((line) => line.startsWith("count debug: line went"))).toHaveLength(60);
    expect(stage.log).toContain(`count debug: line went to [${collector}]`);
    // And nothing is left of them.
    expect([readdirSync(temporary), children.some(isAlive)]).toEqual([[], false]);
    expect([stage.problems, stage.reports]).toEqual([[], []]);
  });

  test("are ticked, and what they write to their standard error is logged", async () => {
    await using stage = new WordStage();
    await stage.start(
      topology("ticks", { ...soon, retries: 0 })
        .spout("lines", stage.lines)
        .bolt("split", splitOf({ config: { tickMs: 5 } }), { from: { "lines.lines": grouping.shuffle() } })
        .build(),
    );
    await stage.logged("split info: tick");
    stage.put("die");
    await stage.logged("split warn: about to die");
    await stage.logged("split warn: ValueError: the word is die");
  });

  test.runIf(proving)(
    "that are killed are started again, alone, and their lines come through [O22]",
    async () => {
      await using stage = new WordStage();
      const running = await stage.start(
        topology("killed", soon)
          .spout("lines", stage.lines)
          .bolt("split", splitOf({ heartbeatMs: Number.POSITIVE_INFINITY }), {
            tasks: 2,
            from: { "lines.lines": grouping.shuffle() },
          })
          .bolt("read", stage.reader, { from: { "split.words": grouping.shuffle() } })
          .build(),
      );
      stage.put("pid");
      await stage.until(() => stage.acked.length === 1);
      const [victim = 0] = stage.pids;
      const [other = 0] = childrenNow().filter((pid) => pid !== victim);
      const before = running.tasks();

      // It does not read: half of what is put in goes to it, and no further.
      process.kill(victim, "SIGSTOP");
      stage.put("a b", "c d", "e f", "g h");
      await stage.until(() => stage.acked.length === 3);
      process.kill(victim, "SIGKILL");
      await stage.until(() => stage.acked.length === 5);

      expect([...stage.acked].sort()).toEqual(["a b", "c d", "e f", "g h", "pid"]);
      expect([...stage.words].sort()).toEqual(["a", "b", "c", "d", "e", "f", "g", "h", "pid"]);
      // The other task takes what comes meanwhile, until the new child answers.
      let newcomer: number | undefined;
      while (newcomer === undefined) {
        const done = stage.acked.length;
        stage.put("pid");
        await stage.until(() => stage.acked.length > done);
        newcomer = stage.pids.find((pid) => pid !== victim && pid !== other);
      }
      expect(childrenNow().sort()).toEqual([other, newcomer].sort());
      expect(stage.problems).toEqual(["exited"]);
      expect(restartsOf(running)).toEqual([["split", 1]]);
      const moved = running.tasks().filter(({ pid }, index) => pid !== before[index]?.pid);
      expect(moved).toHaveLength(1);
      expect([other, newcomer].every(isAlive)).toBe(true);
    },
  );

  test.each([
    ["die", "exited", {}],
    ...(proving ? [["hang", "timeout", { heartbeatMs: 100, timeoutMs: 2_000 }] as const] : []),
  ] as const)(
    "that end at the word %s get its line again, until it is a dead letter",
    async (word, problem, options) => {
      await using stage = new WordStage();
      const running = await stage.start(
        topology("poison", { ...soon, retries: 1 })
          .spout("lines", stage.lines)
          .bolt("split", splitOf(options), { from: { "lines.lines": grouping.shuffle() } })
          .bolt("read", stage.reader, { from: { "split.words": grouping.shuffle() } })
          .bolt("dead", stage.undertaker, { from: { "lines.dead": grouping.shuffle() } })
          .build(),
      );
      const poison = `first ${word}`;
      stage.put(poison);
      await stage.until(() => stage.failed.length === 1);
      stage.put("still here");
      await stage.until(() => stage.acked.length === 1);
      expect([stage.failed, stage.dead]).toEqual([[`${poison}: failed 2 true`], [poison]]);
      expect(stage.acked).toEqual(["still here"]);
      expect(stage.problems).toEqual([problem, problem]);
      expect(restartsOf(running)).toEqual([["split", 2]]);
    },
  );

  test("that ack a line twice are started again, and the line was done all the same", async () => {
    await using stage = new WordStage();
    const running = await stage.start(
      topology("twice", soon)
        .spout("lines", stage.lines)
        .bolt("split", splitOf(), { from: { "lines.lines": grouping.shuffle() } })
        .bolt("read", stage.reader, { from: { "split.words": grouping.shuffle() } })
        .build(),
    );
    stage.put("one double-ack");
    await stage.until(() => stage.acked.length === 1);
    stage.put("still here");
    await stage.until(() => stage.acked.length === 2);
    expect([stage.acked, stage.failed]).toEqual([["one double-ack", "still here"], []]);
    expect(stage.problems).toEqual(["settled"]);
    expect(restartsOf(running)).toEqual([["split", 1]]);
  });

  test.runIf(proving)("that hang are ended by a stop, and their line has failed", async () => {
    await using stage = new WordStage();
    const running = await stage.start(
      topology("stopped", soon)
        .spout("lines", stage.lines)
        .bolt("split", splitOf(), { from: { "lines.lines": grouping.shuffle() } })
        .build(),
    );
    stage.put("pid hang");
    await stage.until(() => stage.pids.length === 1);
    expect(await running.stop({ drainMs: 0 })).toEqual({ drained: false, unfinished: 1 });
    expect(stage.failed).toEqual(["pid hang: stopped 1 false"]);
    expect([readdirSync(temporary), stage.pids.some(isAlive)]).toEqual([[], false]);
  });

  test("that fail a line get it again, and go on living", async () => {
    await using stage = new WordStage();
    const running = await stage.start(
      topology("fails", { ...soon, retries: 2 })
        .spout("lines", stage.lines)
        .bolt("split", splitOf(), { from: { "lines.lines": grouping.shuffle() } })
        .build(),
    );
    stage.put("to fail", "not to");
    await stage.until(() => stage.failed.length === 1 && stage.acked.length === 1);
    expect([stage.failed, stage.acked]).toEqual([["to fail: failed 3 false"], ["not to"]]);
    expect(restartsOf(running)).toEqual([]);
  });
});

describe.skipIf(!python)(`a spout in Python in a topology${needsPython}`, () => {
  test("is notified of acks and fails, and emits failed tuples again", async () => {
    await using stage = new WordStage();
    const lines = shellSpout({
      ...pythonOf("replay.py", "to be", "or not", "to be again"),
      streams: { lines: LINE },
      config: { retries: 0, spoutWaitMs: 5 },
    });
    const seen: string[] = [];
    const once = bolt({
      input: LINE,
      execute: ({ values: { text } }) => {
        seen.push(text);
        if (text === "or not" && seen.filter((one) => one === text).length < 3) throw new Error("not yet");
      },
    });
    const running = await stage.start(
      topology("replay")
        .spout("lines", lines)
        .bolt("once", once, { from: { "lines.lines": grouping.shuffle() } })
        .build(),
    );
    for (const text of ["to be", "or not", "to be again"]) await stage.logged(`lines info: done: ${text}`);
    expect(seen.sort()).toEqual(["or not", "or not", "or not", "to be", "to be again"]);
    expect(stage.log.filter((line) => line === "lines warn: again: or not")).toHaveLength(2);
    expect(await running.stop()).toEqual({ drained: true, unfinished: 0 });
    expect(stage.log).toContain("lines debug: activate");
    expect(stage.log).toContain("lines debug: deactivate");
    expect(readdirSync(temporary)).toEqual([]);
  });
});

/** What word-count.mjs makes with a build of the library. */
interface WordCount {
  readonly lines: SpoutDefinition<{ readonly lines: Line } & DeadStream>;
  readonly split: BoltDefinition<{ readonly "*": Line }, { readonly words: Word }>;
  readonly count: BoltDefinition<{ readonly "*": Word }, { readonly counts: Count }>;
}

const program = at("word-count.mjs");
const own = { command: process.execPath, args: [program, dist] };

describe.skipIf(!built)(`our own components as children in a topology${needsBuild}`, () => {
  /** Runs a word count until all its lines are done. */
  async function run(
    stage: WordStage,
    lineCount: number,
    { lines, split, count }: WordCount,
  ): Promise<TopologyRef> {
    const running = await stage.start(
      topology("word-count", { spoutWaitMs: 5 })
        .spout("lines", lines)
        .bolt("split", split, { from: { "lines.lines": grouping.shuffle() } })
        .bolt("count", count, { from: { "split.words": grouping.fields("word") } })
        .bolt("collect", stage.collector, { from: { "count.counts": grouping.shuffle() } })
        .build(),
    );
    const done = () => stage.log.filter((line) => line.startsWith("lines info: done: "));
    await stage.until(() => done().length === lineCount);
    return running;
  }

  test("count as they do in this program; their output is logged", async () => {
    const { componentsOf, LINES } = (await import(program)) as {
      readonly componentsOf: (lib: typeof library, print: (...args: unknown[]) => void) => WordCount;
      readonly LINES: readonly string[];
    };
    await using here = new WordStage();
    await using there = new WordStage();
    const [, running] = await Promise.all([
      run(
        here,
        LINES.length,
        componentsOf(library, () => undefined),
      ),
      run(there, LINES.length, {
        lines: shellSpout({ ...own, streams: { lines: LINE } }),
        split: shellBolt({ ...own, input: LINE, streams: { words: WORD } }),
        count: shellBolt({ ...own, input: WORD, streams: { counts: COUNT } }),
      }),
    ]);
    expect(sorted(there.counts)).toEqual(sorted(here.counts));
    expect(sorted(there.counts)).toEqual(sorted(countWords(LINES)));
    await there.logged("split info: splitting { text: 'to be or not to be' }");
    await there.logged("lines info: emitting { text: 'to sleep to dream' }");
    const children = childrenNow();
    expect(children).toHaveLength(3);
    expect(await running.stop()).toEqual({ drained: true, unfinished: 0 });
    expect([readdirSync(temporary), children.some(isAlive)]).toEqual([[], false]);
    expect([here.reports, there.reports]).toEqual([[], []]);
  });
});
