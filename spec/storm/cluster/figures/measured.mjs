// One run of a word count: waits for the files of its spout, takes the time of the processor between two of them, and gives
// no speed for a wrong count.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { cpuSeconds } from "./cpu.mjs";
import { countsOf, TUPLES_OF_A_LINE } from "./lines.mjs";
import { TASKS } from "./word-count.mjs";

const POLL_MS = 20;

/** Waits for a file. @param check - throws when it will not come */
async function appears(path, check, limitMs) {
  for (const end = performance.now() + limitMs; !existsSync(path); await pause(POLL_MS)) {
    check();
    if (performance.now() > end) throw new Error(`there was no ${path} within ${limitMs} ms`);
  }
}

/**
 * The figures of a run that has begun.
 * @param folder of its files
 * @param processes - the ids of those whose time of the processor counts, JVMs apart from programs, asked when the measured time
 *   begins
 * @param check - throws when the run cannot succeed
 */
export async function figuresOf(folder, { processes, check, limitMs }) {
  await appears(join(folder, "from"), check, limitMs);
  const { jvms, programs } = processes();
  const before = [cpuSeconds(jvms), cpuSeconds(programs)];
  await appears(join(folder, "to"), check, limitMs);
  const ofJvms = cpuSeconds(jvms) - before[0];
  const ofPrograms = cpuSeconds(programs) - before[1];
  await appears(join(folder, "seen"), check, limitMs);
  const seen = JSON.parse(readFileSync(join(folder, "seen"), "utf8"));
  checkCounts(seen, folder);
  const tuples = (seen.to.acked - seen.from.acked) * TUPLES_OF_A_LINE;
  const seconds = (seen.to.ms - seen.from.ms) / 1_000;
  const alone = seen.aloneMs.sort((a, b) => a - b);
  return {
    lines: seen.emitted,
    processes: jvms.length + programs.length,
    aSecond: tuples / seconds,
    aCpuSecond: tuples / (ofJvms + ofPrograms),
    processorsOfJvms: ofJvms / seconds,
    processorsOfPrograms: ofPrograms / seconds,
    p50Ms: alone[Math.floor(alone.length * 0.5)],
    p99Ms: alone[Math.floor(alone.length * 0.99)],
  };
}

/** Each line is acked once, each word is counted by one task and as often as it is in the lines. */
function checkCounts({ emitted, acked, failed, strange }, folder) {
  const wrong = [];
  if (acked !== emitted || failed + strange > 0)
    wrong.push(`${emitted} lines, ${acked} acks, ${failed} fails, ${strange} acks of no line in flight`);
  const files = readdirSync(folder).filter((name) => /^counts-\d+$/.test(name));
  if (files.length !== TASKS) wrong.push(`${files.length} of ${TASKS} tasks have written their counts`);
  const found = files.flatMap((name) => JSON.parse(readFileSync(join(folder, name), "utf8")));
  const wanted = countsOf(emitted);
  const right = found.filter(([word, times]) => wanted.get(word) === times);
  if (found.length !== wanted.size || right.length !== wanted.size)
    wrong.push(`${right.length} of ${wanted.size} words are counted right, ${found.length} are counted`);
  if (wrong.length > 0) throw new Error(`a wrong count is no figure: ${wrong.join("; ")}`);
}
