// Runs a program in a Node process of its own.

import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Figures } from "./program.js";

/** The one line of tuning of the Node side: room for young objects. The same for every library. */
export const NODE_FLAGS: readonly string[] = [
  "--expose-gc",
  "--min-semi-space-size=64",
  "--max-semi-space-size=128",
];

/** The compiled benchmarks that belong to this file. */
export const HERE: URL = new URL(".", import.meta.url);

/** A program that takes longer than this waits for something that will not come. */
const LONGEST_MS = 600_000;

/**
 * Gives the figures of each round.
 *
 * @param bench - folder of the compiled benchmarks: the library that these find is the one that is measured
 * @param side - file of the programs in there, without its ending
 * @throws Error when the program fails, with what it wrote to standard error
 */
export function measure(bench: URL, side: string, name: string, rounds: number): Figures[] {
  const child = fileURLToPath(new URL("child.js", bench));
  const programs = new URL(`${side}.js`, bench).href;
  const output = execFileSync(process.execPath, [...NODE_FLAGS, child, programs, name, String(rounds)], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    timeout: LONGEST_MS,
  });
  return JSON.parse(output) as Figures[];
}
