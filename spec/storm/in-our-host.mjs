// Word counts with storm.py, pystorm and streamparse in our host, each with the spout and bolts of one library: without
// faults, with a bolt that throws, and with killed processes.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";

const python = fileURLToPath(new URL("python", import.meta.url));
const LINES = 200;
const WORDS_OF_A_LINE = 10;
const KILLS = 3;
const LIMIT_MS = 60_000;
const LIBRARIES = ["storm_py", "pystorm", "streamparse"];
const MODES = ["calm", "throws", "kills"];

async function wordCount(library, mode, work, { dist, venv, until }) {
  const directory = join(work, `${library}-${mode}`);
  rmSync(directory, { recursive: true, force: true });
  // The children's directories are here. Each contains a file named after the process.
  const temporary = join(directory, "tmp");
  mkdirSync(temporary, { recursive: true });
  process.env.TMPDIR = temporary;
  const load = (path) => import(new URL(path, pathToFileURL(dist)));
  const { System } = await load("index.js");
  const { bolt, field, grouping, shellBolt, shellSpout, topology } = await load("topology/index.js");

  const shell = (role) => ({
    command: join(venv, "bin", library === "streamparse" ? "streamparse_run" : "python"),
    args:
      library === "streamparse"
        ? [`with_streamparse.${role[0].toUpperCase()}${role.slice(1)}`]
        : [join(python, `with_${library}.py`), role],
    env: {
      PYTHONPATH: [python, work].join(":"),
      PYTHONDONTWRITEBYTECODE: "1",
      WORDS_LINES: String(LINES),
      WORDS_DIRECTORY: directory,
      WORDS_MODE: mode,
    },
    conf: { "topology.name": "word-count" },
  });
  const line = { line: field.number, text: field.text };
  const word = { line: field.number, at: field.number, word: field.text };
  const found = [];
  const tally = bolt({
    input: { ...word, count: field.number },
    execute: ({ values }) => void found.push(`${values.line} ${values.at} ${values.word}`),
  });
  // The spout records acks and fails in a file, because the process that emitted a line may be gone.
  const config = {
    intensity: 100,
    retryBackoff: { minMs: 10, maxMs: 100 },
    messageTimeoutMs: 20_000,
    maxPending: 20,
  };
  const built = topology(`${library}-${mode}`, config)
    .spout("lines", shellSpout({ ...shell("lines"), streams: { lines: line } }))
    .bolt("split", shellBolt({ ...shell("split"), input: line, streams: { words: word } }), {
      tasks: 2,
      from: { "lines.lines": grouping.shuffle() },
    })
    .bolt(
      "count",
      shellBolt({
        ...shell("count"),
        input: word,
        streams: { counts: { ...word, count: field.number } },
        // Only a component that asks for ticks gets them. Ticks close the batches of streamparse.
        ...(library === "streamparse" ? { config: { tickMs: 100 } } : {}),
      }),
      { tasks: 2, from: { "split.words": grouping.fields("word") } },
    )
    .bolt("tally", tally, { from: { "count.counts": grouping.global() } })
    .build();
  const system = new System({ name: "word-count", report: () => undefined });
  const problems = [];
  let restarts = 0;
  system.events.on("restart", () => restarts++);
  const running = await system.start(built, {
    logLevel: "warn",
    log: ({ component, text }) => problems.push(`${component}: ${text}`),
  });
  const acked = () => {
    const file = join(directory, "acked");
    return existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
  };
  let killed = 0;
  const end = Math.min(until, Date.now() + LIMIT_MS);
  for (; new Set(acked()).size < LINES && Date.now() < end; await pause(20)) {
    if (mode !== "kills" || killed >= KILLS || new Set(acked()).size < (LINES * (killed + 1)) / (KILLS + 1))
      continue;
    const children = readdirSync(temporary).flatMap((one) => readdirSync(join(temporary, one)).map(Number));
    const victim = children[(killed * 2) % children.length];
    if (victim === undefined) continue;
    process.kill(victim, "SIGKILL");
    killed++;
  }
  const stopped = await running.stop();
  await system.stop();

  const left = readdirSync(temporary);
  const times = acked().length;
  const words = new Set(found);
  const twice = found.length - words.size;
  const all = new Set();
  for (let n = 0; n < LINES; n++)
    for (let at = 0; at < WORDS_OF_A_LINE; at++) all.add(`${n} ${at} w${(n * 7 + at * 3) % 50}`);
  const complaints = [];
  if (new Set(acked()).size !== LINES) complaints.push(`${new Set(acked()).size} of ${LINES} lines acked`);
  const missing = [...all].filter((one) => !words.has(one)).length;
  if (missing > 0 || words.size > all.size)
    complaints.push(`${missing} words missing of ${all.size}, ${words.size} found`);
  if (left.length > 0) complaints.push(`left behind: ${left.join(", ")}`);
  if (mode === "calm" && (twice > 0 || times !== LINES || restarts > 0))
    complaints.push(`${twice} words worked on twice, ${times} acks, ${restarts} restarts`);
  if (mode === "throws" && twice + restarts + problems.length === 0) complaints.push("nothing was thrown");
  if (mode === "kills" && restarts === 0) complaints.push("nothing was killed");
  if (complaints.length > 0) complaints.push(...problems.slice(0, 5), JSON.stringify(stopped));
  return {
    name: `our host, ${library.replace("_", ".")}, ${mode}`,
    text: `${new Set(acked()).size} lines acked, ${words.size} words counted, ${twice} retried, ${restarts} restarts`,
    complaints,
  };
}

/** Runs all word counts, and prints the name, text and complaints of each. */
export async function inOurHost(work, { limitMs, ...setup }, print) {
  const until = Date.now() + limitMs;
  for (const library of LIBRARIES)
    for (const mode of MODES) print(await wordCount(library, mode, work, { ...setup, until }));
}
