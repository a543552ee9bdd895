// The benchmarks of threads, with little work: what they run is compiled first.

import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Compiled } from "../support/compiled.js";
import { type Program, runOnce, WrongCountError } from "./program.js";
import { threadBolts, threadPair, threadRoundTrip, threadSend } from "./threads.js";

const compiled = new Compiled("bench-threads");
let work: URL;

beforeAll(async () => {
  await compiled.bundle("spec/bench", "thread-work");
  work = pathToFileURL(compiled.argsFor("spec/bench/thread-work.ts").at(-1) as string);
});
afterAll(() => compiled.remove());

const PROGRAMS: readonly (readonly [string, string, (work: URL) => Program])[] = [
  ["thread-send", "perSecond", (url) => threadSend(3_000, url)],
  ["thread-round-trip", "ns", (url) => threadRoundTrip(20, url)],
  ["thread-pair", "times", (url) => threadPair(1_000, url)],
  ["thread-bolts", "times", (url) => threadBolts(20, 1_000, url)],
];

describe.each(PROGRAMS)("the program %s", (_name, unit, program) => {
  it("gives its figure, and none when the count is wrong", async () => {
    expect((await runOnce(program(work)))[unit]).toBeGreaterThan(0);
    const wrong = program(work);
    await expect(runOnce({ ...wrong, expected: wrong.expected + 1 })).rejects.toBeInstanceOf(WrongCountError);
  });
});
