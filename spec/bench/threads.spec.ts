// The benchmarks of threads, with little work: what they run is compiled first.

import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Compiled } from "../support/compiled.js";
import { bareRoundTrip, bareSend, bareWork } from "./bare-threads.js";
import { type Program, runOnce, WrongCountError } from "./program.js";
import { threadBolts, threadPair, threadRoundTrip, threadSend } from "./threads.js";

const FILES = ["thread-work", "bare-threads"] as const;
type File = (typeof FILES)[number];

const compiled = new Compiled("bench-threads");
const urls = new Map<File, URL>();

beforeAll(async () => {
  for (const file of FILES) {
    await compiled.bundle("spec/bench", file);
    urls.set(file, pathToFileURL(compiled.argsFor(`spec/bench/${file}.ts`).at(-1) as string));
  }
});
afterAll(() => compiled.remove());

const PROGRAMS: readonly (readonly [string, string, File, (file: URL) => Program])[] = [
  ["thread-send", "perSecond", "thread-work", (url) => threadSend(3_000, url)],
  ["thread-round-trip", "ns", "thread-work", (url) => threadRoundTrip(20, url)],
  ["thread-pair", "times", "thread-work", (url) => threadPair(1_000, url)],
  ["thread-bolts", "times", "thread-work", (url) => threadBolts(20, 1_000, url)],
  ["thread-send of Node", "perSecond", "bare-threads", (url) => bareSend(3_000, url)],
  ["thread-round-trip of Node", "ns", "bare-threads", (url) => bareRoundTrip(20, url)],
  ["thread-bolts of Node", "times", "bare-threads", (url) => bareWork(20, 1_000, url)],
];

describe.each(PROGRAMS)("the program %s", (_name, unit, file, program) => {
  it("gives its figure, and none when the count is wrong", async () => {
    const url = urls.get(file) as URL;
    expect((await runOnce(program(url)))[unit]).toBeGreaterThan(0);
    const wrong = program(url);
    await expect(runOnce({ ...wrong, expected: wrong.expected + 1 })).rejects.toBeInstanceOf(WrongCountError);
  });
});
