// Our word counts inside Apache Storm's LocalCluster, with a spout in Java or of ours: without faults, with components
// that throw, with batches that only the clock closes, and with killed processes.

import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { within } from "./limits.mjs";

const program = fileURLToPath(new URL("word-count.mjs", import.meta.url));
const LINES = 200;
const WORDS_OF_A_LINE = 10;
/** Number of JVMs per run: each kill ends one, and a tuple may expire in each. */
const MOST_LIVES = 12;
/** Number of times that a cluster without kills may begin. */
const MOST_BEGINNINGS = 2;
/** Limits of one JVM, which ends itself ten seconds before. */
const LIFE_MS = 100_000;
const KILLED_LIFE_MS = 70_000;
/** A kill also ends the worker, which is the whole JVM. */
const RUNS = [
  ["java-calm", "ours-calm", "java-throws", "ours-throws", "java-batches", "ours-batches"],
  ["java-kills"],
  ["ours-kills"],
];

const linesOf = (file) => (existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : []);

/** Every word of every line, as the run has to write it. */
function wanted() {
  const all = new Set();
  for (let line = 0; line < LINES; line++)
    for (let at = 0; at < WORDS_OF_A_LINE; at++) all.add(`${line} ${at} w${(line * 7 + at * 3) % 50}`);
  return all;
}

function resultOf(directory, name) {
  const of = (kind) => linesOf(join(directory, `${name}.${kind}`));
  const [acked, words, failed, killed] = ["acked", "words", "failed", "killed"].map(of);
  const found = new Set(words);
  const all = wanted();
  const missing = [...all].filter((word) => !found.has(word)).length;
  const strange = [...found].filter((word) => !all.has(word)).length;
  const twice = words.length - found.size;
  const complaints = [];
  if (new Set(acked).size !== LINES) complaints.push(`${new Set(acked).size} of ${LINES} lines acked`);
  if (missing + strange > 0) complaints.push(`${missing} words missing, ${strange} that nobody sent`);
  const [, mode] = name.split("-");
  if (acked.length !== LINES && mode !== "kills") complaints.push(`${acked.length} acks of ${LINES} lines`);
  if (twice > 0 && (mode === "calm" || mode === "batches")) complaints.push(`${twice} words worked on twice`);
  if (mode === "throws" && twice === 0) complaints.push("nothing was thrown");
  if (mode === "kills" && killed.length === 0) complaints.push("nothing was killed");
  const text =
    `${new Set(acked).size} lines acked, ${found.size} words counted, ${twice} retried, ` +
    `${failed.length} fails reported to the Java spout, ${killed.length} processes killed`;
  return {
    name: `Storm, ${name.replace("java", "Java spout").replace("ours", "our spout").replace("-", ", ")}`,
    text,
    complaints,
  };
}

/** One JVM. @returns its exit code, or null if the limit ended it */
async function life(directory, names, { classpath, dist }, log, limitMs) {
  const args = [
    "-Xmx512m",
    "-cp",
    classpath,
    "signalbox.LocalStorm",
    directory,
    String(LINES),
    names.join(","),
  ];
  const options = { cwd: directory, stdio: ["ignore", log, log] };
  const { code } = await within(limitMs, "java", [...args, process.execPath, program, dist], options);
  return code;
}

function emptied(directory) {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
}

const done = (directory, names) =>
  names.reduce((sum, name) => sum + linesOf(join(directory, `${name}.acked`)).length, 0);

/**
 * Runs word counts in one JVM after the other, as Storm's supervisor starts a worker again: after a kill, and when a cluster stood
 * still or ended before its first line, which is Storm's own doing.
 */
async function lives(directory, names, setup, until) {
  const kills = names.length === 1;
  emptied(directory);
  const how = [];
  for (;;) {
    const log = openSync(join(directory, "storm.log"), "a");
    const before = done(directory, names);
    const leftMs = until - performance.now();
    const code = await life(directory, names, setup, log, Math.min(leftMs, kills ? KILLED_LIFE_MS : LIFE_MS));
    closeSync(log);
    how.push(code ?? "its limit");
    if (code === 0) return { how, done: true };
    const idle = done(directory, names) === before;
    const again = kills ? how.length < MOST_LIVES : idle && before === 0 && how.length < MOST_BEGINNINGS;
    if (!again || performance.now() >= until) return { how, done: false };
    // Nothing was counted, so nothing is lost, and the log of the standstill is kept.
    if (!kills)
      renameSync(join(directory, "storm.log"), join(directory, "..", `storm-${names[0]}.${how.length}.log`));
    if (!kills) emptied(directory);
  }
}

/** Runs all word counts, and prints the name, text and complaints of each. */
export async function underStorm(work, { limitMs, ...setup }, print) {
  const until = performance.now() + limitMs;
  const runs = RUNS.map(async (names) => {
    const directory = join(work, names.length === 1 ? names[0] : "together");
    const { how, done } = await lives(directory, names, setup, until);
    for (const name of names) {
      const result = resultOf(directory, name);
      if (names.length > 1 && how.length > 1) result.text += `, begun ${how.length} times`;
      if (!done)
        result.complaints.push(`JVMs ended with ${how.join(", ")}; see ${join(directory, "storm.log")}`);
      print(result);
    }
  });
  await Promise.all(runs);
}
