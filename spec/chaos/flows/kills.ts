// Kills a host of flows again and again, and compares what its flows did with what their programs mean.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import fc from "fast-check";
import { Random } from "../../../lib/testing/kit/random.js";
import { type Node, programs } from "../../flow/programs/program.js";
import { type Findings, findingsOf, isClean } from "../../flow/programs/record.js";
import type { PostgresServer } from "../../support/postgres.js";
import type { StorePlace } from "../stores.js";
import { besides, type Strikes, shareOf, stopMsOf } from "../strikes.js";
import { readDeeds } from "./deeds.js";
import { IDLE, type Plan, UP } from "./plan.js";

export interface KillOptions extends Partial<Strikes> {
  readonly kills: number;
  readonly seed: number;
  /** The server of the store, if it is restarted. */
  readonly server?: PostgresServer;
  /** How long the claim of a host holds without renewal. Default: as long as it does by default. */
  readonly leaseMs?: number | undefined;
  readonly store: "sqlite" | StorePlace;
  /** New flows in each life of the host. */
  readonly flowsPerKill: number;
  /** What Node is given to run the child. */
  readonly child: readonly string[];
  /** How often each booking is in the store, once all flows have ended. */
  bookings(place: StorePlace): Promise<ReadonlyMap<string, number>>;
  /** Told after each life. */
  progress?(kills: number): void;
}

/** What came of a kill test. */
export interface KillReport {
  readonly kills: number;
  readonly flows: number;
  readonly findings: Findings;
  readonly clean: boolean;
  /** One line for people. */
  readonly line: string;
  /** Where store and record are; gone if the report is clean. */
  readonly folder: string;
}

/** The longest sleep of a program: some lives of a host. */
const SLEEP_MS = 300;
/** What the first life is supposed to pass. */
const FIRST_POINTS = 300;
const FIRST_MS = 100;
/** Flows that have not ended so long after the last start of their host are lost. */
const HANG_MS = 240_000;

/** How one life of a host ended. */
interface Life {
  readonly killed: boolean;
  /** Points passed when its flows had ended, if it came so far. */
  readonly points: number | undefined;
  /** Milliseconds from its being up to that. */
  readonly ms: number | undefined;
}

/** When a life of a host ends: at a point, or so long after it is up and was struck. Neither: by itself. */
interface LifeEnd {
  readonly killAt?: number;
  readonly afterMs?: number;
  readonly strikes?: Omit<Strikes, "kills">;
}

/** @throws Error when a host ends by itself before its flows do */
export async function killAgainAndAgain(options: KillOptions): Promise<KillReport> {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-kills-"));
  const place: StorePlace =
    options.store === "sqlite" ? { type: "sqlite", path: join(folder, "flows.db") } : options.store;
  const run = new KillRun(options, folder, place);
  await run.kill();
  const flows = run.programs.size;
  const findings = findingsOf(run.programs, readDeeds(run.record), await options.bookings(place));
  const clean = isClean(findings);
  if (clean) rmSync(folder, { recursive: true });
  return { kills: run.kills, flows, findings, clean, folder, line: lineOf(run.struck, flows, findings) };
}

/**
 * The closing line, which programs may read: `5 kills, 25 flows, 0 lost, 0 steps repeated, transactions exact`. Behind that stand ends that
 * are wrong, and what struck besides kills.
 */
export function lineOf(struck: Parameters<typeof besides>[0], flows: number, findings: Findings): string {
  const { lost, repeated, bookings, wrong } = findings;
  const transactions =
    bookings.length === 0 ? "transactions exact" : `${bookings.length} transactions not exact`;
  const others = wrong.length === 0 ? "" : `, ${wrong.length} ends wrong`;
  const found = `${lost.length} lost, ${repeated.length} steps repeated, ${transactions}${others}`;
  return `${struck.kills} kills, ${flows} flows, ${found}${besides(struck)}`;
}

/** A store, its flows so far and the lives of its host. */
export class KillRun {
  readonly programs: Map<string, Node> = new Map();
  readonly record: string;
  kills = 0;
  private stops = 0;
  private restarts = 0;
  private readonly options: KillOptions;
  private readonly folder: string;
  private readonly place: StorePlace;
  private readonly random: Random;
  private readonly made: Iterator<Node>;
  private points = FIRST_POINTS;
  private ms = FIRST_MS;

  constructor(options: KillOptions, folder: string, place: StorePlace) {
    this.options = options;
    this.folder = folder;
    this.place = place;
    this.record = join(folder, "record");
    writeFileSync(this.record, "");
    this.random = new Random(options.seed);
    const numRuns = options.kills * options.flowsPerKill;
    this.made = fc
      .sample(programs({ sleepMs: SLEEP_MS, mail: true }), { numRuns, seed: options.seed })
      .values();
  }

  /** What has struck so far. */
  get struck(): Strikes {
    const { kills, stops, restarts } = this;
    return { kills, stops, restarts };
  }

  /** Kills and restarts the host; the last life runs until all flows have ended. */
  async kill(): Promise<void> {
    const { kills, stops = 0, restarts = 0 } = this.options;
    while (this.kills < kills) {
      this.addFlows();
      const byPoint = this.random.unit() < 0.5;
      const killAt = 1 + this.random.below(this.points);
      const afterMs = this.random.unit() * this.ms;
      const strikes = {
        stops: shareOf(stops, this.kills, kills),
        restarts: shareOf(restarts, this.kills, kills),
      };
      // A host that kills itself at a point could be gone before it is struck.
      const struck = strikes.stops + strikes.restarts > 0;
      const life = await this.live(byPoint && !struck ? { killAt } : { afterMs, strikes });
      this.learn(life);
      this.kills++;
      this.options.progress?.(this.kills);
    }
    await this.live({});
  }

  /** Kills at one point, and lets the flows come to their ends. False: they did before they came to that point. */
  async killOnceAt(point: number): Promise<boolean> {
    this.addFlows();
    const life = await this.live({ killAt: point });
    if (life.killed) await this.live({});
    return life.killed;
  }

  private addFlows(): void {
    for (let i = 0; i < this.options.flowsPerKill; i++)
      this.programs.set(`f${this.programs.size}`, this.made.next().value as Node);
  }

  /** Kills are to fall into the time in which there is work: where a life came to its end, the next is killed sooner. */
  private learn({ points, ms }: Life): void {
    if (points !== undefined) this.points = points;
    else this.points = Math.ceil(this.points * 1.1);
    if (ms !== undefined) this.ms = ms;
    else this.ms *= 1.1;
  }

  /** What befalls a host before it is killed. Each stop outlasts its lease. */
  private async strike(child: ChildProcess, { stops, restarts }: Omit<Strikes, "kills">): Promise<void> {
    const { server, leaseMs } = this.options;
    for (; stops > 0; stops--) {
      await pause(this.random.unit() * this.ms);
      child.kill("SIGSTOP");
      await pause(stopMsOf(this.random, this.place.type === "sqlite" ? "locked" : "leased", leaseMs));
      child.kill("SIGCONT");
      this.stops++;
    }
    for (; restarts > 0; restarts--) {
      await pause(this.random.unit() * this.ms);
      await server?.restart();
      this.restarts++;
    }
  }

  private live(end: LifeEnd): Promise<Life> {
    const ended = new Set(
      readDeeds(this.record).flatMap((deed) => (deed.type === "ended" ? [deed.flow] : [])),
    );
    const flows = [...this.programs]
      .filter(([id]) => !ended.has(id))
      .map(([id, program]) => ({ id, program }));
    const last = end.killAt === undefined && end.afterMs === undefined;
    const { place: store, record } = this;
    const { leaseMs } = this.options;
    const plan: Plan = { store, record, flows, killAt: end.killAt, stays: !last, leaseMs };
    const file = join(this.folder, "plan.json");
    writeFileSync(file, JSON.stringify(plan));
    return this.liveBy(file, end, last);
  }

  /** @param last - the life that nobody ends: it has to come to its own end */
  private liveBy(file: string, { afterMs, strikes }: LifeEnd, last: boolean): Promise<Life> {
    const child = spawn(process.execPath, [...this.options.child, file], {
      stdio: ["pipe", "pipe", "pipe"],
    });
    let out = "";
    let upAt: number | undefined;
    let idle: Life | undefined;
    let struck: Promise<void> | undefined;
    const kill = (): void => void child.kill("SIGKILL");
    const hanging = last ? setTimeout(kill, HANG_MS) : undefined;
    child.stderr.on("data", (chunk: Buffer) => {
      out += chunk.toString();
    });
    child.stdout.on("data", (chunk: Buffer) => {
      out += chunk.toString();
      if (upAt === undefined && out.includes(`${UP}\n`)) {
        upAt = performance.now();
        struck = strikes === undefined ? Promise.resolve() : this.strike(child, strikes);
        if (afterMs !== undefined) void struck.then(() => setTimeout(kill, afterMs));
      }
      const [, points] = new RegExp(`^${IDLE} (\\d+)$`, "m").exec(out) ?? [];
      if (points === undefined || idle !== undefined) return;
      idle = { killed: false, points: Number(points), ms: performance.now() - (upAt ?? 0) };
      if (!last) void struck?.then(kill);
    });
    return new Promise((resolve, reject) => {
      child.on("close", (code, signal) => {
        clearTimeout(hanging);
        // The last life that is killed was hanging: the account tells which flows have no end.
        const wanted = signal === "SIGKILL" || (last && code === 0);
        if (wanted) resolve(idle ?? { killed: true, points: undefined, ms: undefined });
        else reject(new Error(`the host ended with ${code ?? signal}; see ${this.folder}\n${out}`));
      });
    });
  }
}
