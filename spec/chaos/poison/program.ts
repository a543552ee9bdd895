// The program with a bad flow or message, for the tests of one file.

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { type Child, type ChildProgram, childProgram } from "../../support/child-program.js";
import { POISON_FLAGS } from "./deeds.js";

export interface PoisonProgram {
  /** For the files of a test. Each test finds it empty: servers have the same name, and their flows and messages the same ids. */
  readonly folder: string;
  start(...args: readonly string[]): Child;
}

/** Compiles the program before the tests, and removes it after them. @param child - its source */
export function poisonProgram(child: URL): PoisonProgram {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-poison-"));
  let program: ChildProgram;
  beforeAll(async () => {
    // Evidence of hosts on a server is among the temporary files.
    program = await childProgram(child, POISON_FLAGS, { TMPDIR: folder });
  });
  beforeEach(() => {
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
  });
  afterAll(() => {
    program.remove();
    rmSync(folder, { recursive: true });
  });
  return { folder, start: (...args) => program.start(...args) };
}
