// How the code of a flow runs, from its input to an ending: it gets one outcome at a time, and the process learns when it has gone on as far
// as it can. A failure on the way ends the process, and the host and its hospital decide about it.

import { placeOf } from "../../process/own-code.js";
import { isError, stackOf } from "../../process/show.js";
import { isThenable } from "../../process/thenable.js";
import { kindOf, type SymptomKind } from "../hospital/symptom.js";
import type { Ask, Stored } from "../journal/entry.js";
import type { Ending, FlowEffect } from "../machine/state.js";
import { noteOf } from "./checkpoint.js";
import { DivergenceError, FlowCancelledError, FlowContextError } from "./errors.js";
import { beating, readable } from "./flow-attempts.js";
import type { Call } from "./flow-call.js";
import { ContinueAsNew, FlowCode } from "./flow-code.js";
import type { FlowLife } from "./flow-life.js";

/** Runs the code, from the input to the end. */
export async function runCode(life: FlowLife): Promise<void> {
  const { payloads } = life.port;
  let given: unknown;
  try {
    if (life.row.heartbeats !== null) await beating(life).restore(life.row.heartbeats);
    const input = payloads.decode(life.row.input);
    given = isThenable(input) ? await input : input;
  } catch (error) {
    return life.fail(error, "payload");
  }
  let ending: Ending | undefined;
  try {
    const body = (): unknown => life.definition.body(new FlowCode(life) as never, given as never);
    const { around } = life.port;
    const value = life.subject.run(around === undefined ? body : () => around(body));
    life.port.drain(life);
    ending = await endingOf(life, "completed", await value, "result");
  } catch (thrown) {
    // The next input of a flow that starts anew may be one that cannot be stored.
    if (life.ctx.alive)
      ending = await endOf(life, readable(thrown)).catch((error: unknown) => endOf(life, error));
  }
  if (ending === undefined) return;
  if (life.isCancelled) await cancelChildren(life);
  if (life.ctx.alive) life.event({ type: "returned", ending });
}

/** Cancels the children that it had when it was cancelled. All asks of the journal have been made by then. */
export async function cancelChildren(life: FlowLife): Promise<void> {
  if (life.isDry) return;
  life.children ??= life.port.cancelChildren(life.row.number, (key) => life.spared.has(key));
  try {
    await life.children;
  } catch (error) {
    if (life.ctx.alive) life.refused(error as Error);
  }
}

async function endOf(life: FlowLife, error: unknown): Promise<Ending | undefined> {
  if (!(error instanceof ContinueAsNew)) {
    life.thrown = error;
    life.event({ type: "threw" });
    if (!life.ctx.alive) return undefined;
  } else {
    const again = await life.port.payloads.encode(
      error.input,
      `the next input of flow ${life.flowId}`,
      "input",
    );
    return { status: "completed", value: null, again };
  }
  if (error instanceof FlowCancelledError && life.state.cancelled)
    return endingOf(life, "cancelled", error, "error");
  const kind = kindOfThrown(life, error);
  if (!life.port.isForHospital(life.row, error, life.suspension, kind))
    return endingOf(life, "failed", error, "error");
  life.fail(error, kind);
  return undefined;
}

/** The ending of a flow with this status. */
async function endingOf(
  life: FlowLife,
  status: Ending["status"],
  value: unknown,
  what: string,
): Promise<Ending> {
  const { payloads } = life.port;
  const stored = await (status === "completed" || value === undefined
    ? payloads.encode(value, `the ${what} of flow ${life.flowId}`, "result")
    : payloads.encodeThrown(value));
  if (life.row.parent === null) return { status, value: stored };
  const note = await noteOf(payloads, status, stored, `the ${what} of flow ${life.flowId}`);
  return { status, value: stored, note };
}

/** The end is durable. */
export function hasEnded(life: FlowLife, ending: Ending): undefined {
  // A flow that starts anew goes on.
  if (ending.again === undefined) {
    life.ending = ending;
    const { name, created } = life.row;
    life.port.kernel.taps?.flowEnded(name, life.flowId, ending.status, life.writtenAt - created);
  }
  return life.end();
}

/** Ends the flow without its code. */
export async function kill(life: FlowLife): Promise<void> {
  const { note } = await endingOf(life, "killed", undefined, "end");
  if (life.ctx.alive) life.event({ type: "kill", ...(note === undefined ? {} : { note }) });
}

/** The code took another way than the one recorded. */
export function diverged(
  life: FlowLife,
  { last, ...found }: FlowEffect & { readonly type: "diverged" },
): void {
  const { did } = found;
  const shown = did === "asks" ? new FlowContextError("here") : did === "throws" ? life.thrown : undefined;
  const fail = (asked?: Error): void => {
    const error = new DivergenceError(life.flowId, life.row.name, {
      ...found,
      at: placeIn(shown),
      last: last && { ...last, at: placeIn(asked) },
      thrown: life.thrown,
      waitedMs: life.port.limits.stallMs,
    });
    if (life.ctx.alive) life.fail(error);
  };
  if (last === undefined || did === "asks" || did === "throws") fail();
  else void seek(life, last).then(fail, () => fail());
}

/**
 * Runs the code once more, up to an ask, and gives an error that is made there: to keep one for each ask of a replay is dear, and few flows
 * diverge. Undefined: the code did not come there, the flow was stopped or killed meanwhile, or the time was up.
 */
async function seek(life: FlowLife, ask: Ask): Promise<Error | undefined> {
  const { port, ctx, definition, row, state, subject } = life;
  if (port.replayTo === undefined) return undefined;
  const search = new AbortController();
  life.search = search;
  const abort = (): void => search.abort();
  life.after(port.limits.stallMs, abort);
  port.kernel.links.watch(ctx.self, abort, abort);
  return port.replayTo({ definition, row, history: state.history, subject }, ask, search.signal);
}

/** An error out of the journal is the same in each run, so a retry would not help. */
function kindOfThrown(life: FlowLife, error: unknown): SymptomKind | undefined {
  if (typeof error !== "object" || error === null || !life.recorded.has(error)) return undefined;
  const kind = kindOf(error);
  return kind === "requested" || kind === "final" ? kind : "code";
}

/** Where an error was made, in code outside of libraries. */
function placeIn(error: unknown): string | undefined {
  const stack = isError(error) ? stackOf(error) : undefined;
  return placeOf(stack ?? "")?.replace(/^file:\/\//, "");
}

/** Decodes an outcome and resumes the code that waits for it. */
export function deliver(life: FlowLife, key: string, ok: boolean, value: Stored, at: number): void {
  const call = life.calls.get(key) as Call;
  life.calls.delete(key);
  life.at = at;
  life.seen = key;
  let decoded: unknown;
  try {
    decoded = life.port.payloads.decode(value);
  } catch (error) {
    life.fail(error, "payload");
    return;
  }
  if (isThenable(decoded))
    decoded.then(
      (plain: unknown) => resume(life, call, ok, plain),
      (error: unknown) => life.fail(error, "payload"),
    );
  else resume(life, call, ok, decoded);
}

function rejectWith(life: FlowLife, call: Call, error: unknown): void {
  if (typeof error === "object" && error !== null) life.recorded.add(error);
  call.reject?.(error);
}

function resume(life: FlowLife, call: Call, ok: boolean, value: unknown): void {
  life.port.kernel.scheduler.resume({
    owner: life.ctx.self.process,
    resume: () => {
      if (!ok) rejectWith(life, call, value);
      else if (call.finish === undefined) call.resolve?.(value as never);
      else
        try {
          call.resolve?.(call.finish(value) as never);
        } catch (error) {
          call.reject?.(error);
        }
      drainAfter(life, [call]);
    },
  });
}

/** Asks for `drained` when the code has gone on after these calls. A simulated one goes on in a step of its own. */
function drainAfter(life: FlowLife, calls: readonly (Call | undefined)[]): void {
  if (life.port.kernel.interception === undefined) life.port.drain(life);
  else void Promise.allSettled(calls.map((call) => call?.going)).then(() => life.port.drain(life));
}

/** Notifies the code of a cancellation: these asks are rejected. */
export function rejectAll(life: FlowLife, keys: readonly string[], at: number): void {
  life.at = at;
  const error = new FlowCancelledError(life.flowId);
  life.port.kernel.scheduler.resume({
    owner: life.ctx.self.process,
    resume: () => {
      life.isCancelled = true;
      if (life.state.caughtUp) void cancelChildren(life);
      const calls = keys.map((key) => life.calls.get(key));
      for (const key of keys) life.calls.delete(key);
      for (const call of calls) {
        call?.running?.abort(error);
        call?.tap?.ended("aborted");
        call?.reject?.(error);
      }
      life.cancelling.abort(error);
      drainAfter(life, calls);
    },
  });
}
