// A program that does the first part of a piece of work and is killed: what follows is recovery.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { NODE_FLAGS } from "./measure.js";

/** What a program prints on standard output when it is to be killed. */
export const READY = "ready\n";

/**
 * Runs a program of Node until it prints `ready`, then kills it with SIGKILL. Gives what it printed before.
 *
 * @throws Error when it ends before that, with what it wrote to standard error
 */
export async function runAndKill(args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [...NODE_FLAGS, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const closed = once(child, "close");
  const out = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => {
    out.stdout += chunk.toString();
    if (out.stdout.includes(READY)) child.kill("SIGKILL");
  });
  child.stderr.on("data", (chunk: Buffer) => {
    out.stderr += chunk.toString();
  });
  await closed;
  if (!out.stdout.includes(READY))
    throw new Error(`it ended before it was ready:\n${out.stdout}${out.stderr}`);
  return out.stdout.slice(0, out.stdout.indexOf(READY));
}
