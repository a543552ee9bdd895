// The record of a kill test: a file that outlives the processes that append to it.

import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import type { Deed } from "../../flow/programs/record.js";

/** Appends to a record. Several processes may do so at once. */
export class Recorder {
  readonly #file: number;

  constructor(path: string) {
    this.#file = openSync(path, "a");
  }

  /** One write, so that a kill cannot tear it, then a sync. */
  add(deed: Deed): void {
    writeSync(this.#file, `${JSON.stringify(deed)}\n`);
    fsyncSync(this.#file);
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** Everything in a record, in its order. */
export function readDeeds(path: string): Deed[] {
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Deed);
}
