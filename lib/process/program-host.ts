// Where programs are started elsewhere: in threads, or on the nodes of a cluster. Floors below those have work done there by it.

import { OptionError } from "./errors.js";
import type { Pid } from "./pid.js";
import type { Startable } from "./start.js";

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
