// Replays the flows of a store over new code, before it is deployed. No step runs, and nothing is written.

import type { PayloadOptions } from "../../host/payload/payloads.js";
import type { Kernel } from "../../process/kernel.js";
import type { Store } from "../../store/index.js";
import type { AnyFlow } from "../definition/define.js";
import { resolved } from "../journal/blobs.js";
import type { Entry } from "../journal/entry.js";
import { flowsIn } from "../journal/rows.js";
import type { FlowRow } from "../journal/tables.js";
import type { Deviation } from "../machine/state.js";
import { dryReplay } from "../runtime/dry-replay.js";
import { DivergenceError } from "../runtime/errors.js";
import { type Definitions, definitionsOf, payloadsOf } from "../runtime/options.js";
import { FLOW_DEFAULTS } from "../runtime/port.js";
import { historyOf } from "../runtime/reading.js";

/** The finding of the replay of a flow. */
export interface CheckedFlow {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  /**
   * `diverged`: the code does something else than was recorded. `unknown`: there is no definition of this name and version.
   * `unreadable`: the journal cannot be read. `threw`: the code throws. `stalled`: the code does not come to the end of the journal.
   */
  readonly problem?: "diverged" | "unknown" | "unreadable" | "threw" | "stalled";
  readonly message?: string;
  /** The recorded ask: kind and key. */
  readonly recorded?: string;
  /** The deviation of the code: it `asks` for something else, `returns`, `throws`, or `waits` for something that is no ask. */
  readonly did?: Deviation;
  /** The ask of the code: kind and key. */
  readonly asked?: string;
  /** File, line and column that asked, threw, or asked last. */
  readonly at?: string;
}

/** The limits of a check. */
export const CHECK_LIMITS: {
  /** Flows that are replayed at the same time. */
  readonly atOnce: number;
  /** How long one replay may take, in milliseconds. */
  readonly replayMs: number;
  /** Rows that are read at a time. */
  readonly page: number;
} = { atOnce: 8, replayMs: 20_000, page: 200 };

const IN_FLIGHT = ["pending", "running", "waiting", "paused", "hospitalized"];

/** The arguments of a check. */
export interface CheckOptions {
  readonly kernel: Kernel;
  readonly store: Store;
  readonly definitions: readonly AnyFlow[];
  readonly payloads?: PayloadOptions;
}

/** Replays every flow in flight. The results come one by one, in no order; as many are in memory as are replayed at once. */
export async function* checkFlows(options: CheckOptions): AsyncGenerator<CheckedFlow, void, undefined> {
  const definitions = definitionsOf(options.definitions);
  const payloads = payloadsOf(options.payloads ?? {}, definitions);
  const running = new Set<Promise<CheckedFlow>>();
  const done: CheckedFlow[] = [];
  for await (const row of inFlight(options.store)) {
    const one: Promise<CheckedFlow> = checkFlow(row, options, definitions, payloads).then((checked) => {
      running.delete(one);
      done.push(checked);
      return checked;
    });
    running.add(one);
    if (running.size >= CHECK_LIMITS.atOnce) await Promise.race(running);
    yield* done.splice(0);
  }
  await Promise.all(running);
  yield* done;
}

async function* inFlight(store: Store): AsyncGenerator<FlowRow, void, undefined> {
  for (const status of IN_FLIGHT)
    yield* flowsIn(store, { index: "status", prefix: [status] }, CHECK_LIMITS.page);
}

async function checkFlow(
  row: FlowRow,
  { kernel, store }: CheckOptions,
  definitions: Definitions,
  payloads: ReturnType<typeof payloadsOf>,
): Promise<CheckedFlow> {
  const { id, name, version } = row;
  const of = { id, name, version };
  const definition = definitions.get(name, version);
  if (definition === undefined) {
    const known = definitions.ids.join(", ") || "none";
    return {
      ...of,
      problem: "unknown",
      message: `the code has no flow ${name} of version ${version}; it has ${known}`,
    };
  }
  let given: { row: FlowRow; history: Entry[] };
  try {
    const history = await historyOf(store, row, CHECK_LIMITS.page);
    const [input = null] = await resolved(store, [row.input]);
    given = { row: { ...row, input }, history };
  } catch (error) {
    return { ...of, problem: "unreadable", message: (error as Error).message };
  }
  const limit = AbortSignal.timeout(CHECK_LIMITS.replayMs);
  const error = await dryReplay({ kernel, definition, payloads, limits: FLOW_DEFAULTS, ...given }, limit);
  if (limit.aborted)
    return {
      ...of,
      problem: "stalled",
      message: `the replay did not end within ${CHECK_LIMITS.replayMs} ms`,
    };
  return error === undefined ? of : { ...of, ...problemOf(error) };
}

function problemOf(error: unknown): Partial<CheckedFlow> {
  const message = error instanceof Error ? error.message : String(error);
  if (!(error instanceof DivergenceError)) {
    const code = (error as { code?: unknown } | undefined)?.code;
    return { problem: code === "ERR_FLOW_PAYLOAD_UNREADABLE" ? "unreadable" : "threw", message };
  }
  const { recorded, asked, at, did } = error;
  return {
    problem: "diverged",
    message,
    did,
    ...(recorded !== undefined && { recorded: `${recorded.kind} ${recorded.key}` }),
    ...(asked !== undefined && { asked: `${asked.kind} ${asked.key}` }),
    ...(at !== undefined && { at }),
  };
}
