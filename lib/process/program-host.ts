// Where programs are started elsewhere: in threads, or on the nodes of a cluster. Floors below those have work done there by it.

import { OptionError } from "./errors.js";
import { callable, text, withMethod } from "./options.js";
import type { Pid } from "./pid.js";
import { launch, type Startable } from "./start.js";

/** Starts programs elsewhere, by name: the result of `threads`, or of `joinCluster`. */
export interface ProgramHost {
  /** The start of a program there. The process that it starts here stands for the one there. */
  on(program: string, args?: readonly unknown[]): Startable<readonly [], Pid<unknown>>;
}

/** @throws OptionError */
export function programHost(path: string, value: unknown): ProgramHost {
  if (typeof (value as Partial<ProgramHost> | undefined)?.on === "function") return value as ProgramHost;
  throw new OptionError(path, value, "what starts programs, such as the result of threads()");
}

/** Key of the types of a job. It has no value. */
declare const signature: unique symbol;

/** A function as a program, made by `job`: `Args` are its arguments, and `Result` is what it gives. */
export interface Job<Args extends readonly unknown[] = never, out Result = unknown>
  extends Startable<never, unknown> {
  /** In types only. */
  readonly [signature]?: (...args: Args) => Result;
}

/** Runs jobs elsewhere, by name: the result of `threads`, or of `joinCluster`. */
export interface JobHost {
  /** Runs a job there. Gives its result, or throws what its function throws. */
  run(
    program: string,
    args?: readonly unknown[],
    options?: {
      /** Ends the job. */
      readonly signal?: AbortSignal;
      /** The job may run twice. */
      readonly repeatable?: boolean;
    },
  ): Promise<unknown>;
}

/** Where the job of a step runs. */
export interface JobPlace {
  /** Where the job runs: the result of `threads`, or of `joinCluster`. The module there has the job among its programs. */
  readonly on: JobHost;
  /** The name of the job among the programs there. Default: the name of the step. */
  readonly program?: string;
}

/** The options of a step that is a job, beside its others. */
export const JOB_PLACE: readonly (keyof JobPlace)[] = ["on", "program"];

/** Runs a job for one attempt. */
type PlacedJob = (args: readonly unknown[], attempt: { readonly signal: AbortSignal }) => Promise<unknown>;

/**
 * The job of a step. A step may run twice, so a job that is lost by the fault of another one runs again within the same attempt.
 *
 * @param step - the step, for errors
 * @param body - what runs in the step, a function or a job
 * @param place - the options that say where it runs
 * @returns undefined for a function, which runs here
 * @throws OptionError
 */
export function placedJob(
  step: string,
  name: string,
  body: unknown,
  place: Partial<JobPlace> | undefined,
): PlacedJob | undefined {
  const isJob = typeof body === "object" && body !== null && launch in body;
  if (place?.on === undefined && place?.program === undefined) {
    if (isJob)
      throw new OptionError(
        "on",
        place?.on,
        `where the job of ${step} runs, such as the result of threads()`,
      );
    callable(step, body as () => unknown);
    return undefined;
  }
  if (!isJob)
    throw new OptionError(step, body, "a job() where `on` says where it runs: a function cannot travel");
  const host = withMethod("on", place.on, "run", "what runs jobs, such as the result of threads()");
  const program = text("program", place.program ?? name);
  return (args, { signal }) => host.run(program, args, { signal, repeatable: true });
}
