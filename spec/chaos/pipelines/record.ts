// The record of a kill test: a file that outlives the processes that append to it.

import { closeSync, openSync, readFileSync, writeSync } from "node:fs";

/** What a process has done. */
export type Deed =
  /** An output, under the id of its message: the same output may be there again, after a kill. */
  | {
      readonly type: "output";
      readonly id: string;
      readonly kind: "batch" | "audit";
      /** Number of input and part. */
      readonly members: readonly (readonly [n: number, p: number])[];
    }
  /** The execution has completed, as a host has seen it. */
  | {
      readonly type: "completed";
      readonly host: string;
      readonly ended: number | undefined;
      readonly inputs: number;
      readonly done: number;
      readonly dead: number;
    };

/** Appends to a record. Several processes may do so at once. */
export class Recorder implements Disposable {
  readonly #file: number;

  constructor(path: string) {
    this.#file = openSync(path, "a");
  }

  /** One write, so that a kill cannot tear it. It survives the process, not a loss of power. */
  add(deed: Deed): void {
    writeSync(this.#file, `${JSON.stringify(deed)}\n`);
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }
}

/** Everything in a record, in its order. */
export function readRecord(path: string): Deed[] {
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Deed);
}
