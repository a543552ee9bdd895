// A kept failure: the file that a failing schedule leaves behind, and that `npx signalbox replay` reads.

import { SignalboxError } from "../../process/errors.js";
import { show } from "../../process/show.js";
import type { Trace } from "./trace.js";

/** Where a scenario is, so that a command can run it again. */
export interface ScenarioSource {
  /** The module: the `import.meta.url` of the file that exports the scenario. */
  readonly module: string;
  /** Name of the export. */
  readonly export: string;
}

/** A failing schedule, as a file holds it. */
export interface KeptFailure {
  /** Name of the exploration. */
  readonly name: string;
  /** Replays the schedule. */
  readonly token: string;
  /** The steps of the schedule, and its failure. */
  readonly trace: Trace;
  /** Where the scenario is, with the options of its exploration; undefined if the exploration did not say. */
  readonly source?: ScenarioSource & { readonly options: object };
}

/** Marks the files, and tells later formats from this one. */
const FORMAT = "signalbox failure";
const VERSION = 1;

/**
 * A file is not a failure that this version of signalbox can read.
 *
 * @remedy Pass the `.json` file that `explore` wrote beside the page of its option `viewer`, and the signalbox that wrote it.
 */
export class FailureFileError extends SignalboxError {
  static override readonly name: string = "FailureFileError";
  readonly code = "ERR_SIM_FILE";
  constructor(problem: string) {
    super(`this is not a failure that signalbox has kept: ${problem}`);
  }
}

export function writeFailure(failure: KeptFailure): string {
  return `${JSON.stringify({ format: FORMAT, version: VERSION, ...failure })}\n`;
}

/** @throws FailureFileError */
export function readFailure(text: string): KeptFailure {
  const file = objectIn(parsed(text), "it holds no object");
  if (file.format !== FORMAT)
    throw new FailureFileError(
      `its format is ${show(file.format)} and not ${show(FORMAT)}; pass the .json file, not the page`,
    );
  const { version, name, token, source } = file;
  if (version !== VERSION)
    throw new FailureFileError(
      `its version is ${show(version)}, this signalbox reads version ${VERSION}; use the signalbox that wrote it`,
    );
  if (typeof name !== "string" || typeof token !== "string")
    throw new FailureFileError("its name or its token is missing");
  const failure = { name, token, trace: traceIn(file.trace) };
  return source === undefined ? failure : { ...failure, source: sourceIn(source) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new FailureFileError(`it is no JSON (${(error as Error).message})`);
  }
}

function objectIn(value: unknown, problem: string): { readonly [key: string]: unknown } {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new FailureFileError(problem);
  return value as { readonly [key: string]: unknown };
}

function sourceIn(value: unknown): ScenarioSource & { readonly options: object } {
  const source = objectIn(value, "its source is no object");
  const { module, export: name } = source;
  if (typeof module !== "string" || typeof name !== "string")
    throw new FailureFileError("its source names no module and export");
  return { module, export: name, options: objectIn(source.options, "its source has no options") };
}

const STEPS = new Set(["run", "resume", "deliver", "effect", "timer", "fault"]);

function traceIn(value: unknown): Trace {
  const { steps, failure } = objectIn(value, "it holds no trace");
  if (!Array.isArray(steps) || (failure !== undefined && typeof failure !== "string"))
    throw new FailureFileError("its trace has no steps");
  for (const [index, one] of steps.entries()) {
    const step = objectIn(one, `step ${index + 1} of its trace is damaged`);
    const { type, process, effects, number, at } = step;
    const whole = typeof process === "string" && Array.isArray(effects);
    if (!whole || typeof number !== "number" || typeof at !== "number" || !STEPS.has(String(type)))
      throw new FailureFileError(`step ${index + 1} of its trace is damaged`);
  }
  return { steps, failure };
}
