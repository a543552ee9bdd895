// How the bodies of steps and transactions run: each attempt tells the machine what came of it, and whether another one is due.

import { type HeartbeatPort, Heartbeats } from "../../host/background/heartbeats.js";
import { isHostOver } from "../../host/index.js";
import { after } from "../../host/payload/codec.js";
import { orAborted } from "../../process/or-aborted.js";
import type { Process } from "../../process/process.js";
import type { WorkTap } from "../../process/taps.js";
import { isThenable } from "../../process/thenable.js";
import {
  type SqlTransaction,
  StoreError,
  type StoreUnreachableError,
  type Write,
  type WriteSet,
} from "../../store/index.js";
import type { StepContext } from "../definition/context.js";
import type { Stored } from "../journal/entry.js";
import { flows } from "../journal/tables.js";
import type { Call } from "./call.js";
import type { AskOptions } from "./flow-asks.js";
import type { FlowLife } from "./flow-life.js";
import { submitAside } from "./flow-writes.js";
import { Attempt, type AttemptPort, crowdWait, retryWait, type StepPlan, storeFailure } from "./step-body.js";
import type { FlowStepOutcome } from "./taps.js";
import { readable } from "./thrown.js";

/** An attempt of an ask. */
interface AttemptOf {
  readonly kind: string;
  readonly key: string;
  readonly plan: StepPlan;
  readonly attempt: number;
  readonly more: AskOptions | undefined;
}

/** Runs the body of a step. */
export function runBody(
  life: FlowLife,
  { kind, key, plan, attempt, more }: AttemptOf,
  body: (step: StepContext) => unknown,
): Attempt {
  const tap = tapFor(life, kind, key);
  const ended = (ok: boolean, value: unknown): void => hasRun(life, key, plan, attempt, ok, value, more);
  const lastHeartbeat = life.heartbeats?.last(key)?.progress;
  const of = { key, flowId: life.flowId, attempt, token: life.row.epoch ?? 0, lastHeartbeat };
  const limit = plan.timeoutMs * (plan.timeoutFactor ?? 1) ** (attempt - 1);
  life.attempts ??= attemptPort(life);
  const port = life.attempts;
  const run = (): Attempt => new Attempt(port, of, ended).run(body, limit);
  return tap === undefined ? life.subject.run(run) : tap.around(() => life.subject.run(run));
}

function attemptPort(life: FlowLife): AttemptPort {
  const { ctx } = life;
  return {
    after: (ms, fn) => {
      const timer = life.after(ms, fn);
      return () => ctx.alive && ctx.cancel(timer);
    },
    perform: (code) => ctx.self.process?.perform(() => life.subject.run(code)),
    outside: (key) => life.outside(key),
    beat: (key, progress) => beating(life).beat(key, progress),
  };
}

export function beating(life: FlowLife): Heartbeats {
  life.heartbeats ??= new Heartbeats(heartbeatPort(life));
  return life.heartbeats;
}

function heartbeatPort(life: FlowLife): HeartbeatPort {
  return {
    payloads: life.port.payloads,
    named: (key) => `step "${key}"`,
    now: () => life.port.now(),
    after: (ms, fn) => void (life.ctx.alive && life.after(ms, fn)),
    write: (heartbeats) => {
      const write: Write = { type: "update", table: flows, key: [life.row.number], set: { heartbeats } };
      if (life.ctx.alive) submitAside(life, write, () => life.subject.progressed());
    },
    failed: (error) => life.fail(error),
  };
}

export async function runTransaction(
  life: FlowLife,
  key: string,
  plan: StepPlan,
  attempt: number,
  body: (tx: SqlTransaction) => unknown,
  signal: AbortSignal,
): Promise<void> {
  const { store, claim, payloads } = life.port;
  const call = life.calls.get(key) as Call;
  const tap = tapFor(life, "transaction", key);
  const attach = async (result: unknown): Promise<WriteSet> => {
    call.encoded = await payloads.encode(result, `transaction "${key}" of flow ${life.flowId}`, "result");
    signal.throwIfAborted();
    // The store calls this once for each of its attempts, with one signal for all of them.
    const granted = new Promise<WriteSet>((grant) => {
      call.grant = grant;
      life.event({ type: "prepared", key });
    });
    return orAborted(granted, signal);
  };
  const limit = plan.timeoutMs === Number.POSITIVE_INFINITY ? {} : { timeoutMs: plan.timeoutMs };
  const last: { thrown: unknown; tx: SqlTransaction | undefined } = { thrown: undefined, tx: undefined };
  const run = async (tx: SqlTransaction): Promise<unknown> => {
    last.tx = tx;
    try {
      const begun = (): unknown => life.subject.run(() => body(tx));
      return await (tap === undefined ? begun() : tap.around(begun));
    } catch (error) {
      last.thrown = error;
      throw error;
    }
  };
  life.unanswered++;
  try {
    await store.transaction(run, { attach, claim, signal, ...limit }).finally(() => life.answered());
  } catch (error) {
    if (!life.ctx.alive || signal.aborted) return;
    // The body may use stores of its own: their errors are its own errors.
    if (error !== last.thrown && (isHostOver(error) || isUnknown(error))) return life.refused(error);
    const failure = attempt < plan.attempts ? undefined : storeFailure(error, last, plan);
    const wait = failure && crowdWait(plan, attempt, failure, life.port.kernel.env.random());
    if (failure !== undefined && wait === undefined) return life.fail(error, failure.kind);
    return hasRun(life, key, plan, attempt, false, error, undefined, wait);
  }
  if (!life.ctx.alive) return;
  life.subject.progressed();
  tap?.ended("done");
  life.event({ type: "transacted", key, value: call.encoded ?? null, at: life.writtenAt });
}

/** An attempt of an ask begins. */
export function tapFor(life: FlowLife, kind: string, key: string): WorkTap<FlowStepOutcome> | undefined {
  const { name: flow, trace } = life.row;
  const by = life.ctx.self.process as Process;
  const tap = life.port.kernel.taps?.flowStep({ flow, id: life.flowId, kind, key }, trace, by);
  const call = life.calls.get(key);
  if (call !== undefined) call.tap = tap;
  return tap;
}

export function hasRun(
  life: FlowLife,
  key: string,
  plan: StepPlan,
  attempt: number,
  ok: boolean,
  given: unknown,
  more: AskOptions | undefined,
  waitMs?: number,
): void {
  const { payloads, kernel } = life.port;
  const value = ok ? given : readable(given);
  const { env } = kernel;
  const wait = ok ? undefined : (waitMs ?? retryWait(plan, attempt, value, env.random(), env.wallTime()));
  const retryAt = wait === undefined ? undefined : life.port.now() + wait;
  const call = life.calls.get(key);
  if (call === undefined) return;
  call.tap?.ended(ok ? "done" : retryAt === undefined ? "failed" : "retried");
  if (ok) call.extra = more?.extraOf?.();
  const stored = (kept: Stored): void =>
    life.event(
      retryAt === undefined
        ? { type: "ran", key, ok, value: kept }
        : { type: "ran", key, ok, value: kept, retryAt },
    );
  const unstorable = (error: unknown): void =>
    void after(payloads.encodeThrown(error), (kept) =>
      life.event({ type: "ran", key, ok: false, value: kept }),
    );
  try {
    const encoded = ok
      ? payloads.encode(value, `${call.kind} "${key}" of flow ${life.flowId}`, "result")
      : payloads.encodeThrown(value);
    if (isThenable(encoded)) encoded.then(stored, unstorable);
    else stored(encoded);
  } catch (error) {
    unstorable(error);
  }
}

/** Whether the outcome of a commit is unknown. The journal has it, once it can be read: the flow runs from there. */
function isUnknown(error: unknown): error is Error {
  return error instanceof StoreError && (error as Partial<StoreUnreachableError>).known === "unknown";
}
