// Kills hosts of a pipeline again and again, and compares what the pipeline did with what its inputs ask for.

import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Random } from "../../../lib/testing/kit/random.js";
import type { StorePlace } from "../stores.js";
import { type Findings, findingsOf, isClean, lineOf, readLeft } from "./account.js";
import { HostProcess, type Life } from "./host-process.js";
import { linesOf } from "./inputs.js";
import { readRecord } from "./record.js";

/** A server of JetStream that is killed, too. */
export interface Broker {
  readonly address: string;
  /** SIGKILL, and a new start. @param isLost - without its data */
  strike(isLost: boolean): Promise<void>;
}

export interface KillOptions {
  readonly kills: number;
  readonly seed: number;
  readonly store: "sqlite" | StorePlace;
  /** The broker that carries the messages. Default: none does. */
  readonly broker?: Broker;
  /** New inputs in each life of a host. */
  readonly inputsPerKill: number;
  /** Hosts that share the store. Default 1. */
  readonly hosts?: number;
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
/** A claim of hosts that share a store holds for so long. */
const LEASE_MS = 500;
/** How often another host is stopped while one is killed. */
const STALLS = 0.3;
/** How often the broker is killed after a host, and how often it has lost its data then. */
const STRIKES = 0.3;
const LOSSES = 0.3;

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
  return { kills: run.kills, inputs, findings, clean, folder, line: lineOf(run.kills, inputs, findings) };
}

/** A store, its inputs and the lives of its hosts. */
class KillRun {
  readonly record: string;
  kills = 0;
  private readonly options: KillOptions;
  private readonly allowed: string;
  private readonly inputs: number;
  private readonly random: Random;
  private readonly hosts: readonly HostProcess[];
  private points = FIRST_POINTS;
  private ms = FIRST_MS;

  constructor(options: KillOptions, folder: string, store: StorePlace, inputs: number) {
    this.options = options;
    this.inputs = inputs;
    this.random = new Random(options.seed);
    this.record = join(folder, "record");
    this.allowed = join(folder, "allowed");
    const file = join(folder, "inputs.jsonl");
    writeFileSync(this.record, "");
    writeFileSync(file, linesOf(options.seed, inputs));
    const { hosts = 1, child, broker } = options;
    const plan = { store, broker: broker?.address, file, inputs, allowed: this.allowed, record: this.record };
    this.hosts = Array.from(
      { length: hosts },
      (_, i) =>
        new HostProcess(child, folder, {
          ...plan,
          host: `host-${i}`,
          leaseMs: hosts > 1 ? LEASE_MS : undefined,
        }),
    );
  }

  /** Kills and restarts hosts, each time with more inputs. */
  async kill(): Promise<void> {
    while (this.kills < this.options.kills) {
      // The last input is for the last lives: nothing is complete before.
      this.allow(Math.min((this.kills + 1) * this.options.inputsPerKill, this.inputs - 1));
      const victim = this.hosts[this.random.below(this.hosts.length)] as HostProcess;
      const byPoint = this.random.unit() < 0.5;
      const point = 1 + this.random.below(this.points);
      const afterMs = this.random.unit() * this.ms;
      for (const host of this.hosts)
        if (!host.runs) host.start(byPoint && host === victim ? point : undefined);
      const stalled = this.stallAnother(victim);
      this.learn(await victim.killed(byPoint && victim.killAt !== undefined ? undefined : afterMs));
      await stalled;
      await this.strike();
      this.kills++;
      this.options.progress?.(this.kills);
    }
  }

  /** One of the others may stand still meanwhile, for so long that it loses its claim, and go on behind that. */
  private async stallAnother(victim: HostProcess): Promise<void> {
    const others = this.hosts.filter((host) => host !== victim);
    const other = others[this.random.below(Math.max(1, others.length))];
    const forMs = this.random.unit() * 2 * LEASE_MS;
    if (other !== undefined && this.random.unit() < STALLS) await other.stall(forMs);
  }

  /** The broker may die as well, while the other hosts work. */
  private async strike(): Promise<void> {
    const { broker } = this.options;
    if (broker === undefined || this.random.unit() >= STRIKES) return;
    // A host that begins needs it.
    for (const host of this.hosts) if (host.runs) await host.isUp();
    await broker.strike(this.random.unit() < LOSSES);
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
