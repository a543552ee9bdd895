// A cache as a process: many callers share one load, values have a time to live, and the number of entries has a bound.

import {
  type Caller,
  type Context,
  defineServer,
  type NoReply,
  noReply,
  type ServerDefinition,
  type TaskResult,
  task,
} from "signalbox";

export interface CacheOptions<Value> {
  /** Gets the value of a key from where it is. A load that throws or takes too long is not cached. */
  readonly load: (key: string, signal: AbortSignal) => Promise<Value>;
  /** How long a value is fresh. Default 60,000 ms. */
  readonly freshMs?: number;
  /** How long after that it is still given, while it is loaded again. Default 0. */
  readonly staleMs?: number;
  /** Most entries. One more, and the one that was not used for longest leaves. Default 1,000. */
  readonly maxEntries?: number;
  /** Most loads at a time. A caller that needs one more gets a CacheBusyError. Default 50. */
  readonly maxLoads?: number;
  /** How long one load may take. Default 2,000 ms. */
  readonly loadTimeoutMs?: number;
}

/** Too many keys are being loaded. */
export class CacheBusyError extends Error {
  override readonly name = "CacheBusyError";
}

export interface CacheCounts {
  readonly entries: number;
  /** Loads that have begun, and those that failed. */
  readonly loads: number;
  readonly failures: number;
}

/** The calls of a cache: `await prices.call.get("tea")`. */
export interface CacheCalls<Value> {
  readonly get: (cache: Cache<Value>, key: string) => NoReply<Value>;
  readonly counts: (cache: Cache<Value>) => CacheCounts;
}

/** The casts of a cache: `prices.cast.forget("tea")`, after the value has changed at its source. */
export interface CacheCasts<Value> {
  readonly forget: (cache: Cache<Value>, key: string) => void;
}

/** Defines a cache, to be a child of a supervisor. A restart empties it, and nothing else. */
export function cache<Value>(
  options: CacheOptions<Value>,
): ServerDefinition<[], CacheCalls<Value>, CacheCasts<Value>> {
  return defineServer({
    init: (ctx) => new Cache(ctx, options),
    calls: {
      get(state: Cache<Value>, key: string) {
        state.get(key, this.caller);
        return noReply<Value>();
      },
      counts: (state: Cache<Value>) => state.counts(),
    },
    casts: {
      forget: (state: Cache<Value>, key: string) => state.forget(key),
    },
    // A load that fails is an answer to its callers, and no crash of the cache.
    trapExit: true,
    signals: { exit: () => undefined },
    label: "cache",
  });
}

/** The callers that wait for a load. */
type Load = Caller<unknown>[];

class Cache<Value> {
  /** By their last use: the first entry is the one that was not used for longest. */
  private readonly entries = new Map<string, { readonly value: Value; readonly loadedAt: number }>();
  private readonly loads = new Map<string, Load>();
  private running = 0;
  private begun = 0;
  private failures = 0;
  private readonly ctx: Context<unknown>;
  private readonly options: CacheOptions<Value>;

  constructor(ctx: Context<unknown>, options: CacheOptions<Value>) {
    this.ctx = ctx;
    this.options = options;
  }

  get(key: string, caller: Caller<unknown>): void {
    const { freshMs = 60_000, staleMs = 0 } = this.options;
    const entry = this.entries.get(key);
    const ageMs = entry === undefined ? Number.POSITIVE_INFINITY : this.ctx.now() - entry.loadedAt;
    if (entry === undefined || ageMs >= freshMs + staleMs) {
      const load = this.load(key);
      if (load === undefined) caller.refuse(new CacheBusyError(`no load is free for ${key}`));
      else load.push(caller);
      return;
    }
    caller.reply(entry.value);
    this.entries.delete(key);
    this.entries.set(key, entry);
    if (ageMs >= freshMs) this.load(key);
  }

  /** The load of this key that is in progress, or a new one; undefined when there are too many. */
  private load(key: string): Load | undefined {
    const { load: fn, maxLoads = 50, loadTimeoutMs: timeoutMs = 2_000 } = this.options;
    const running = this.loads.get(key);
    if (running !== undefined || this.running >= maxLoads) return running;
    const load: Load = [];
    this.loads.set(key, load);
    this.begun += 1;
    this.running += 1;
    // No handler awaits, so the end of a load comes between two messages.
    void task(this.ctx, ({ signal }) => fn(key, signal))
      .result({ timeoutMs })
      .then((result) => this.ended(key, load, result));
    return load;
  }

  private ended(key: string, load: Load, result: TaskResult<Value>): void {
    this.running -= 1;
    // After a `forget` another load of this key may be in progress, and this one has read too early.
    const isCurrent = this.loads.get(key) === load;
    if (isCurrent) this.loads.delete(key);
    if (!result.ok) {
      this.failures += 1;
      const { cause } = result.error;
      for (const caller of load) caller.refuse(cause instanceof Error ? cause : result.error);
      return;
    }
    if (isCurrent) this.keep(key, result.value);
    for (const caller of load) caller.reply(result.value);
  }

  private keep(key: string, value: Value): void {
    this.entries.delete(key);
    this.entries.set(key, { value, loadedAt: this.ctx.now() });
    const { maxEntries = 1_000 } = this.options;
    for (const oldest of this.entries.keys()) {
      if (this.entries.size <= maxEntries) break;
      this.entries.delete(oldest);
    }
  }

  /** A `get` made before may still give the old value. A later one does not. */
  forget(key: string): void {
    this.entries.delete(key);
    this.loads.delete(key);
  }

  counts(): CacheCounts {
    return { entries: this.entries.size, loads: this.begun, failures: this.failures };
  }
}
