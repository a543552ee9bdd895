// Limits of each tenant: rate, concurrency and a bounded queue, in a process of its own that is there only while the tenant is busy.

import {
  CalleeExitedError,
  type Caller,
  type Context,
  type DynamicSupervisorRef,
  defineServer,
  dynamicSupervisor,
  noReply,
  Registry,
  refuse,
  type SupervisorDefinition,
  type System,
  stop,
  type TaskFunction,
  task,
} from "signalbox";
import { rateLimiter } from "signalbox/service";

/** What every tenant may use. */
export interface TenantLimits {
  /** Requests of a tenant that are in work at a time. */
  readonly concurrency: number;
  /** Requests of a tenant that may wait. One more is refused. */
  readonly maxQueue: number;
  /** How long a request may be in work. One that takes longer is killed, so that its place is free again. */
  readonly workMs: number;
  /** So many requests of a tenant in each `perMs`, and `burst` after a quiet time. */
  readonly rate: { readonly permits: number; readonly perMs: number; readonly burst: number };
  /** The process of a tenant ends when nothing has come for so long. */
  readonly idleMs: number;
}

/** The queue of a tenant is full. A server over HTTP answers 429 with `Retry-After`. */
export class TenantBusyError extends Error {
  override readonly name = "TenantBusyError";
  readonly code = "ERR_TENANT_BUSY";
  /** When there will be room, if requests take as long as they did. */
  readonly retryAfterMs: number;
  constructor(tenant: string, retryAfterMs: number) {
    super(`too many requests of ${tenant} wait; try again in ${retryAfterMs} ms`);
    this.retryAfterMs = retryAfterMs;
  }
}

export interface Tenants {
  /** A child of your supervisor. */
  readonly tree: SupervisorDefinition<DynamicSupervisorRef<readonly [tenant: string]>>;
  /** The tenants that have a process now. */
  busy(): readonly string[];
  /**
   * Runs work for a tenant, within the limits of the tenant.
   *
   * @param work - gets a `ctx` whose signal aborts when the work is killed
   * @param signal - the caller gives up: a request that waits is never begun
   * @throws RateLimitError and TenantBusyError, both with `retryAfterMs`; TaskTimeoutError; what `work` throws
   */
  run<R>(tenant: string, work: TaskFunction<R | Promise<R>>, signal?: AbortSignal): Promise<R>;
}

interface Job {
  readonly work: TaskFunction<Promise<void>>;
  readonly caller: Caller<void>;
}
interface State {
  readonly ctx: Context<never>;
  readonly tenant: string;
  waiting: Job[];
  running: number;
  /** How long a request takes, as far as it is known. */
  meanMs: number;
}

/** To how many processes of its tenant a request goes at most. One that crashes before it has begun the work is replaced. */
const TRIES = 3;

/** Defines the limits, and what runs within them. */
export function tenants(system: System, limits: TenantLimits): Tenants {
  const registry = new Registry<string>(system, { name: "tenants" });
  // A limiter forgets a tenant whose bucket is full. With `maxWaiting: 0` nobody waits in it.
  const limiter = rateLimiter({ ...limits.rate, maxWaiting: 0, maxKeys: 100_000, label: "rate" }).local(
    system,
  );

  const Tenant = defineServer({
    init: (ctx, tenant: string): State => ({
      ctx,
      tenant,
      waiting: [],
      running: 0,
      meanMs: limits.workMs,
    }),
    calls: {
      run(state, work: Job["work"]) {
        const { tenant, meanMs } = state;
        // Callers that have given up take no room.
        state.waiting = state.waiting.filter(({ caller }) => caller.open);
        const { waiting } = state;
        if (state.running === limits.concurrency && waiting.length >= limits.maxQueue) {
          const retryAfterMs = Math.ceil((meanMs * (waiting.length + 1)) / limits.concurrency);
          return refuse(new TenantBusyError(tenant, retryAfterMs));
        }
        waiting.push({ work, caller: this.caller });
        begin(state);
        return noReply<void>();
      },
    },
    idle: ({ running }) => (running === 0 ? stop() : noReply()),
    idleMs: limits.idleMs,
  });

  function begin(state: State): void {
    while (state.running < limits.concurrency) {
      const job = state.waiting.shift();
      if (job === undefined) return;
      if (job.caller.open) void perform(state, job);
    }
  }

  async function perform(state: State, { work, caller }: Job): Promise<void> {
    const { ctx } = state;
    state.running++;
    const began = ctx.now();
    // A task of its own: it is killed when it takes too long, and when this process ends.
    const end = await task(ctx, work).result({ timeoutMs: limits.workMs });
    if (end.ok) caller.reply(undefined);
    else caller.refuse(end.error);
    state.running--;
    state.meanMs += 0.2 * (ctx.now() - began - state.meanMs);
    begin(state);
  }

  const Children = dynamicSupervisor({
    name: "tenants",
    child: { id: "tenant", start: Tenant, restart: "temporary", name: (tenant) => registry.claim(tenant) },
  });

  async function processOf(tenant: string, signal?: AbortSignal) {
    const options = signal === undefined ? {} : { signal };
    const running = await Children.at(system, "tenants").startOrGet([tenant], options);
    return running.with({ timeoutMs: Number.POSITIVE_INFINITY, ...options });
  }

  async function run<R>(
    tenant: string,
    work: TaskFunction<R | Promise<R>>,
    signal?: AbortSignal,
  ): Promise<R> {
    signal?.throwIfAborted();
    await limiter.acquire({ key: tenant });
    for (let tries = 1; ; tries++) {
      let hasBegun = false;
      let settle = (): R | Promise<R> => Promise.reject(new Error("the work has not begun"));
      const job: Job["work"] = async (ctx) => {
        hasBegun = true;
        try {
          const value = await work(ctx);
          settle = () => value;
        } catch (error) {
          settle = () => Promise.reject(error);
        }
      };
      const gate = await processOf(tenant, signal);
      try {
        await gate.call.run(job);
        return settle();
      } catch (error) {
        // The process of the tenant ended before it began this request: another one takes its place.
        if (hasBegun || tries === TRIES || !(error instanceof CalleeExitedError)) throw error;
      }
    }
  }

  return { tree: Children, run, busy: () => registry.select(() => true).map(({ key }) => key) };
}
