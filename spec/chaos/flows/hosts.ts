// Several hosts on one PostgreSQL server, which are killed, stopped and cut off while the server itself is restarted. However it
// goes, every flow ends as its program says.

import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import fc from "fast-check";
import type { HospitalReport } from "../../../lib/flow/hospital/events.js";
import { Random } from "../../../lib/testing/kit/random.js";
import { type Node, programs } from "../../flow/programs/program.js";
import { findingsOf, isClean } from "../../flow/programs/record.js";
import type { PostgresServer } from "../../support/postgres.js";
import { Loopback } from "../loopback.js";
import { leaseOf, type Strikes, stopMsOf } from "../strikes.js";
import { ANSWERED, ASK } from "../under-way.js";
import { readDeeds } from "./deeds.js";
import { type KillReport, lineOf } from "./kills.js";
import { type Plan, UP, visitsOf } from "./plan.js";
import { standstill } from "./standstill.js";

export interface HostsOptions extends Strikes {
  /** How often a host is cut off from the server, loudly or silently. */
  readonly cuts: number;
  readonly hosts: number;
  /** How long the claim of a host holds without renewal. Undefined: as long as it does by default. */
  readonly leaseMs: number | undefined;
  readonly seed: number;
  readonly server: PostgresServer;
  readonly flowsPerStrike: number;
  /** Between how many accounts flows move money. 0: random programs run instead. */
  readonly accounts: number;
  /** How many loops without end keep the machine busy. */
  readonly busy: number;
  readonly child: readonly string[];
  /** A host that has not ended by itself within this time after its last start hangs. Default 240,000. */
  readonly hangMs?: number;
  bookings(): Promise<ReadonlyMap<string, number>>;
  /** What else is wrong at the end, in words. */
  faults?(): Promise<readonly string[]>;
  progress?(strikes: number, what: string): void;
}

type Strike = "kill" | "stop" | "cut" | "silence" | "restart";

/** PostgreSQL's name for the socket of port 5432 in a folder. */
const SOCKET = ".s.PGSQL.5432";

/** The longest wait before something strikes: some lives of a flow. */
const CALM_MS = 500;
const BUSY_CALM_MS = 4_000;
const HANG_MS = 240_000;
/** How long a host that hangs has to say what is under way, and how often its words are looked at. */
const ANSWER_MS = 5_000;
const LOOK_MS = 20;
/** Most characters of what a host printed that an error has, from its end. */
const MOST_PRINTED = 20_000;
const SLEEP_MS = 300;

/** Runs flows on several hosts, and strikes. @throws Error when a host ends by itself before its flows do */
export async function strikeHosts(options: HostsOptions): Promise<KillReport> {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-hosts-"));
  chmodSync(folder, 0o755);
  const flows = new Map<string, Node>();
  const record = join(folder, "record");
  writeFileSync(record, "");
  const hosts = Array.from(
    { length: options.hosts },
    (_, n) => new HostProcess(options, folder, record, `host-${n}`),
  );
  const loops = Array.from({ length: options.busy }, () => spawn(process.execPath, ["-e", "for(;;);"]));
  try {
    await strike(options, hosts, flows, record);
  } finally {
    for (const host of hosts) await host.end();
    for (const loop of loops) loop.kill("SIGKILL");
  }
  const found = findingsOf(flows, readDeeds(record), await options.bookings());
  // Random programs fail on purpose. A transfer has no reason to come to the hospital.
  const visits = options.accounts > 0 ? visitsIn(visitsOf(record)) : [];
  const faults = (await options.faults?.()) ?? [];
  const findings = { ...found, wrong: [...found.wrong, ...visits, ...faults] };
  const clean = isClean(findings);
  if (clean) rmSync(folder, { recursive: true });
  const line = lineOf(options, flows.size, findings);
  return { kills: options.kills, flows: flows.size, findings, clean, folder, line };
}

/** Two transfers, one after another. */
const TRANSFERS: Node = {
  ...{ type: "sequence", name: "both" },
  of: [
    { type: "book", name: "one", value: 1 },
    { type: "book", name: "two", value: 2 },
  ],
};

/** Which flows came to the hospital, and why, in words. */
function visitsIn(path: string): string[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n");
  const reports = lines.filter((line) => line !== "").map((line) => JSON.parse(line) as HospitalReport);
  return reports.flatMap((report) =>
    "record" in report ? [`${report.flow} was in the hospital: ${report.record.symptom.message}`] : [],
  );
}

/** Everything that is to strike, in a random order. */
function strikesOf({ kills, stops, cuts, restarts }: HostsOptions, random: Random): Strike[] {
  const kinds: Strike[] = [
    ...Array<Strike>(kills).fill("kill"),
    ...Array<Strike>(stops).fill("stop"),
    ...Array.from({ length: cuts }, (_, n): Strike => (n % 2 === 0 ? "cut" : "silence")),
    ...Array<Strike>(restarts).fill("restart"),
  ];
  const ordered = kinds.map((kind) => ({ kind, at: random.unit() }));
  return ordered.sort((a, b) => a.at - b.at).map(({ kind }) => kind);
}

/** Gives the hosts new flows, strikes one of them, and so on; then lets all flows end. */
async function strike(
  options: HostsOptions,
  hosts: readonly HostProcess[],
  flows: Map<string, Node>,
  record: string,
): Promise<void> {
  const random = new Random(options.seed);
  const strikes = strikesOf(options, random);
  const numRuns = strikes.length * options.flowsPerStrike;
  const made =
    options.accounts > 0
      ? Array<Node>(numRuns).fill(TRANSFERS).values()
      : fc.sample(programs({ sleepMs: SLEEP_MS, mail: true }), { numRuns, seed: options.seed }).values();
  // Behind busy loops, hosts take longer until they are up.
  const calmMs = options.busy > 0 ? BUSY_CALM_MS : CALM_MS;
  for (const host of hosts) await host.proxy.open();
  for (const [done, what] of strikes.entries()) {
    const fresh = new Map<string, Node>();
    for (let i = 0; i < options.flowsPerStrike; i++)
      fresh.set(`f${flows.size + i}`, made.next().value as Node);
    for (const [id, program] of fresh) flows.set(id, program);
    const host = hosts[random.below(hosts.length)] as HostProcess;
    // A host learns of new flows when it is started: the one that is struck starts again with all that have no end.
    if (!host.runs) host.start(unfinished(flows, record));
    for (const other of hosts) if (!other.runs) other.start(unfinished(flows, record));
    await pause(random.unit() * calmMs);
    // A host that is cut off for less than a lease keeps its claim.
    const forMs =
      what === "stop"
        ? stopMsOf(random, "leased", options.leaseMs)
        : random.unit() * 2 * leaseOf(options.leaseMs);
    await strikeWith(what, host, options.server, forMs);
    options.progress?.(done + 1, what);
  }
  await Promise.all(hosts.map((host) => host.finish(() => unfinished(flows, record))));
}

async function strikeWith(
  what: Strike,
  host: HostProcess,
  server: PostgresServer,
  forMs: number,
): Promise<void> {
  switch (what) {
    case "kill":
      return host.kill();
    case "stop":
      host.signal("SIGSTOP");
      await pause(forMs);
      host.signal("SIGCONT");
      return;
    case "cut":
      host.proxy.cut();
      await pause(forMs);
      return host.proxy.open();
    case "silence":
      host.proxy.silence();
      await pause(forMs);
      return host.proxy.open();
    case "restart":
      return server.restart();
    default:
      return what satisfies never;
  }
}

type Flows = Plan["flows"];

function unfinished(flows: ReadonlyMap<string, Node>, record: string): Flows {
  const ended = new Set(readDeeds(record).flatMap((deed) => (deed.type === "ended" ? [deed.flow] : [])));
  return [...flows].filter(([id]) => !ended.has(id)).map(([id, program]) => ({ id, program }));
}

class HostProcess {
  readonly proxy: Loopback;
  private readonly options: HostsOptions;
  private readonly plan: Omit<Plan, "flows">;
  private readonly file: string;
  private child: ChildProcess | undefined;
  private ended: Promise<void> = Promise.resolve();
  private failure: Error | undefined;

  constructor(options: HostsOptions, folder: string, record: string, name: string) {
    this.options = options;
    const own = join(folder, name);
    mkdirSync(own);
    this.file = join(own, "plan.json");
    this.proxy = new Loopback(join(own, SOCKET), options.server.socket);
    const url = `postgresql://test@localhost:5432/postgres?host=${encodeURIComponent(own)}`;
    const { leaseMs, accounts } = options;
    this.plan = { store: { type: "postgres", url }, record, host: name, leaseMs };
    if (accounts > 0) this.plan = { ...this.plan, accounts };
  }

  get runs(): boolean {
    return this.child !== undefined;
  }

  start(flows: Flows): void {
    writeFileSync(this.file, JSON.stringify({ ...this.plan, flows } satisfies Plan));
    const child = spawn(process.execPath, [...this.options.child, this.file], {
      stdio: ["pipe", "pipe", "pipe"],
    });
    let out = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => {
        out += chunk.toString();
      });
    this.child = child;
    const { hangMs = HANG_MS } = this.options;
    const hanging = setTimeout(() => void this.hangs(child, flows, () => out), hangMs);
    this.ended = new Promise((resolve) => {
      child.on("close", (code, signal) => {
        clearTimeout(hanging);
        if (code !== 0 && signal !== "SIGKILL")
          this.failure = new Error(`${this.plan.host} ended with ${code ?? signal}:\n${out}`);
        this.child = undefined;
        resolve();
      });
    });
  }

  /** Says what stands still, and kills it. */
  private async hangs(child: ChildProcess, flows: Flows, out: () => string): Promise<void> {
    const { record, host } = this.plan;
    // The signal would end a host that is not up.
    const isAsked = out().includes(UP) && child.kill(ASK);
    for (let leftMs = isAsked ? ANSWER_MS : 0; leftMs > 0 && !out().includes(ANSWERED); leftMs -= LOOK_MS)
      await pause(LOOK_MS);
    const left = unfinished(new Map(flows.map(({ id, program }) => [id, program])), record).map(
      ({ id }) => id,
    );
    const known = await standstill(this.options.server, left);
    // It has ended by itself in the meantime, or was killed.
    if (this.child !== child) return;
    const { hangMs = HANG_MS } = this.options;
    const begun = flows.map(({ id }) => id).join(", ");
    this.failure = new Error(
      `${host} had not ended after ${hangMs} ms; it was started with the flows ${begun}. ` +
        `No end is recorded of: ${left.join(", ") || "none of them"}\n${known}\nit printed:\n${out().slice(-MOST_PRINTED)}`,
    );
    child.kill("SIGKILL");
  }

  signal(name: NodeJS.Signals): void {
    this.child?.kill(name);
  }

  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.ended;
    if (this.failure !== undefined) throw this.failure;
  }

  /** Ends it, and its way to the server: an open socket would keep this process alive. */
  async end(): Promise<void> {
    this.signal("SIGKILL");
    await this.ended;
    this.proxy.cut();
  }

  /** Lets it run until the flows have ended that it was started with, and then those that have no end yet. */
  async finish(flows: () => Flows): Promise<void> {
    for (;;) {
      await this.ended;
      if (this.failure !== undefined) throw this.failure;
      const left = flows();
      if (left.length === 0) return;
      this.start(left);
    }
  }
}
