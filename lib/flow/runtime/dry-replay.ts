// Dry replays: the code of a flow runs over a journal up to its end. No step runs, nothing is written, no time passes.
// For the read-back check of `verify`, and for checking stored flows against new code before it is deployed.

import { NOBODY, type Subject } from "../../host/index.js";
import type { Values } from "../../host/payload/values.js";
import { InvariantError } from "../../process/errors.js";
import { waitForExit } from "../../process/exited.js";
import type { Kernel } from "../../process/kernel.js";
import { KILL } from "../../process/reason.js";
import type { FlowDefinition } from "../definition/define.js";
import type { Ask, Entry } from "../journal/entry.js";
import type { FlowRow } from "../journal/tables.js";
import { DISTURBANCES, type Disturbance, Disturbed, withDisturbances } from "./disturbance.js";
import { FlowProcess } from "./flow-process.js";
import type { FlowLimits, FlowPort, Sought } from "./port.js";
import type { ReplayTimers } from "./replay-timers.js";

/** A dry replay: the code, its journal, and the surroundings. */
export interface DryReplay {
  readonly kernel: Kernel;
  readonly definition: FlowDefinition<never>;
  readonly row: FlowRow;
  readonly history: readonly Entry[];
  readonly payloads: Values;
  readonly limits: FlowLimits;
  /** Differences for the code. Absent: none. */
  readonly disturbance?: Disturbance;
  /** The subject in whose name the code runs. Default: none. */
  readonly subject?: Subject;
  /** The replay ends at this ask, if its code makes it. */
  readonly sought?: Sought;
}

/**
 * Replays a journal with other clocks, random numbers and orders. Gives the first error.
 *
 * @param time - how many replays of the flow were before: one kind of replay after the other. Undefined: all kinds
 */
export function verifyingReplay(given: DryReplay, time: number | undefined): Promise<unknown> {
  const from = time === undefined ? 0 : time % DISTURBANCES.length;
  const chosen = DISTURBANCES.slice(from, time === undefined ? undefined : from + 1);
  return withDisturbances(async () => {
    for (const disturbance of chosen) {
      const error = await dryReplay({ ...given, disturbance });
      if (error !== undefined) return error;
    }
    return undefined;
  });
}

/**
 * Runs the code over the journal. Gives the error at which it stopped: a DivergenceError, one of the codec, or what the code threw;
 * undefined when the code took the recorded way to the journal's end.
 */
export async function dryReplay(given: DryReplay, signal?: AbortSignal): Promise<unknown> {
  const { kernel, definition, row, history } = given;
  if (history.length === 0) return undefined;
  const flow = new FlowProcess(dryPort(given), { ...row, wish: null }, definition, history, [], true);
  const { pid } = kernel.spawn(flow, undefined, { label: `replay of flow ${row.id}` });
  kernel.taps?.internal(pid, `replay of flow ${row.name}`);
  const kill = (): void => kernel.links.exit(kernel.outside, pid, KILL, "exit");
  signal?.addEventListener("abort", kill);
  if (signal?.aborted === true) kill();
  const reason = await waitForExit(kernel, pid, undefined);
  signal?.removeEventListener("abort", kill);
  return reason.type === "crash" ? reason.error : undefined;
}

/** Replays a journal up to an ask. Gives an error that was made there; undefined: the code did not make the ask. */
export async function replayTo(given: DryReplay, ask: Ask, signal: AbortSignal): Promise<Error | undefined> {
  let here: Error | undefined;
  const sought: Sought = {
    ask,
    found: (error) => {
      here = error;
    },
  };
  await dryReplay({ ...given, sought }, signal);
  return here;
}

function dryPort(given: DryReplay): FlowPort {
  const { kernel, payloads, limits, disturbance, subject = NOBODY, sought } = given;
  const never = (): never => {
    throw new InvariantError("a dry replay has no effects");
  };
  const by = disturbance && new Disturbed(disturbance, kernel.env);
  return {
    kernel,
    payloads,
    limits,
    interceptors: [],
    ...(sought === undefined
      ? { replayTo: (flow, ask, signal) => replayTo({ ...given, ...flow }, ask, signal) }
      : { sought }),
    around: (code: () => unknown) => subject.run(by === undefined ? code : () => by.run(code)),
    get store(): never {
      return never();
    },
    get blobs(): never {
      return never();
    },
    get claim(): never {
      return never();
    },
    now: () => Math.floor(kernel.env.wallTime()),
    drain: drainOf(kernel, by?.timers),
    begin: () => NOBODY,
    isForHospital: () => false,
    childOf: never,
    cancelChildren: never,
    answererOf: never,
    mailTo: never,
    control: never,
    park: never,
    caughtUp: () => undefined,
    idle: () => undefined,
  };
}

/** Notifies a replay that its code has run as far as it can: a late replay when all timers of its code have fired. */
function drainOf({ scheduler }: Kernel, timers: ReplayTimers | undefined): FlowPort["drain"] {
  const rested = (then: () => void): void => {
    if (scheduler.drained === undefined) then();
    else scheduler.drained(then);
  };
  const drain = (flow: { drained(): void }): void =>
    rested(() => {
      if (timers?.fire() === true) return drain(flow);
      timers?.rested();
      flow.drained();
    });
  return drain;
}
