// Dry replays: the code of a flow runs over a journal up to its end. No step runs, nothing is written, no time passes.
// For the read-back check of `verify`, and for checking stored flows against new code before it is deployed.

import { NOBODY } from "../../host/index.js";
import { InvariantError } from "../../process/errors.js";
import { waitForExit } from "../../process/exited.js";
import type { Kernel } from "../../process/kernel.js";
import { KILL } from "../../process/reason.js";
import type { FlowDefinition } from "../definition/define.js";
import type { Entry } from "../journal/entry.js";
import type { FlowRow } from "../journal/tables.js";
import { DISTURBANCES, type Disturbance, disturbed, withDisturbances } from "./disturbance.js";
import { FlowProcess } from "./flow-process.js";
import type { FlowLimits, FlowPort, Payloads } from "./port.js";

/** What a dry replay needs. */
export interface DryReplay {
  readonly kernel: Kernel;
  readonly definition: FlowDefinition<never>;
  readonly row: FlowRow;
  readonly history: readonly Entry[];
  readonly payloads: Payloads;
  readonly limits: FlowLimits;
  /** What is different for the code. Absent: nothing. */
  readonly disturbance?: Disturbance;
}

/**
 * Replays a journal with other clocks and random numbers. Gives the first error.
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
  const reason = await waitForExit(kernel, pid, undefined);
  signal?.removeEventListener("abort", kill);
  return reason.type === "crash" ? reason.error : undefined;
}

function dryPort({ kernel, definition, payloads, limits, disturbance }: DryReplay): FlowPort {
  const never = (): never => {
    throw new InvariantError("a dry replay has no effects");
  };
  return {
    kernel,
    payloads,
    limits,
    interceptors: [],
    ...(disturbance !== undefined && {
      around: (code: () => unknown) => disturbed(disturbance, () => kernel.env.random(), code),
    }),
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
    drain: (flow) => {
      if (kernel.scheduler.drained === undefined) flow.drained();
      else kernel.scheduler.drained(() => flow.drained());
    },
    definition: () => definition,
    begin: () => NOBODY,
    isForHospital: () => false,
    childOf: never,
    cancelChildren: never,
    answererOf: never,
    mailTo: never,
    wishFor: never,
    park: never,
    caughtUp: () => undefined,
    idle: () => undefined,
  };
}
