// Errors of files.

import { SignalboxError } from "../../process/errors.js";
import { type Fault, faultText } from "../definition/fault.js";

/** A fault with its place in a file. */
export interface FileFault extends Fault {
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units. */
  readonly column: number;
}

/**
 * A file does not define a pipeline. The error lists all faults, each with line, column and path, what was found there and what is
 * allowed. Values of the environment do not appear in it.
 *
 * @remedy Correct every entry of `faults`; faults of syntax hide those behind them. An editor that knows `jsonSchemaOf(registry)` shows
 * most of them while you type.
 */
export class PipelineFileError extends SignalboxError {
  static override readonly name: string = "PipelineFileError";
  readonly code = "ERR_PIPELINE_FILE";
  /** The name of the file, as it was given. */
  readonly file: string;
  /** All faults, at least one, in the order of the lines. */
  readonly faults: readonly FileFault[];
  constructor(file: string, faults: readonly FileFault[]) {
    const lines = faults.map((fault) => `${file}:${fault.line}:${fault.column} ${faultText(fault)}`);
    super(`${file} defines no pipeline:\n${lines.join("\n")}`);
    this.file = file;
    this.faults = faults;
  }
}
