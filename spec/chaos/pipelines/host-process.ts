// A host of a kill test as a process of the operating system.

import { type ChildProcess, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { COMPLETED, IDLE, type Plan, UP } from "./plan.js";

/** How a life of a host ended. */
export interface Life {
  /** Points passed when nothing was left to do, if it came so far. */
  readonly points: number | undefined;
  /** Milliseconds from its being up to that. */
  readonly ms: number | undefined;
}

/** A host that does not end within this time hangs. */
const HANG_MS = 120_000;

export class HostProcess {
  /** The point at which it kills itself. */
  killAt: number | undefined;
  private readonly program: readonly string[];
  private readonly plan: Omit<Plan, "killAt">;
  private readonly file: string;
  private child: ChildProcess | undefined;
  private out = "";
  private upAt: number | undefined;
  private heard: () => void = () => undefined;
  private ended: Promise<number | NodeJS.Signals | null> = Promise.resolve(0);

  constructor(program: readonly string[], folder: string, plan: Omit<Plan, "killAt">) {
    this.program = program;
    this.plan = plan;
    this.file = join(folder, `${plan.host}.json`);
  }

  get runs(): boolean {
    return this.child !== undefined;
  }

  start(killAt: number | undefined): void {
    this.killAt = killAt;
    writeFileSync(this.file, JSON.stringify({ ...this.plan, killAt } satisfies Plan));
    const child = spawn(process.execPath, [...this.program, this.file], { stdio: ["pipe", "pipe", "pipe"] });
    this.child = child;
    this.out = "";
    this.upAt = undefined;
    const hanging = setTimeout(() => {
      this.out += `killed: it had not ended after ${HANG_MS} ms`;
      child.kill("SIGKILL");
    }, HANG_MS);
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => {
        this.out += chunk.toString();
        if (this.upAt === undefined && this.has(UP)) this.upAt = performance.now();
        this.heard();
      });
    this.ended = new Promise((resolve) => {
      child.on("close", (code, signal) => {
        clearTimeout(hanging);
        this.child = undefined;
        resolve(code ?? signal);
        this.heard();
      });
    });
  }

  /**
   * Kills it: so many milliseconds after it is up, or when nothing is left to do, whatever is first. Undefined: it kills itself, or is
   * killed when nothing is left to do.
   */
  async killed(afterMs: number | undefined): Promise<Life> {
    // What it said about earlier inputs does not count.
    if (this.upAt !== undefined) this.out = "";
    const begin = performance.now();
    await this.until(() => this.upAt !== undefined);
    const from = Math.max(begin, this.upAt ?? begin);
    const timer = afterMs === undefined ? undefined : setTimeout(() => this.child?.kill("SIGKILL"), afterMs);
    await this.until(() => this.points !== undefined);
    clearTimeout(timer);
    const { points } = this;
    const ms = performance.now() - from;
    this.child?.kill("SIGKILL");
    const how = await this.ended;
    if (how !== "SIGKILL") throw new Error(`${this.plan.host} ended with ${how}:\n${this.out}`);
    return points === undefined ? { points, ms: undefined } : { points, ms };
  }

  /** True: it has killed itself. False: it has completed before. */
  async diesOrCompletes(): Promise<boolean> {
    const how = await this.ended;
    if (how === 0 || (how === "SIGKILL" && this.killAt !== undefined)) return how !== 0;
    throw new Error(`${this.plan.host} ended with ${how}:\n${this.out}`);
  }

  /** Waits until it is up. */
  isUp(): Promise<void> {
    return this.until(() => this.upAt !== undefined);
  }

  /** Waits for its own end, which has to be a completion. */
  async completed(): Promise<void> {
    const how = await this.ended;
    if (how !== 0 || !this.has(COMPLETED))
      throw new Error(`${this.plan.host} ended with ${how}:\n${this.out}`);
  }

  /** Stops it for so many milliseconds, as a machine that is overloaded does, or a pause of its memory. */
  async stall(forMs: number): Promise<void> {
    const { child } = this;
    child?.kill("SIGSTOP");
    await new Promise((resolve) => setTimeout(resolve, forMs));
    child?.kill("SIGCONT");
  }

  async end(): Promise<void> {
    this.child?.kill("SIGKILL");
    await this.ended;
  }

  private has(line: string): boolean {
    return this.out.split("\n").includes(line);
  }

  /** Points passed, when nothing was left to do. */
  private get points(): number | undefined {
    const [, points] = new RegExp(`^${IDLE} (\\d+)$`, "m").exec(this.out) ?? [];
    return points === undefined ? undefined : Number(points);
  }

  /** Waits until something is so, or the process has ended. */
  private until(isSo: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.heard = () => {
        if (isSo() || this.child === undefined) resolve();
      };
      this.heard();
    });
  }
}
