// `npm run bench`: every program on every side, one process each, and a table of what came out.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { CATALOGUE, type Entry, type Library } from "./catalogue.js";
import { type BenchOptions, isWanted, readOptions, UsageError } from "./options.js";
import { Otp } from "./otp.js";
import type { Figures } from "./program.js";
import { judge, type Row, type Samples, table } from "./result.js";

const ROUNDS = 5;
/** Processes in which ours and OTP run their rounds, in turn. */
const TURNS = 3;
const QUICK_ROUNDS = 3;
/** Load average from which on other work disturbs the figures. */
const BUSY = 1;
/** The one line of tuning of the Node side: room for young objects. The same for every library. */
const NODE_FLAGS = ["--expose-gc", "--min-semi-space-size=64", "--max-semi-space-size=128"];

function measure(side: "ours" | Library, entry: Entry, rounds: number): Figures[] {
  const child = fileURLToPath(new URL("./child.js", import.meta.url));
  const output = execFileSync(process.execPath, [...NODE_FLAGS, child, side, entry.name, String(rounds)], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  return JSON.parse(output) as Figures[];
}

/** Ours and OTP take turns, so that a machine that grows faster or slower meanwhile favours neither. */
function compare(entry: Entry, otp: Otp | undefined, quick: boolean): Samples {
  const rounds = quick ? QUICK_ROUNDS : ROUNDS;
  const turns = quick || entry.long ? 1 : TURNS;
  const ours: Figures[] = [];
  const theirs: number[] = [];
  for (let turn = 0; turn < turns; turn++) {
    ours.push(...measure("ours", entry, rounds));
    if (otp !== undefined && entry.otp !== undefined) theirs.push(otp.run(entry.otp));
  }
  const pick = (figures: readonly Figures[], name: string): number[] =>
    figures.flatMap((all) => all[name] ?? []);
  const libraries = entry.libraries.map((library) => [
    library,
    pick(measure(library, entry, rounds), entry.unit),
  ]);
  return {
    ours: pick(ours, entry.unit),
    otp: theirs,
    medianUs: entry.unit === "p99Us" ? pick(ours, "medianUs") : [],
    ...Object.fromEntries(libraries),
  };
}

function bench(options: BenchOptions): void {
  const otp = Otp.find();
  if (otp === undefined) console.log("Erlang (erl) is not installed: the columns of OTP are left out.");
  const [load = 0] = loadavg();
  if (load > BUSY)
    console.log(`The machine is busy (load ${load.toFixed(1)}): figures will be low and uneven.`);
  const rows: Row[] = [];
  try {
    for (const entry of CATALOGUE) {
      if (!isWanted(entry, options)) continue;
      process.stderr.write(`${entry.name} ...\n`);
      rows.push(judge(entry, compare(entry, otp, options.quick)));
    }
  } finally {
    otp?.close();
  }
  const machine = {
    node: process.version,
    cpu: cpus()[0]?.model ?? "unknown",
    otp: otp?.version ?? null,
    nodeFlags: NODE_FLAGS,
  };
  console.log(`${machine.cpu}, Node ${machine.node}${otp === undefined ? "" : `, OTP ${otp.version}`}\n`);
  console.log(table(rows, otp !== undefined));
  if (options.json === undefined) return;
  writeFileSync(
    options.json,
    `${JSON.stringify({ machine, quick: options.quick, programs: rows }, null, 2)}\n`,
  );
}

try {
  bench(
    readOptions(
      process.argv.slice(2),
      CATALOGUE.map((entry) => entry.name),
    ),
  );
} catch (error) {
  console.error(`bench: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
