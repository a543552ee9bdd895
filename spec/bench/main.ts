// `npm run bench`: every program on every side, one process each, and a table of what came out.

import { writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { noNats } from "../support/nats.js";
import { noPostgres } from "../support/postgres.js";
import { startBenchNats } from "./bench-nats.js";
import { startBenchPostgres } from "./bench-postgres.js";
import { noRedis, startBenchRedis } from "./bench-redis.js";
import { CATALOGUE, type Entry, type Peer } from "./catalogue.js";
import { compareEntry } from "./compare.js";
import { comparisonTable } from "./comparison.js";
import { HERE, measure as measureIn, NODE_FLAGS } from "./measure.js";
import { type BenchOptions, isWanted, readOptions, UsageError } from "./options.js";
import { Otp } from "./otp.js";
import type { Figures } from "./program.js";
import { judge, type Row, type Samples, table } from "./result.js";
import { buildRevision } from "./revision.js";

const ROUNDS = 5;
/** Processes in which ours and OTP run their rounds, in turn. */
const TURNS = 3;
const QUICK_ROUNDS = 3;
/** Load average from which on other work disturbs the figures. */
const BUSY = 1;
function measure(side: "ours" | Peer, entry: Entry, rounds: number): Figures[] {
  return measureIn(HERE, side, entry.name, rounds);
}

const isTarget = ({ target }: Entry, peer: Peer): boolean =>
  target?.type === "times-peer" && target.peer === peer;

/** Ours, OTP and the peer that is the target take turns, so that a machine that grows faster or slower meanwhile favours neither. */
function sample(entry: Entry, otp: Otp | undefined, quick: boolean): Samples {
  const rounds = quick ? QUICK_ROUNDS : ROUNDS;
  const turns = quick || entry.long ? 1 : TURNS;
  const ours: Figures[] = [];
  const theirs: number[] = [];
  const present = entry.peers.filter((peer) => peer !== "bullmq" || noRedis === undefined);
  const peers = new Map<Peer, Figures[]>(present.map((peer) => [peer, []]));
  for (let turn = 0; turn < turns; turn++) {
    ours.push(...measure("ours", entry, rounds));
    if (otp !== undefined && entry.otp !== undefined) theirs.push(otp.run(entry.otp));
    for (const [peer, figures] of peers)
      if (turn === 0 || isTarget(entry, peer)) figures.push(...measure(peer, entry, rounds));
  }
  const pick = (figures: readonly Figures[], name: string): number[] =>
    figures.flatMap((all) => all[name] ?? []);
  return {
    ours: pick(ours, entry.unit),
    otp: theirs,
    medianUs: entry.unit === "p99Us" ? pick(ours, "medianUs") : [],
    ...Object.fromEntries([...peers].map(([peer, figures]) => [peer, pick(figures, entry.unit)])),
  };
}

/** What `row` gives for each program that is wanted, with its name on standard error as it begins. */
function each<T>(options: BenchOptions, row: (entry: Entry) => T): T[] {
  return wantedOf(options).map((entry) => {
    process.stderr.write(`${entry.name} ...\n`);
    return row(entry);
  });
}

/** Without PostgreSQL or NATS, programs that need it are left out. */
const wantedOf = (options: BenchOptions): Entry[] =>
  CATALOGUE.filter(
    (entry) =>
      isWanted(entry, options) &&
      !(entry.postgres && noPostgres !== undefined) &&
      !(entry.nats && noNats !== undefined),
  );

/** Says what is left out, and starts the server that programs need. */
async function postgresFor(options: BenchOptions): Promise<AsyncDisposable | undefined> {
  const needy = CATALOGUE.filter((entry) => entry.postgres && isWanted(entry, options));
  if (needy.length === 0) return undefined;
  if (noPostgres === undefined) return startBenchPostgres();
  console.log(`${noPostgres}: ${needy.map(({ name }) => name).join(", ")} are left out.`);
  return undefined;
}

/** The same for NATS. */
async function natsFor(options: BenchOptions): Promise<AsyncDisposable | undefined> {
  const needy = CATALOGUE.filter((entry) => entry.nats && isWanted(entry, options));
  if (needy.length === 0) return undefined;
  if (noNats === undefined) return startBenchNats();
  console.log(`${noNats}: ${needy.map(({ name }) => name).join(", ")} are left out.`);
  return undefined;
}

/** Says what is compared with nobody, and starts the server that a peer needs. */
async function redisFor(options: BenchOptions): Promise<AsyncDisposable | undefined> {
  const needy = CATALOGUE.filter((entry) => entry.peers.includes("bullmq") && isWanted(entry, options));
  if (needy.length === 0 || options.compare !== undefined) return undefined;
  if (noRedis === undefined) return startBenchRedis();
  console.log(`${noRedis}: ${needy.map(({ name }) => name).join(", ")} is compared with nobody.`);
  return undefined;
}

function warnIfBusy(): void {
  const [load = 0] = loadavg();
  if (load > BUSY)
    console.log(`The machine is busy (load ${load.toFixed(1)}): figures will be low and uneven.`);
}

function machine(otp: Otp | undefined): object {
  const { version: node } = process;
  const cpu = cpus()[0]?.model ?? "unknown";
  console.log(`${cpu}, Node ${node}${otp === undefined ? "" : `, OTP ${otp.version}`}\n`);
  return { node, cpu, otp: otp?.version ?? null, nodeFlags: NODE_FLAGS };
}

function write(options: BenchOptions, results: object): void {
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(results, null, 2)}\n`);
}

/** Against other systems. */
function bench(options: BenchOptions): void {
  const otp = Otp.find();
  if (otp === undefined) console.log("Erlang (erl) is not installed: the columns of OTP are left out.");
  warnIfBusy();
  let rows: Row[];
  try {
    rows = each(options, (entry) => judge(entry, sample(entry, otp, options.quick)));
  } finally {
    otp?.close();
  }
  const here = machine(otp);
  console.log(table(rows, otp !== undefined));
  write(options, { machine: here, quick: options.quick, programs: rows });
}

/** Against another revision of this library. */
function compareWith(name: string, options: BenchOptions): void {
  const revision = buildRevision(name);
  try {
    warnIfBusy();
    const rows = each(options, (entry) => compareEntry(entry, revision, options.quick));
    const here = machine(undefined);
    console.log(comparisonTable(rows, revision.commit));
    write(options, { machine: here, quick: options.quick, revision: revision.commit, programs: rows });
  } finally {
    revision.close();
  }
}

try {
  const names = CATALOGUE.map((entry) => entry.name);
  const options = readOptions(process.argv.slice(2), names);
  await using _postgres = await postgresFor(options);
  await using _nats = await natsFor(options);
  await using _redis = await redisFor(options);
  if (options.compare === undefined) bench(options);
  else compareWith(options.compare, options);
} catch (error) {
  console.error(`bench: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
