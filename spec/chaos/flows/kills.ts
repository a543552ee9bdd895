// Kills a host of flows again and again, and compares what its flows did with what their programs mean.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { Random } from "../../../lib/testing/kit/random.js";
import { type Node, programs } from "../../flow/programs/program.js";
import { type Findings, findingsOf, isClean } from "../../flow/programs/record.js";
import type { StorePlace } from "../stores.js";
import { readDeeds } from "./deeds.js";
import { IDLE, type Plan, UP } from "./plan.js";

export interface KillOptions {
  readonly kills: number;
  readonly seed: number;
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

/** How one life of a host ended. */
interface Life {
  readonly killed: boolean;
  /** Points passed when its flows had ended, if it came so far. */
  readonly points: number | undefined;
  /** Milliseconds from its being up to that. */
  readonly ms: number | undefined;
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
  return { kills: run.kills, flows, findings, clean, folder, line: lineOf(run.kills, flows, findings) };
}

/** The closing line. */
export function lineOf(kills: number, flows: number, findings: Findings): string {
  const { lost, repeated, bookings, wrong } = findings;
  const transactions =
    bookings.length === 0 ? "transactions exact" : `${bookings.length} transactions not exact`;
  const others = wrong.length === 0 ? "" : `, ${wrong.length} ends wrong`;
  return `${kills} kills, ${flows} flows, ${lost.length} lost, ${repeated.length} steps repeated, ${transactions}${others}`;
}

/** A store, its flows so far and the lives of its host. */
export class KillRun {
  readonly programs: Map<string, Node> = new Map();
  readonly record: string;
  kills = 0;
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

  /** Kills and restarts the host; the last life runs until all flows have ended. */
  async kill(): Promise<void> {
    while (this.kills < this.options.kills) {
      this.addFlows();
      const byPoint = this.random.unit() < 0.5;
      const life = byPoint
        ? await this.live({ killAt: 1 + this.random.below(this.points) })
        : await this.live({ afterMs: this.random.unit() * this.ms });
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

  private live(end: { readonly killAt?: number; readonly afterMs?: number }): Promise<Life> {
    const ended = new Set(
      readDeeds(this.record).flatMap((deed) => (deed.type === "ended" ? [deed.flow] : [])),
    );
    const flows = [...this.programs]
      .filter(([id]) => !ended.has(id))
      .map(([id, program]) => ({ id, program }));
    const last = end.killAt === undefined && end.afterMs === undefined;
    const { place: store, record } = this;
    const plan: Plan = { store, record, flows, killAt: end.killAt, stays: !last };
    const file = join(this.folder, "plan.json");
    writeFileSync(file, JSON.stringify(plan));
    return this.liveBy(file, end.afterMs, last);
  }

  /** @param last - the life that nobody ends: it has to come to its own end */
  private liveBy(file: string, afterMs: number | undefined, last: boolean): Promise<Life> {
    const child = spawn(process.execPath, [...this.options.child, file], {
      stdio: ["pipe", "pipe", "pipe"],
    });
    let out = "";
    let upAt: number | undefined;
    let idle: Life | undefined;
    child.stderr.on("data", (chunk: Buffer) => {
      out += chunk.toString();
    });
    child.stdout.on("data", (chunk: Buffer) => {
      out += chunk.toString();
      if (upAt === undefined && out.includes(`${UP}\n`)) {
        upAt = performance.now();
        if (afterMs !== undefined) setTimeout(() => child.kill("SIGKILL"), afterMs);
      }
      const [, points] = new RegExp(`^${IDLE} (\\d+)$`, "m").exec(out) ?? [];
      if (points === undefined || idle !== undefined) return;
      idle = { killed: false, points: Number(points), ms: performance.now() - (upAt ?? 0) };
      if (!last) child.kill("SIGKILL");
    });
    return new Promise((resolve, reject) => {
      child.on("close", (code, signal) => {
        const wanted = last ? code === 0 : signal === "SIGKILL";
        if (wanted) resolve(idle ?? { killed: true, points: undefined, ms: undefined });
        else reject(new Error(`the host ended with ${code ?? signal}; see ${this.folder}\n${out}`));
      });
    });
  }
}
