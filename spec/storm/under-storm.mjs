// Our word counts inside Apache Storm's LocalCluster, with a spout in Java or of ours: without faults, with components
// that throw, with batches that only the clock closes, and with killed processes.

import { spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("word-count.mjs", import.meta.url));
const LINES = 200;
const WORDS_OF_A_LINE = 10;
/** Number of JVMs per run: each kill ends one, and a tuple may expire in each. */
const MOST_LIVES = 12;
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

function life(directory, names, { classpath, dist }, log) {
  const args = [
    "-Xmx512m",
    "-cp",
    classpath,
    "signalbox.LocalStorm",
    directory,
    String(LINES),
    names.join(","),
  ];
  const child = spawn("java", [...args, process.execPath, program, dist], {
    cwd: directory,
    stdio: ["ignore", log, log],
  });
  return new Promise((resolve) => child.on("exit", resolve));
}

/** Runs all word counts. @returns name, text and complaints of each */
export async function underStorm(work, setup) {
  const runs = RUNS.map(async (names) => {
    const directory = join(work, names.length === 1 ? names[0] : "together");
    rmSync(directory, { recursive: true, force: true });
    mkdirSync(directory, { recursive: true });
    const log = openSync(join(directory, "storm.log"), "a");
    let code = 1;
    for (let lives = 0; lives < MOST_LIVES && code !== 0 && code !== 3; lives++) {
      // Only a kill may end this program.
      if (lives > 0 && names.length > 1) break;
      code = await life(directory, names, setup, log);
    }
    closeSync(log);
    return names.map((name) => {
      const result = resultOf(directory, name);
      if (code !== 0)
        result.complaints.push(`the JVM ended with ${code}; see ${join(directory, "storm.log")}`);
      return result;
    });
  });
  return (await Promise.all(runs)).flat();
}
