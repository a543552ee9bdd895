// Kills hosts of a pipeline again and again, and compares what the pipeline did with what its inputs ask for.

import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Random } from "../../../lib/testing/kit/random.js";
import type { StorePlace } from "../stores.js";
import { type Strikes, shareOf, stopMsOf } from "../strikes.js";
import { type Findings, findingsOf, isClean, lineOf, readLeft } from "./account.js";
import { HostProcess, type Life } from "./host-process.js";
import { linesOf } from "./inputs.js";
import { readRecord } from "./record.js";

/** A server that the hosts share. */
export interface SharedServer {
  /** Ends it, and starts it again. */
  restart(random: Random): Promise<void>;
}

export interface KillOptions extends Partial<Strikes> {
  readonly kills: number;
  readonly seed: number;
  readonly store: "sqlite" | StorePlace;
  /** The address of the broker that carries the messages. Default: none does. */
  readonly broker?: string;
  /** The servers that are restarted, in turn. */
  readonly servers?: readonly SharedServer[];
  /** New inputs in each life of a host. */
  readonly inputsPerKill: number;
  /** Hosts that share the store. Default 1. */
  readonly hosts?: number;
  /** How long the claim of a host holds without renewal. Default: as long as it does by default. */
  readonly leaseMs?: number | undefined;
  /** What Node is given to run the child. */
  readonly child: readonly string[];
  /** Kills at this point alone, instead of at random. */
  readonly at?: number;
  /** Called after each kill. */
  progress?(kills: number): void;
}

/** What came of a kill test. */
export interface KillReport {
  readonly kills: number;
  readonly inputs: number;
  readonly findings: Findings;
  readonly clean: boolean;
  /** One line for people. */
  readonly line: string;
  /** Where store, inputs and record are; gone if the report is clean. */
  readonly folder: string;
}

/** What the first life is supposed to pass. */
const FIRST_POINTS = 40;
const FIRST_MS = 50;
/** @throws Error when a host ends by itself before it is killed, or does not end at all */
export async function killAgainAndAgain(options: KillOptions): Promise<KillReport> {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-kills-"));
  const { seed, kills, inputsPerKill } = options;
  const inputs = kills * inputsPerKill;
  const place: StorePlace =
    options.store === "sqlite" ? { type: "sqlite", path: join(folder, "pipelines.db") } : options.store;
  const run = new KillRun(options, folder, place, inputs);
  try {
    if (options.at === undefined) await run.kill();
    else await run.killOnceAt(options.at);
    await run.finish();
  } finally {
    await run.end();
  }
  const findings = findingsOf(seed, inputs, readRecord(run.record), await readLeft(place));
  const clean = isClean(findings);
  if (clean) rmSync(folder, { recursive: true });
  return { kills: run.kills, inputs, findings, clean, folder, line: lineOf(run.struck, inputs, findings) };
}

/** A store, its inputs and the lives of its hosts. */
class KillRun {
  readonly record: string;
  kills = 0;
  private stops = 0;
  private restarts = 0;
  private readonly options: KillOptions;
  private readonly place: StorePlace;
  private readonly allowed: string;
  private readonly inputs: number;
  private readonly random: Random;
  private readonly hosts: readonly HostProcess[];
  private points = FIRST_POINTS;
  private ms = FIRST_MS;

  constructor(options: KillOptions, folder: string, store: StorePlace, inputs: number) {
    this.options = options;
    this.place = store;
    this.inputs = inputs;
    this.random = new Random(options.seed);
    this.record = join(folder, "record");
    this.allowed = join(folder, "allowed");
    const file = join(folder, "inputs.jsonl");
    writeFileSync(this.record, "");
    writeFileSync(file, linesOf(options.seed, inputs));
    const { hosts = 1, child, broker, leaseMs } = options;
    const plan = { store, broker, file, inputs, allowed: this.allowed, record: this.record, leaseMs };
    this.hosts = Array.from(
      { length: hosts },
      (_, i) => new HostProcess(child, folder, { ...plan, host: `host-${i}` }),
    );
  }

  /** What has struck so far. */
  get struck(): Strikes {
    const { kills, stops, restarts } = this;
    return { kills, stops, restarts };
  }

  /** Kills and restarts hosts, each time with more inputs. */
  async kill(): Promise<void> {
    const { kills, stops = 0, restarts = 0, inputsPerKill } = this.options;
    while (this.kills < kills) {
      // The last input is for the last lives: nothing is complete before.
      this.allow(Math.min((this.kills + 1) * inputsPerKill, this.inputs - 1));
      const victim = this.hosts[this.random.below(this.hosts.length)] as HostProcess;
      const byPoint = this.random.unit() < 0.5;
      const point = 1 + this.random.below(this.points);
      const afterMs = this.random.unit() * this.ms;
      const stopsNow = shareOf(stops, this.kills, kills);
      // A host that stands still first cannot kill itself meanwhile.
      const killAt = byPoint && !(stopsNow > 0 && this.hosts.length === 1) ? point : undefined;
      for (const host of this.hosts) if (!host.runs) host.start(host === victim ? killAt : undefined);
      const stopped = this.stop(victim, stopsNow);
      if (this.hosts.length === 1) await stopped;
      this.learn(await victim.killed(victim.killAt === undefined ? afterMs : undefined));
      await stopped;
      await this.restart(shareOf(restarts, this.kills, kills));
      this.kills++;
      this.options.progress?.(this.kills);
    }
  }

  /** Another host stands still while one is killed, or the only one before it is. Each stop outlasts the claim of the host. */
  private async stop(victim: HostProcess, stops: number): Promise<void> {
    const others = this.hosts.filter((host) => host !== victim);
    const leased = this.place.type === "sqlite" ? "locked" : "leased";
    for (let i = 0; i < stops; i++) {
      const host = others[this.random.below(Math.max(1, others.length))] ?? victim;
      await host.isUp();
      await host.stall(stopMsOf(this.random, leased, this.options.leaseMs));
      this.stops++;
    }
  }

  /** The servers end and come back while the other hosts work. */
  private async restart(restarts: number): Promise<void> {
    const { servers = [] } = this.options;
    for (let i = 0; i < restarts; i++) {
      // A host that begins needs them.
      for (const host of this.hosts) if (host.runs) await host.isUp();
      await servers[this.restarts % servers.length]?.restart(this.random);
      this.restarts++;
    }
  }

  /** Kills the host at one point. If it does not come so far, nothing is killed. */
  async killOnceAt(point: number): Promise<void> {
    this.allow(this.inputs);
    const [host] = this.hosts as readonly [HostProcess];
    host.start(point);
    if (await host.diesOrCompletes()) this.kills++;
  }

  /** Lets the execution complete. Every host has to see that. */
  async finish(): Promise<void> {
    this.allow(this.inputs);
    for (const host of this.hosts) if (!host.runs) host.start(undefined);
    for (const host of this.hosts) await host.completed();
  }

  /** However the test ends, no host outlives it. */
  async end(): Promise<void> {
    for (const host of this.hosts) await host.end();
  }

  /** Replaces the number as a whole: no reader sees a part of it. */
  private allow(inputs: number): void {
    writeFileSync(`${this.allowed}.new`, String(inputs));
    renameSync(`${this.allowed}.new`, this.allowed);
  }

  /** Kills are to fall into the time in which there is work: where a life came to rest, the next is killed sooner. */
  private learn({ points, ms }: Life): void {
    if (points !== undefined) this.points = points;
    else this.points = Math.ceil(this.points * 1.1);
    if (ms !== undefined) this.ms = ms;
    else this.ms *= 1.1;
  }
}
