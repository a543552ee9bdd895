// One attempt at a message, its way through adapters: in sequence, past those whose condition is false, and on with each value where an
// adapter gives several. As long as adapters answer at once, there is no promise.

import { InvariantError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import type { Process } from "../../process/process.js";
import type { WorkTap } from "../../process/taps.js";
import { isThenable } from "../../process/thenable.js";
import type { Verdict } from "../../service/protection/breaker-machine.js";
import { pause } from "../../service/protection/scope.js";
import type { RouteOutcome } from "../../service/telemetry/pipeline-taps.js";
import {
  type Adapted,
  type Adapter,
  type AdapterContext,
  type Item,
  Many,
  type Stage,
} from "../definition/adapter.js";
import { type Test, testOf } from "../definition/condition.js";
import { DeadLetterError } from "../definition/errors.js";
import type { Message, Remembered } from "../ledger/ledger.js";
import type { CallRecord } from "../ledger/lineage.js";
import { isForGood } from "../messages/for-good.js";
import { TimedAttempt } from "../messages/timed-attempt.js";
import type { AdapterMemory } from "./adapter-memory.js";
import type { AdmittedCall, RouteBreakers } from "./breakers.js";
import type { ValueHash } from "./value-hash.js";

/** An adapter of a segment, ready to be called. */
interface AdapterStep {
  readonly adapter: Adapter;
  readonly test: Test | undefined;
}

/** Adapters that are called one after another. */
export type Segment = readonly AdapterStep[];

/** @throws OptionError when a condition is malformed */
export function segmentOf(stages: readonly Stage[]): Segment {
  return stages.map(({ adapter, when }) => ({
    adapter: adapter as Adapter,
    test: when === undefined ? undefined : testOf("when", when),
  }));
}

/** The surroundings that all attempts of a route share. */
export interface AttemptContext {
  readonly pipeline: string;
  readonly execution: string;
  readonly route: string;
  /** Milliseconds since 1970. Undefined: no call is recorded. */
  readonly clock: (() => number) | undefined;
  /** Undefined: records have no hashes of values. */
  readonly hash?: ValueHash | undefined;
  /** The system of the route. */
  readonly kernel?: Kernel;
  /** The trace to which the execution belongs. */
  readonly trace?: string | null;
  /** The memory of the adapters of the route. */
  readonly memory?: AdapterMemory;
  readonly breakers?: RouteBreakers | undefined;
}

const NOTHING: readonly Item<unknown>[] = [];

/** An attempt whose beginning was not noted. */
export const NOT_BEGUN: number = Number.POSITIVE_INFINITY;

/** One attempt at one message, and its outcome. Used once. */
export class RouteAttempt extends TimedAttempt implements AdapterContext {
  readonly message: Message;
  /** The calls so far, if they are recorded. */
  readonly calls: CallRecord[] | undefined;
  /** The values that the adapters want to be remembered, for the step that settles the message. Undefined: nothing. */
  remembered: Remembered[] | undefined;
  /** Undefined as long as the attempt goes on. */
  outcome: "passed" | "failed" | undefined;
  /** Why it failed. */
  error: unknown;
  /** A breaker did not admit a call: the attempt does not count. */
  isHeld = false;
  /** Follows the attempt. */
  tap: WorkTap<RouteOutcome> | undefined;
  /** The call that a breaker has admitted and that goes on. */
  #admitted: AdmittedCall | undefined;
  /** When it began, by a clock that does not step back; at the latest when it first waits for an adapter. */
  beganMs: number = NOT_BEGUN;
  readonly #context: AttemptContext;
  #adapter = "";
  #segment: Segment = [];
  /** The adapter at hand. */
  #at = 0;
  /** The value that the adapter at hand gets, as long as there is one; at last the one that comes out. */
  #value: unknown;
  #key: string | undefined;
  #several: Several | undefined;

  constructor(context: AttemptContext, message: Message, by: { readonly signal: AbortSignal }) {
    super(by);
    this.#context = context;
    this.message = message;
    this.calls = context.clock === undefined ? undefined : [];
  }

  get id(): string {
    return this.message.id;
  }
  get idempotencyKey(): string {
    const { execution } = this.#context;
    const key = `${execution}/${this.message.id}/${this.#adapter}`;
    const call = this.#several?.index ?? 0;
    return call === 0 ? key : `${key}#${call + 1}`;
  }
  /** The call at hand among those of its adapter. */
  get #beatKey(): string {
    const call = this.#several?.index ?? 0;
    return call === 0 ? this.#adapter : `${this.#adapter}#${call + 1}`;
  }
  get lastHeartbeat(): unknown {
    return this.message.lastBeat?.(this.#beatKey);
  }
  get attempt(): number {
    return this.message.attempts + 1;
  }
  get key(): string | undefined {
    return this.message.key;
  }
  get pipeline(): string {
    return this.#context.pipeline;
  }
  get execution(): string {
    return this.#context.execution;
  }
  get route(): string {
    return this.#context.route;
  }
  get kernel(): Kernel {
    const { kernel } = this.#context;
    if (kernel === undefined) throw new InvariantError("adapters that wait or call others have a system");
    return kernel;
  }
  /** The name of the adapter at hand: where an attempt failed. */
  get adapter(): string {
    return this.#adapter;
  }

  /** A batch adapter is called, outside of this attempt. */
  beginBatch(adapter: string): void {
    this.#adapter = adapter;
  }

  /** Telemetry follows the attempt from now on. @param messages - how many it is about */
  follow(by: Process, messages: number): WorkTap<RouteOutcome> | undefined {
    const { kernel, trace = null } = this.#context;
    const taps = kernel?.taps;
    if (taps === undefined) return undefined;
    const { pipeline, route, execution, attempt } = this;
    const of = { pipeline, route, execution, message: this.message.id, messages, attempt };
    this.tap = taps.routeAttempt(of, trace, by);
    return this.tap;
  }

  /** Records that call. */
  recordBatch(adapter: string, startedMs: number, gave: number, hashes: Hashes): void {
    if (this.calls === undefined) return;
    const tookMs = this.#now() - startedMs;
    const status = gave === 0 ? "ended" : "completed";
    this.calls.push({ adapter, status, startedMs, tookMs, gave, ...hashes });
  }

  heartbeat(progress?: unknown): void {
    // An attempt that has ended is not alive.
    if (this.outcome === undefined) this.message.beat?.(this.#beatKey, progress);
  }

  giveUp(reason: string, cause?: unknown): never {
    throw new DeadLetterError(reason, cause);
  }

  async recall(key: string): Promise<unknown> {
    const { memory } = this.#context;
    if (memory === undefined) throw new InvariantError("adapters that remember have a ledger");
    const adapter = this.#adapter;
    // The latest value wins, as it does in the ledger.
    const own = this.remembered?.findLast((one) => one.key === key && one.adapter === adapter);
    return own === undefined ? memory.recall(adapter, key, this) : own.value;
  }

  remember(key: string, value: unknown): void {
    this.remembered ??= [];
    this.remembered.push({ adapter: this.#adapter, key, value });
  }

  sleep(ms: number): Promise<void> {
    return pause(this.kernel, ms, this.signal);
  }

  /** The attempt is over: it no longer watches the signal. */
  end(outcome: "passed" | "failed", error: unknown): void {
    this.outcome = outcome;
    this.error = error;
    this.tap?.ended(this.isHeld ? "held" : outcome);
    this.unwatch();
    if (outcome === "failed") this.release();
  }

  override tooLong(error: Error): void {
    this.#settle("failure");
    super.tooLong(error);
  }

  /** Its worker has exited in the middle. @param isSlow - because the attempt took too long */
  lost(isSlow: boolean): void {
    this.release();
    this.#settle(isSlow ? "failure" : "ignore");
  }

  /** Calls an adapter, if its breaker admits that. @throws CircuitOpenError */
  guarded(adapter: string, call: () => unknown): unknown {
    const { breakers } = this.#context;
    if (breakers === undefined) return call();
    try {
      this.#admitted = breakers.ask(adapter);
    } catch (error) {
      this.isHeld = true;
      throw error;
    }
    let given: unknown;
    try {
      given = call();
    } catch (error) {
      this.#settle(verdictOf(error));
      throw error;
    }
    if (!isThenable(given)) {
      this.#settle("success");
      return given;
    }
    return given.then(
      (late) => {
        this.#settle("success");
        return late;
      },
      (error: unknown) => {
        this.#settle(verdictOf(error));
        throw error;
      },
    );
  }

  #settle(verdict: Verdict): void {
    const admitted = this.#admitted;
    this.#admitted = undefined;
    admitted?.settle(verdict);
  }

  /** The attempt has failed, or its message was submitted for settlement: attempts that wait for its recalled keys go on. */
  release(): void {
    this.#context.memory?.release(this);
  }

  /**
   * Takes the message through a segment, as far as its adapters answer at once.
   *
   * @returns what to wait for: `resume` takes what it gives. Undefined: the values that come out are in `items`
   * @throws what an adapter throws
   */
  begin(segment: Segment): PromiseLike<unknown> | undefined {
    this.#segment = segment;
    this.#key = this.message.key;
    return this.#one(0, this.message.value);
  }

  /** Takes values through a segment, as `begin` does. */
  beginWith(segment: Segment, items: readonly Item<unknown>[]): PromiseLike<unknown> | undefined {
    this.#segment = segment;
    return this.#row(0, items);
  }

  /** Goes on with what an adapter has promised, as `begin` does. */
  resume(given: unknown): PromiseLike<unknown> | undefined {
    const several = this.#several;
    if (several === undefined) return this.#next(this.#at, given as Adapted<unknown>);
    several.take(given as Adapted<unknown>);
    return this.#rest(several);
  }

  /** The values that come out. */
  get items(): readonly Item<unknown>[] {
    return this.#several?.items ?? [{ value: this.#value, key: this.#key }];
  }

  /** One value, as long as it remains one. */
  #one(from: number, first: unknown): PromiseLike<unknown> | undefined {
    const segment = this.#segment;
    let value = first;
    for (let at = from; at < segment.length; at++) {
      const given = this.#invoke(segment[at] as AdapterStep, value);
      if (given === undefined || given instanceof Many) return this.#next(at, given);
      if (isThenable(given)) {
        this.#at = at;
        return given;
      }
      value = given;
    }
    this.#value = value;
    return undefined;
  }

  /** Goes on with the result of an adapter for the one value. */
  #next(at: number, given: Adapted<unknown>): PromiseLike<unknown> | undefined {
    if (given === undefined) return this.#row(this.#segment.length, NOTHING);
    if (given instanceof Many) return this.#row(at + 1, itemsOf(given, this.#key));
    return this.#one(at + 1, given);
  }

  #row(at: number, items: readonly Item<unknown>[]): PromiseLike<unknown> | undefined {
    this.#at = at;
    this.#several = new Several(items);
    return this.#rest(this.#several);
  }

  /** Several values, adapter by adapter. */
  #rest(several: Several): PromiseLike<unknown> | undefined {
    const segment = this.#segment;
    for (; this.#at < segment.length; this.#at++) {
      for (let item = several.item; item !== undefined; item = several.item) {
        const given = this.#invoke(segment[this.#at] as AdapterStep, item.value);
        if (isThenable(given)) return given;
        several.take(given as Adapted<unknown>);
      }
      several.endOfRow();
    }
    return undefined;
  }

  #invoke({ adapter, test }: AdapterStep, value: unknown): unknown {
    this.#adapter = adapter.name;
    const { calls } = this;
    const isSkipped = test !== undefined && !test(value);
    if (calls === undefined) return isSkipped ? value : this.#call(adapter, value);
    if (isSkipped) return this.#record("skipped", this.#now(), value);
    const { hash } = this.#context;
    return hash === undefined
      ? this.#recorded(adapter, value, calls)
      : this.#hashed(adapter, value, calls, hash);
  }

  #call(adapter: Adapter, value: unknown): unknown {
    return this.#context.breakers === undefined
      ? adapter.process(value as never, this)
      : this.guarded(adapter.name, () => adapter.process(value as never, this));
  }

  #recorded(adapter: Adapter, value: unknown, calls: CallRecord[]): unknown {
    const startedMs = this.#now();
    let given: unknown;
    try {
      given = this.#call(adapter, value);
    } catch (error) {
      this.#record("failed", startedMs, undefined, error);
      throw error;
    }
    if (!isThenable(given)) return this.#record("completed", startedMs, given);
    // The record has its place in the order of the calls, and its outcome when there is one.
    const at = calls.length;
    const name = adapter.name;
    this.#record("completed", startedMs, undefined);
    return Promise.resolve(given as PromiseLike<unknown>).then(
      (late) => {
        calls[at] = record(name, "completed", startedMs, this.#now(), late);
        return late;
      },
      (error: unknown) => {
        calls[at] = record(name, "failed", startedMs, this.#now(), undefined, error);
        throw error;
      },
    );
  }

  /** Adds hashes to the record of a call. The input is hashed before the call can change it. */
  #hashed(adapter: Adapter, value: unknown, calls: CallRecord[], hash: ValueHash): unknown {
    const input = hash(value);
    const at = calls.length;
    const note = (given: unknown): void => {
      const what = given instanceof Many ? given.values.map((one) => one.value) : given;
      calls[at] = { ...(calls[at] as CallRecord), ...hashesOf(hash, input, what) };
    };
    let given: unknown;
    try {
      given = this.#recorded(adapter, value, calls);
    } catch (error) {
      note(undefined);
      throw error;
    }
    if (!isThenable(given)) {
      note(given);
      return given;
    }
    return given.then(
      (late) => {
        note(late);
        return late;
      },
      (error: unknown) => {
        note(undefined);
        throw error;
      },
    );
  }

  #record(status: CallRecord["status"], startedMs: number, given: unknown, error?: unknown): unknown {
    this.calls?.push(record(this.#adapter, status, startedMs, this.#now(), given, error));
    return given;
  }

  #now(): number {
    const { clock } = this.#context;
    if (clock === undefined) throw new InvariantError("calls are recorded without a clock");
    return clock();
  }
}

/** If a message is refused for good, or given up, the service works. */
function verdictOf(error: unknown): Verdict {
  return isForGood(error) ? "success" : "failure";
}

function record(
  adapter: string,
  status: CallRecord["status"],
  startedMs: number,
  endedMs: number,
  given: unknown,
  error?: unknown,
): CallRecord {
  const gave = given === undefined ? 0 : given instanceof Many ? given.values.length : 1;
  const as = status === "completed" && gave === 0 ? "ended" : status;
  const made: CallRecord = { adapter, status: as, startedMs, tookMs: endedMs - startedMs, gave };
  return error === undefined ? made : { ...made, error: String(error) };
}

/** The hashes of a record. */
export type Hashes = Pick<CallRecord, "input" | "output">;

/** @param given - undefined: nothing, which has no hash */
export function hashesOf(hash: ValueHash, input: string | undefined, given: unknown): Hashes {
  const output = given === undefined ? undefined : hash(given);
  return { ...(input !== undefined && { input }), ...(output !== undefined && { output }) };
}

/** Waits for the adapters of an attempt that has begun, until the values that come out are known. */
export async function toTheEnd(
  attempt: RouteAttempt,
  first: PromiseLike<unknown> | undefined,
): Promise<readonly Item<unknown>[]> {
  for (let wait = first; wait !== undefined; ) wait = attempt.resume(await wait);
  return attempt.items;
}

/** Several values of an attempt: those that the adapter at hand gets, and what it has made of them so far. */
class Several {
  items: readonly Item<unknown>[];
  /** The value at hand. */
  index = 0;
  #made: Item<unknown>[] = [];

  constructor(items: readonly Item<unknown>[]) {
    this.items = items;
  }

  get item(): Item<unknown> | undefined {
    return this.items[this.index];
  }

  /** Takes the adapter's result for the value at hand. */
  take(given: Adapted<unknown>): void {
    const { key } = this.item as Item<unknown>;
    this.index++;
    if (given instanceof Many) for (const one of itemsOf(given, key)) this.#made.push(one);
    else if (given !== undefined) this.#made.push({ value: given, key });
  }

  /** The next adapter gets what was made. */
  endOfRow(): void {
    this.items = this.#made;
    this.#made = [];
    this.index = 0;
  }
}

function itemsOf(many: Many<unknown>, key: string | undefined): readonly Item<unknown>[] {
  return many.values.map((one) => (one.key === undefined ? { value: one.value, key } : one));
}
