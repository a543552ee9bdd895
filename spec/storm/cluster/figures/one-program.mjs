// One bolt of the word count as a program alone, without Storm: a host in this process sends it tuples as Storm does, as many at
// once, and only counts its acks. Prints tuples a second, and on what the program spends its time.
//
//   node spec/storm/cluster/figures/one-program.mjs split 200000

import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cpuSeconds } from "./cpu.mjs";
import { LINES, WORDS_OF_A_LINE } from "./lines.mjs";
import { shares } from "./profile.mjs";

/** Storm's default for the tuples that a shell bolt has in flight. */
const PENDING = 100;
const ACK = Buffer.from('"ack"');
const program = fileURLToPath(new URL("component.mjs", import.meta.url));

const words = LINES.flatMap((text) => text.split(" "));
const BOLTS = {
  split: { comp: "lines", stream: "lines", tuples: LINES.map((text) => [text]), work: 1 + WORDS_OF_A_LINE },
  count: { comp: "split", stream: "words", tuples: words.map((word) => [word]), work: 1 },
};

const [component = "split", wanted = "200000"] = process.argv.slice(2);
const { comp, stream, tuples, work } = BOLTS[component];
const most = Number(wanted);
const warm = most / 5;

const folder = mkdtempSync(join(tmpdir(), "one-program-"));
const profiled = ["--cpu-prof", `--cpu-prof-dir=${folder}`, program];
const env = { ...process.env, FIGURES_FOLDER: folder };
const child = spawn(process.execPath, profiled, { env, stdio: ["pipe", "pipe", "inherit"] });
const ended = new Promise((resolve) => child.on("close", resolve));
const say = (message) => child.stdin.write(`${JSON.stringify(message)}\nend\n`);

say({
  conf: {},
  pidDir: folder,
  context: {
    "task->component": { 1: "lines", 2: "split", 3: "count" },
    taskid: component === "split" ? 2 : 3,
    componentid: component,
    "source->stream->fields": { lines: { lines: ["text"], end: ["word"] }, split: { words: ["word"] } },
    "stream->target->grouping": component === "split" ? { words: { count: { type: "FIELDS" } } } : {},
  },
});

let sent = 0;
let acked = 0;
function more(count) {
  for (const end = Math.min(most, sent + count); sent < end; sent++)
    say({ id: String(sent), comp, stream, task: 1, tuple: tuples[sent % tuples.length] });
}

let from;
let rest = Buffer.alloc(0);
for await (const chunk of child.stdout) {
  // The first that comes is its answer to the handshake.
  if (sent === 0) more(PENDING);
  const bytes = Buffer.concat([rest, chunk]);
  let end = 0;
  let acks = 0;
  for (let at = bytes.indexOf(ACK); at >= 0; at = bytes.indexOf(ACK, end)) {
    end = at + ACK.length;
    acks++;
  }
  // The beginning of an ack may be there already.
  rest = bytes.subarray(Math.max(end, bytes.length - ACK.length + 1));
  acked += acks;
  more(acks);
  if (from === undefined && acked >= warm)
    from = { acked, ms: performance.now(), cpu: cpuSeconds([child.pid]) };
  if (acked < most || child.stdin.writableEnded) continue;
  const cpu = cpuSeconds([child.pid]) - from.cpu;
  const count = (acked - from.acked) * work;
  const aSecond = Math.round((count * 1_000) / (performance.now() - from.ms));
  const each = ((cpu * 1e6) / (acked - from.acked)).toFixed(1);
  console.log(
    `${component}: ${aSecond} tuples/s, ${Math.round(count / cpu)} tuples/cpu s; ${each} us of the processor for each input`,
  );
  child.stdin.end();
}
const code = await ended;
if (code !== 0) throw new Error(`the program ended with ${code}`);
const profile = readdirSync(folder).find((name) => name.endsWith(".cpuprofile"));
for (const { what, share } of shares(JSON.parse(readFileSync(join(folder, profile), "utf8"))))
  console.log(`${(share * 100).toFixed(1).padStart(5)} %  ${what}`);
rmSync(folder, { recursive: true });
