// Shell components with real children, in plain Python.

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { field } from "../../../../lib/topology/definition/field.js";
import { shellBolt } from "../../../../lib/topology/multilang/host/shell-bolt.js";
import type { ShellBoltOptions } from "../../../../lib/topology/multilang/host/shell-options.js";
import { shellSpout } from "../../../../lib/topology/multilang/host/shell-spout.js";
import { needsPython, python } from "../../../support/python.js";
import { TaskHost } from "./task-host.js";

const at = (name: string): string => fileURLToPath(new URL(`../components/${name}`, import.meta.url));
const input = { text: field.text };
const words = { words: { word: field.text } };

// A place of its own for what the children leave behind, so that it can be looked at.
const temporary = mkdtempSync(join(tmpdir(), "signalbox-children-"));
const before = process.env.TMPDIR;
beforeAll(() => {
  process.env.TMPDIR = temporary;
});
afterAll(() => {
  if (before === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = before;
  rmSync(temporary, { recursive: true });
});

/** A component in Python, started without what it does not need. */
const pythonOf = (name: string, ...args: readonly string[]) => ({
  command: "python3",
  args: ["-S", "-E", at(name), ...args],
});

const splitOf = (options: Partial<ShellBoltOptions> = {}) =>
  shellBolt({ ...pythonOf("split.py"), input, streams: words, ...options });

const wordsOf = ({ emitted }: TaskHost): unknown[] => emitted.map(({ values }) => values.word ?? values);

async function crashOf(host: TaskHost): Promise<Error & { problem?: string }> {
  const reason = await host.ended;
  if (reason.type !== "crash") throw new Error(`no crash but ${reason.type}`);
  return reason.error;
}

describe.skipIf(!python)(`a bolt in Python${needsPython}`, () => {
  test("splits lines, in any script", async () => {
    await using host = new TaskHost(splitOf());
    await host.execute({ text: "to be" });
    await host.execute({ text: "být 是 😀" });
    await host.until(() => host.acked.length === 2);
    expect(wordsOf(host)).toEqual(["to", "be", "být", "是", "😀"]);
    expect(host.emitted[0]?.anchors).toEqual([{ text: "to be" }]);
  });

  test("takes as much as is given to it", async () => {
    await using host = new TaskHost(splitOf());
    const text = Array.from({ length: 500 }, (_one, n) => `word${n}`).join(" ");
    for (let i = 0; i < 10; i++) await host.execute({ text });
    await host.until(() => host.acked.length === 10);
    expect(host.emitted).toHaveLength(5_000);
  });

  test("fails a tuple, is ticked, answers heartbeats", async () => {
    await using host = new TaskHost(
      splitOf({ heartbeatMs: 5, timeoutMs: 20_000, config: { tickMs: 1_000 } }),
    );
    await host.execute({ text: "a fail" });
    await host.tick();
    await host.until(() => host.failed.length === 1 && host.lines.includes("info: tick"));
    expect(host.acked).toEqual([]);
  });

  test("counts words, with a start from its configuration, and hears where its tuples go", async () => {
    const metrics: unknown[] = [];
    const counts = { counts: { word: field.text, count: field.number } };
    const count = shellBolt({
      ...pythonOf("count.py"),
      inputs: { words: words.words },
      streams: counts,
      conf: { start: 10 },
      config: { tickMs: 1_000 },
      onMetrics: (name, value) => metrics.push([name, value]),
    });
    await using host = new TaskHost(count);
    for (const word of ["a", "b", "a"]) await host.execute({ word }, "words");
    await host.until(() => host.acked.length === 3);
    expect(host.emitted.map(({ values }) => values)).toEqual([
      { word: "a", count: 11 },
      { word: "b", count: 11 },
      { word: "a", count: 12 },
    ]);
    expect(host.lines[0]).toBe("debug: a went to [4, 5]");
    await host.tick();
    await host.execute({ word: "c" }, "words");
    await host.until(() => host.acked.length === 4);
    expect(metrics).toEqual([["words", 2]]);
  });

  test.each([
    ["die", "exited", "ValueError: the word is die"],
    ["double-ack", "settled", 'acked tuple "1", which it had acked or failed before'],
    ["late-anchor", "settled", 'anchored to tuple "1"'],
    ["junk", "protocol", "junk: loading the model"],
  ])("crashes its task at the word %s", async (word, problem, named) => {
    await using host = new TaskHost(splitOf());
    await host.execute({ text: `first ${word}` });
    const error = await crashOf(host);
    expect(error.problem).toBe(problem);
    expect(error.message).toContain(named);
  });

  test("that hangs is killed, and its task crashes", async () => {
    await using host = new TaskHost(splitOf({ heartbeatMs: 20, timeoutMs: 100, startTimeoutMs: 20_000 }));
    await host.execute({ text: "hang" });
    expect((await crashOf(host)).message).toContain("did not answer a heartbeat within 100 ms");
  });

  test("leaves no directory behind, and no process", async () => {
    const host = new TaskHost(splitOf());
    await host.started;
    const [directory = "", ...others] = readdirSync(temporary);
    expect(others).toEqual([]);
    const [pid = "", ...more] = readdirSync(join(temporary, directory));
    expect([more, isAlive(Number(pid))]).toEqual([[], true]);
    await host.system.stop();
    expect([readdirSync(temporary), isAlive(Number(pid))]).toEqual([[], false]);
  });
});

/** Whether there is a process of this number. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test("a program that is not there is named", async () => {
  await using host = new TaskHost(splitOf({ command: "no-such-program" }));
  const { problem, message } = await crashOf(host);
  expect(problem).toBe("start");
  expect(message).toContain("no-such-program ENOENT");
});

describe.skipIf(!python)(`a spout in Python${needsPython}`, () => {
  test("emits its lines, and those again that fail", async () => {
    const lines = shellSpout({
      ...pythonOf("replay.py", "to be", "or not"),
      streams: { lines: { text: field.text } },
    });
    await using host = new TaskHost(lines);
    for (let i = 0; i < 3; i++) await host.next();
    expect(host.emitted).toEqual([
      { stream: "lines", values: { text: "to be" }, id: 0 },
      { stream: "lines", values: { text: "or not" }, id: 1 },
    ]);
    await host.ack(1);
    await host.fail(0);
    await host.next();
    expect(host.emitted[2]).toEqual({ stream: "lines", values: { text: "to be" }, id: 0 });
    expect(host.lines).toEqual(["debug: activate", "info: done: or not", "warn: again: to be"]);
  });
});
