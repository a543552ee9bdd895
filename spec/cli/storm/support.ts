// The command `signalbox storm` as a terminal has it, with what it prints kept, and files for it.

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { unzipSync } from "fflate";
import { onTestFinished } from "vitest";
import { folders } from "../../../lib/cli/shell/folders.js";
import { temporaryFolder } from "../../../lib/cli/shell/host.js";
import { printingAside } from "../../../lib/cli/shell/output.js";
import { spawned } from "../../../lib/cli/shell/spawned.js";
import type { StormHost } from "../../../lib/cli/storm/context.js";
import { packages } from "../../../lib/cli/storm/program.js";
import { storm } from "../../../lib/cli/storm/storm.js";
import { type Ran, ran } from "../support/ran.js";

const lib = fileURLToPath(new URL("../../../lib/", import.meta.url));

/** The modules of this repository, as a package that is installed beside the command. */
export function ownModule(name: string): string {
  const folders: Readonly<Record<string, string>> = { nodes: "node", storm: "topology/storm" };
  const room = name.replace(/^signalbox\/?/, "");
  return join(lib, folders[room] ?? room, "index.ts");
}

/** A folder that is gone after the test, with these files. */
export function folderWith(contents: Readonly<Record<string, string>> = {}): (...names: string[]) => string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "storm-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(contents)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return (...names) => join(folder, ...names);
}

/** @param host - what differs from this program's own terminal */
export function runStorm(args: readonly string[], host: Partial<StormHost> = {}): Promise<Ran> {
  return ran<StormHost>(storm, args, () => ({
    ...packages,
    folders: { ...folders, ownModule },
    temporaryFolder,
    spawned,
    printingAside,
    ...host,
  }));
}

/** The files of a jar, as texts. */
export function jarTexts(bytes: Uint8Array): Record<string, string> {
  const files = Object.entries(unzipSync(bytes));
  return Object.fromEntries(files.map(([name, content]) => [name, new TextDecoder().decode(content)]));
}

/** Writes the files of a jar below `resources/` into a folder, as Storm does: as plain files. */
export function unpack(bytes: Uint8Array): string {
  const at = folderWith();
  for (const [name, content] of Object.entries(unzipSync(bytes))) {
    if (!name.startsWith("resources/")) continue;
    mkdirSync(dirname(at(name)), { recursive: true });
    writeFileSync(at(name), content);
  }
  return at("resources");
}

/** Runs a program to its end. */
export const execute: (
  program: string,
  args: readonly string[],
  options?: { readonly cwd?: string },
) => Promise<{ readonly stdout: string; readonly stderr: string }> = promisify(execFile);

/** A topology of a spout and a bolt, in TypeScript over two files. */
export const LINES: Readonly<Record<string, string>> = {
  "src/topology.ts": `import { bolt, grouping, spoutFrom, topology } from "signalbox/topology";
import { fields, type Line } from "./fields.js";
const all: Line[] = [{ text: "to be or not to be" }, { text: "that is" }];
const print = bolt({ input: fields, execute: ({ values }) => console.log(values.text) });
export const lines = topology("lines")
  .spout("lines", spoutFrom(all, { fields }))
  .bolt("print", print, { tasks: 2, from: { "lines.items": grouping.shuffle() } })
  .build();
`,
  "src/fields.ts": `import { field } from "signalbox/topology";
export interface Line { readonly text: string }
export const fields = { text: field.text };
`,
};
