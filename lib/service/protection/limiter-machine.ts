// A rate limiter as a pure machine: one token bucket for each key, and a queue of those that wait (J. Turner, "New Directions
// in Communications", 1986). `decide` is deterministic; its table of buckets is mutable inside, since a copy for each permit
// would cost more than the permit.
//
// Time is whole microseconds, and a bucket holds whole units: each microsecond adds `gain` units, and a permit costs `cost` units.
// So no sum is ever rounded, and `permits` per `perMs` is the rate exactly, however long the limiter runs.

/** The rule of one limiter. */
export interface LimiterConfig {
  /** Units that a bucket gains each microsecond. */
  readonly gain: number;
  /** Units that a permit costs. */
  readonly cost: number;
  /** Units of a full bucket. */
  readonly full: number;
  readonly maxWaiting: number;
  readonly maxKeys: number;
}

interface Waiter {
  readonly id: number;
  readonly units: number;
}

interface Bucket {
  units: number;
  /** The microsecond up to which `units` counts. */
  at: number;
  /** In order of arrival. */
  readonly waiting: Waiter[];
}

/** Mutable: see above. */
export interface LimiterMachine {
  readonly config: LimiterConfig;
  /** The key that was used longest ago comes first. */
  readonly buckets: Map<string, Bucket>;
  waiting: number;
}

/** `now` is in milliseconds. */
export type LimiterEvent =
  | {
      readonly type: "ask";
      readonly id: number;
      readonly key: string;
      readonly permits: number;
      readonly now: number;
    }
  | { readonly type: "leave"; readonly id: number; readonly key: string; readonly now: number }
  /** Permits that were granted to one that had just gone. */
  | { readonly type: "return"; readonly key: string; readonly permits: number; readonly now: number }
  | { readonly type: "due"; readonly key: string; readonly now: number };

export type LimiterEffect =
  | { readonly type: "grant"; readonly id: number }
  /** Too many wait already. */
  | { readonly type: "refuse"; readonly id: number; readonly retryAfterMs: number }
  /** The next one that waits for this key gets its permits after `inMs`; undefined when no call waits. */
  | { readonly type: "alarm"; readonly key: string; readonly inMs: number | undefined };

/** `permits` in each `perMs`, at most `burst` at once. The greatest common divisor keeps the numbers small. */
export function rateOf(
  permits: number,
  perMs: number,
  burst: number,
): Omit<LimiterConfig, "maxWaiting" | "maxKeys"> {
  const perUs = Math.round(perMs * 1_000);
  const divisor = gcd(permits, perUs);
  const cost = perUs / divisor;
  return { gain: permits / divisor, cost, full: burst * cost };
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}

export function initial(config: LimiterConfig): LimiterMachine {
  return { config, buckets: new Map(), waiting: 0 };
}

export function decide(
  machine: LimiterMachine,
  event: LimiterEvent,
): readonly [LimiterMachine, readonly LimiterEffect[]] {
  const us = Math.round(event.now * 1_000);
  switch (event.type) {
    case "ask":
      return [machine, ask(machine, event, us)];
    case "leave":
      return [machine, leave(machine, event, us)];
    case "return":
      return [machine, giveBack(machine, event, us)];
    case "due":
      return [machine, serve(machine, event.key, us)];
    default:
      return event satisfies never;
  }
}

/** Milliseconds until the bucket of a key has enough units for everyone that waits, and for `permits` more. */
export function waitMs(machine: LimiterMachine, key: string, permits: number, now: number): number {
  const { config } = machine;
  const bucket = machine.buckets.get(key);
  if (bucket === undefined) return 0;
  let units = permits * config.cost;
  for (const waiter of bucket.waiting) units += waiter.units;
  return untilUs(config, unitsAt(config, bucket, Math.round(now * 1_000)), units) / 1_000;
}

function ask(
  machine: LimiterMachine,
  { id, key, permits, now }: Extract<LimiterEvent, { type: "ask" }>,
  us: number,
): readonly LimiterEffect[] {
  const { config } = machine;
  const bucket = bucketOf(machine, key, us);
  refill(config, bucket, us);
  const units = permits * config.cost;
  if (bucket.waiting.length === 0 && bucket.units >= units) {
    bucket.units -= units;
    return [{ type: "grant", id }];
  }
  if (machine.waiting >= config.maxWaiting)
    return [{ type: "refuse", id, retryAfterMs: waitMs(machine, key, permits, now) }];
  bucket.waiting.push({ id, units });
  machine.waiting++;
  return bucket.waiting.length === 1 ? [alarm(config, key, bucket)] : [];
}

function leave(
  machine: LimiterMachine,
  { id, key }: { readonly id: number; readonly key: string },
  us: number,
): readonly LimiterEffect[] {
  const waiting = machine.buckets.get(key)?.waiting ?? [];
  const index = waiting.findIndex((one) => one.id === id);
  if (index < 0) return [];
  waiting.splice(index, 1);
  machine.waiting--;
  // Those behind may need fewer permits.
  return index === 0 ? serve(machine, key, us) : [];
}

function giveBack(
  machine: LimiterMachine,
  { key, permits }: { readonly key: string; readonly permits: number },
  us: number,
): readonly LimiterEffect[] {
  const { config } = machine;
  const bucket = machine.buckets.get(key);
  if (bucket === undefined) return [];
  refill(config, bucket, us);
  bucket.units = Math.min(config.full, bucket.units + permits * config.cost);
  return serve(machine, key, us);
}

/** Gives permits to those that wait, in their order, as far as the bucket goes. */
function serve(machine: LimiterMachine, key: string, us: number): readonly LimiterEffect[] {
  const { config } = machine;
  const bucket = machine.buckets.get(key);
  if (bucket === undefined) return [];
  refill(config, bucket, us);
  const effects: LimiterEffect[] = [];
  let served = 0;
  for (const { id, units } of bucket.waiting) {
    if (bucket.units < units) break;
    bucket.units -= units;
    effects.push({ type: "grant", id });
    served++;
  }
  bucket.waiting.splice(0, served);
  machine.waiting -= served;
  effects.push(alarm(config, key, bucket));
  return effects;
}

function alarm(config: LimiterConfig, key: string, { waiting, units }: Bucket): LimiterEffect {
  const [first] = waiting;
  return { type: "alarm", key, inMs: first && untilUs(config, units, first.units) / 1_000 };
}

/** Microseconds until a bucket that has `have` units has `need`. */
function untilUs({ gain }: LimiterConfig, have: number, need: number): number {
  return have >= need ? 0 : Math.ceil((need - have) / gain);
}

function unitsAt({ gain, cost, full }: LimiterConfig, { units, at, waiting }: Bucket, us: number): number {
  // Waiting calls are served in whole microseconds. The part of the last microsecond beyond a full bucket is kept for the next call:
  // otherwise each call would cost a fraction more.
  const most = waiting.length === 0 ? full : full + Math.min(gain, cost) - 1;
  // A clock that goes back adds nothing. Compared before it is multiplied: a clock that jumps ahead must not overflow.
  const passed = us - at;
  if (passed <= 0) return units;
  return passed >= (most - units) / gain ? Math.max(units, most) : units + passed * gain;
}

function refill(config: LimiterConfig, bucket: Bucket, us: number): void {
  bucket.units = unitsAt(config, bucket, us);
  bucket.at = us;
}

/** The bucket of a key, which is the last of all from now on. A key without one gets a full bucket. */
function bucketOf(machine: LimiterMachine, key: string, us: number): Bucket {
  const { config, buckets } = machine;
  const known = buckets.get(key);
  if (known === undefined && buckets.size >= config.maxKeys) forget(machine);
  const bucket = known ?? { units: config.full, at: us, waiting: [] };
  if (known !== undefined) buckets.delete(key);
  buckets.set(key, bucket);
  return bucket;
}

/** Makes room for a key. Buckets with waiting callers are kept; `maxWaiting` bounds those. */
function forget({ config, buckets }: LimiterMachine): void {
  let room = config.maxKeys - buckets.size;
  for (const [key, bucket] of buckets) {
    if (room > 0) return;
    if (bucket.waiting.length > 0) continue;
    buckets.delete(key);
    room++;
  }
}
