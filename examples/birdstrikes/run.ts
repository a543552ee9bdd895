// One run: the process of the pipeline, killed and started again until it has ended by itself.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { mulberry32 } from "../flights/chaos.js";
import type { Show, View } from "./screen.js";

export interface RunOptions {
  /** What Node is given to run the service. */
  readonly service: readonly string[];
  readonly folder: string;
  readonly airports: string;
  /** Lines of the input. */
  readonly lines: number;
  readonly kills: number;
  readonly seed: number;
  /** Calls of adapters of which a run has at least so many: all kills fall before them. */
  readonly calls: number;
  readonly show: Show;
}

/** @returns how often the process was killed. @throws Error when it ends in another way */
export async function run(options: RunOptions): Promise<number> {
  const { kills, seed, calls } = options;
  const lives: (number | undefined)[] = [...killsAt(kills, seed, calls), undefined];
  let view: View = { lines: options.lines, progress: undefined, killed: 0, kills };
  let shownAt = Number.NEGATIVE_INFINITY;
  const show = (change: Partial<View>, isNow = false): void => {
    view = { ...view, ...change };
    if (!isNow && performance.now() - shownAt < options.show.everyMs) return;
    shownAt = performance.now();
    options.show.show(view);
  };
  for (const life of lives) {
    await live(options, life, (progress) => show({ progress }));
    if (life !== undefined) show({ killed: view.killed + 1 }, true);
  }
  show({}, true);
  return view.killed;
}

/** After how many calls each process is killed, one at least: together no more than a run without kills has. */
export function killsAt(kills: number, seed: number, calls: number): number[] {
  const random = mulberry32(seed);
  const places = Array.from({ length: kills }, () => 0.05 + random() * 0.9).sort((a, b) => a - b);
  return places.map((place, i) => 1 + Math.floor((place - (places[i - 1] ?? 0)) * (calls - kills)));
}

/** One life of the process. Ends by SIGKILL if it has so many calls; else by itself. */
async function live(
  { service, folder, airports }: RunOptions,
  calls: number | undefined,
  said: (progress: View["progress"]) => void,
): Promise<void> {
  const args = [...service, folder, airports, ...(calls === undefined ? [] : [String(calls)])];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "pipe"] });
  // However this program ends, the process does not outlive it.
  const kill = (): void => void child.kill("SIGKILL");
  process.once("exit", kill);
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => {
    errors += chunk.toString();
  });
  // A kill may tear the last line.
  createInterface(child.stdout).on("line", (line) => line.endsWith("}") && said(JSON.parse(line)));
  const how = await new Promise<number | string | null>((resolve) => {
    child.on("close", (code, signal) => resolve(code ?? signal));
  });
  process.off("exit", kill);
  if (how !== (calls === undefined ? 0 : "SIGKILL"))
    throw new Error(`the process of the pipeline ended with ${how}\n${errors}`);
}
