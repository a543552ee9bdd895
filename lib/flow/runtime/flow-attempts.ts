// How the bodies of steps and transactions run: each attempt tells the machine what came of it, and whether another one is due.

import { type HeartbeatPort, Heartbeats } from "../../host/background/heartbeats.js";
import { isHostOver } from "../../host/index.js";
import { after } from "../../host/payload/codec.js";
import { orAborted } from "../../process/or-aborted.js";
import type { TimerRef } from "../../process/owned-timer.js";
import type { Process } from "../../process/process.js";
import { processSignal } from "../../process/process-signal.js";
import { show } from "../../process/show.js";
import type { WorkTap } from "../../process/taps.js";
import { isThenable } from "../../process/thenable.js";
import {
  type SqlTransaction,
  StoreError,
  type StoreUnreachableError,
  type WriteSet,
} from "../../store/index.js";
import type { StepContext } from "../definition/context.js";
import { rowGets } from "../journal/changes.js";
import { submitAside } from "./checkpoint.js";
import { NonRetriableError, StepTimeoutError } from "./errors.js";
import type { AskOptions, Call, Running } from "./flow-call.js";
import type { FlowLife } from "./flow-life.js";
import { crowdWait, retryWait, type StepPlan, storeFailure } from "./step-plan.js";
import type { FlowStepOutcome } from "./taps.js";

/** An attempt of an ask. */
interface AttemptOf {
  readonly kind: string;
  readonly key: string;
  readonly plan: StepPlan;
  readonly attempt: number;
  readonly more?: AskOptions | undefined;
}

/** Runs the body of a step. */
export function runBody(life: FlowLife, of: AttemptOf, body: (step: StepContext) => unknown): Running {
  const tap = tapFor(life, of.kind, of.key);
  const run = (): Running => new Attempt(life, of).run(body);
  return tap === undefined ? life.subject.run(run) : tap.around(() => life.subject.run(run));
}

/** One attempt of a step. */
class Attempt implements Running, StepContext {
  readonly key: string;
  readonly flowId: string;
  readonly attempt: number;
  readonly token: number;
  readonly lastHeartbeat: unknown;
  readonly #life: FlowLife;
  readonly #of: AttemptOf;
  #controller: AbortController | undefined;
  #timer: TimerRef | undefined;
  #isRunning = true;
  #aborted: { readonly reason: unknown } | undefined;

  constructor(life: FlowLife, of: AttemptOf) {
    this.#life = life;
    this.#of = of;
    this.key = of.key;
    this.flowId = life.flowId;
    this.attempt = of.attempt;
    this.token = life.row.epoch ?? 0;
    this.lastHeartbeat = life.heartbeats?.last(of.key)?.progress;
  }

  get idempotencyKey(): string {
    return `${this.flowId}/${this.#life.outside(this.key)}`;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      const { ctx, subject } = this.#life;
      this.#controller = processSignal((listener) => ctx.self.process?.perform(() => subject.run(listener)));
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted.reason);
    }
    return this.#controller.signal;
  }

  heartbeat(progress?: unknown): void {
    // An attempt that has ended is not alive.
    if (this.#isRunning) beating(this.#life).beat(this.key, progress);
  }

  giveUp(reason: string, cause?: unknown): never {
    throw new NonRetriableError(`step "${this.key}": ${String(reason)}`, { cause });
  }

  /** Runs the body. */
  run<T>(body: (step: StepContext) => T): this {
    const { plan, attempt } = this.#of;
    const timeoutMs = plan.timeoutMs * (plan.timeoutFactor ?? 1) ** (attempt - 1);
    if (timeoutMs !== Number.POSITIVE_INFINITY)
      this.#timer = this.#life.after(timeoutMs, () => {
        const error = new StepTimeoutError(this.key, timeoutMs);
        this.#end(false, error);
        this.abort(error);
      });
    let result: T;
    try {
      result = body(this);
      if (isThenable(result)) {
        // A thenable of the user's own may call back twice, throw, or give another thenable: a promise takes care of it.
        const promise = result instanceof Promise ? result : Promise.resolve(result);
        promise.then(
          (value: unknown) => this.#end(true, value),
          (error: unknown) => this.#end(false, error),
        );
        return this;
      }
    } catch (error) {
      this.#end(false, error);
      return this;
    }
    this.#end(true, result);
    return this;
  }

  abort(reason: unknown): void {
    this.#stop();
    this.#aborted ??= { reason };
    this.#controller?.abort(reason);
  }

  /** Only the first end counts, and none after it was aborted. */
  #end(ok: boolean, value: unknown): void {
    if (!this.#isRunning) return;
    this.#stop();
    hasRun(this.#life, this.#of, ok, value);
  }

  #stop(): void {
    this.#isRunning = false;
    if (this.#timer !== undefined && this.#life.ctx.alive) this.#life.ctx.cancel(this.#timer);
    this.#timer = undefined;
  }
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
      const set = rowGets(life.row, { heartbeats });
      if (life.ctx.alive) submitAside(life, set, () => life.subject.progressed());
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
    return hasRun(life, { key, plan, attempt }, false, error, wait);
  }
  if (!life.ctx.alive) return;
  life.subject.progressed();
  tap?.ended("done");
  life.event({ type: "transacted", key, value: call.encoded ?? null, at: life.writtenAt });
}

/** An attempt of an ask begins. */
function tapFor(life: FlowLife, kind: string, key: string): WorkTap<FlowStepOutcome> | undefined {
  const { taps } = life.port.kernel;
  if (taps === undefined) return undefined;
  const { name: flow, trace } = life.row;
  const tap = taps.flowStep({ flow, id: life.flowId, kind, key }, trace, life.ctx.self.process as Process);
  const call = life.calls.get(key);
  if (call !== undefined) call.tap = tap;
  return tap;
}

function hasRun(
  life: FlowLife,
  { key, plan, attempt, more }: Omit<AttemptOf, "kind">,
  ok: boolean,
  given: unknown,
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
  try {
    const encoded = ok
      ? payloads.encode(value, `${call.kind} "${key}" of flow ${life.flowId}`, "result")
      : payloads.encodeThrown(value);
    if (!isThenable(encoded)) life.event({ type: "ran", key, ok, value: encoded, retryAt });
    else
      encoded.then(
        (kept) => life.event({ type: "ran", key, ok, value: kept, retryAt }),
        (error: unknown) => unstorable(life, key, error),
      );
  } catch (error) {
    unstorable(life, key, error);
  }
}

/** The value that came of an attempt cannot be stored: that error is its outcome. */
function unstorable(life: FlowLife, key: string, error: unknown): void {
  void after(life.port.payloads.encodeThrown(error), (value) =>
    life.event({ type: "ran", key, ok: false, value }),
  );
}

/** Whether the outcome of a commit is unknown. The journal has it, once it can be read: the flow runs from there. */
function isUnknown(error: unknown): error is Error {
  return error instanceof StoreError && (error as Partial<StoreUnreachableError>).known === "unknown";
}

/** The properties that decisions about an error read. */
const LOOKED_AT = ["name", "message", "code", "cause", "retriable"];

/** The thrown value. For an object that cannot be read: an error that describes it. */
export function readable(thrown: unknown): unknown {
  if ((typeof thrown !== "object" && typeof thrown !== "function") || thrown === null) return thrown;
  try {
    void (thrown instanceof Error);
    for (const name of LOOKED_AT) void (thrown as Record<string, unknown>)[name];
    return thrown;
  } catch {
    return new Error(`the thrown value cannot be read: ${show(thrown)}`);
  }
}
