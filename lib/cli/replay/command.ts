// `signalbox replay FILE`: shows a kept failure, writes its page, and runs its schedule again. The caller passes the parts of the
// host that the command needs.

import { SignalboxError } from "../../process/errors.js";
import type { ScheduleFailedError } from "../../testing/report/failure.js";
import { type KeptFailure, readFailure } from "../../testing/report/failure-file.js";
import { renderTrace } from "../../testing/report/render.js";
import { renderViewer } from "../../testing/viewer/page.js";
import type { Moments } from "../shell/arguments.js";
import type { Printer } from "../shell/commands.js";
import { lacks, loadModule } from "../shell/module.js";
import { parseReplay, type ReplayArguments, USAGE } from "./usage.js";

/** The surroundings of the command. */
export interface ReplayHost extends Printer, Moments {
  /** The text of a file. @throws Error when there is none */
  read(path: string): string;
  write(path: string, text: string): void;
  /** Loads a module: by path from the working folder, or by URL. */
  load(module: string): Promise<object>;
  /** Runs the schedule of a token. Resolves with its failure; undefined when it passes. */
  replay(scenario: () => unknown, options: object, token: string): Promise<unknown>;
}

/** The exit codes of the command. */
export const EXIT: {
  /** The failure was shown, or its schedule passes now. */
  readonly fine: number;
  /** The schedule still fails in the same way. */
  readonly fails: number;
  /** Wrong arguments, or a file or module that cannot be used. */
  readonly misuse: number;
  /** The schedule fails in another way, or does not fit the scenario any more. */
  readonly differs: number;
} = { fine: 0, fails: 1, misuse: 2, differs: 3 };

/** Runs the command. Returns its exit code. */
export async function replay(args: readonly string[], host: ReplayHost): Promise<number> {
  try {
    const given = parseReplay(args, host);
    if (given === "help") {
      host.print(USAGE);
      return EXIT.fine;
    }
    const failure = readFailure(read(given.file, host));
    if (given.html !== undefined) {
      host.write(given.html, renderViewer(failure.trace));
      host.print(`wrote ${given.html}`);
    }
    return await rerun(failure, given, host);
  } catch (error) {
    host.complain(`signalbox: ${error instanceof Error ? error.message : String(error)}`);
    return EXIT.misuse;
  }
}

function read(file: string, host: ReplayHost): string {
  try {
    return host.read(file);
  } catch (error) {
    throw new Error(`cannot read ${file}: ${(error as Error).message}`);
  }
}

async function rerun(failure: KeptFailure, given: ReplayArguments, host: ReplayHost): Promise<number> {
  const module = given.module ?? failure.source?.module;
  const name = given.export ?? failure.source?.export;
  if (given.show || module === undefined || name === undefined) {
    host.print(`${renderTrace(failure.trace)}\n\nreplay: "${failure.token}"`);
    return EXIT.fine;
  }
  const scenario = await scenarioOf(module, name, host);
  const options = { ...failure.source?.options, name: failure.name };
  const error = await host.replay(scenario, options, failure.token);
  return verdict(failure, error, host);
}

async function scenarioOf(module: string, name: string, host: ReplayHost): Promise<() => unknown> {
  const exports = await loadModule(module, "replay …", (path) => host.load(path));
  const scenario = exports[name];
  if (typeof scenario === "function") return scenario as () => unknown;
  throw lacks(module, `no function ${name}`, exports);
}

/** Says whether the schedule still fails in the same way. */
function verdict({ trace }: KeptFailure, error: unknown, host: ReplayHost): number {
  if (error === undefined) {
    host.print("the schedule passes now");
    return EXIT.fine;
  }
  if (isScheduleFailure(error) && error.trace.failure === trace.failure) {
    host.print(`${renderTrace(error.trace)}\n\nthe schedule still fails in the same way`);
    return EXIT.fails;
  }
  const now = isScheduleFailure(error) ? renderTrace(error.trace) : String(error);
  host.print(`${now}\n\nthe schedule does not fail as it did: ${trace.failure}`);
  return EXIT.differs;
}

/** Not by class: this module does not load the simulator. */
function isScheduleFailure(error: unknown): error is ScheduleFailedError {
  return error instanceof SignalboxError && error.name === "ScheduleFailedError";
}
