// Copies of the library as programs of their own load them, and Node programs that use them.

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { rolldown } from "rolldown";

/** What a program printed and how it ended. */
export interface Run {
  readonly stdout: string;
  /** With the process id taken out. */
  readonly stderr: string;
  readonly code: number;
}

/** Bundles an entry of the library once and gives `count` URLs of it: modules that share nothing but the host. */
export async function copies(
  count: number,
  entry: string = "index.ts",
): Promise<{ readonly urls: string[]; remove(): void }> {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-copies-"));
  const bundle = await rolldown({
    input: fileURLToPath(new URL(`../../lib/${entry}`, import.meta.url)),
    platform: "node",
    logLevel: "silent",
  });
  const { output } = await bundle.generate({ format: "esm", codeSplitting: false });
  await bundle.close();
  const urls = Array.from({ length: count }, (_, n) => {
    const file = join(folder, `copy-${n}`, "signalbox.mjs");
    mkdirSync(join(folder, `copy-${n}`));
    writeFileSync(file, output[0].code);
    return pathToFileURL(file).href;
  });
  return { urls, remove: () => rmSync(folder, { recursive: true }) };
}

/** Runs a program of `spec/support/programs` to its end. */
export function runProgram(name: string, flags: readonly string[], args: readonly string[]): Promise<Run> {
  const file = fileURLToPath(new URL(`programs/${name}`, import.meta.url));
  const env = { ...process.env, NO_COLOR: "1", FORCE_COLOR: "0", NODE_OPTIONS: "" };
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [...flags, file, ...args], { env }, (_error, stdout, stderr) => {
      const text = stderr.replaceAll(`(node:${child.pid})`, "(node)");
      resolve({ stdout, stderr: text, code: child.exitCode ?? -1 });
    });
  });
}
