// The passage of one message through adapters: in sequence, past those whose condition is false, and on with each value where an
// adapter gives several. As long as adapters answer at once, there is no promise.

import { InvariantError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { isThenable } from "../../process/thenable.js";
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
import { pause } from "./pause.js";
import type { Recollections } from "./recollections.js";

/** An adapter of a segment, ready to be called. */
interface Step {
  readonly adapter: Adapter;
  readonly test: Test | undefined;
}

/** Adapters that are called one after another. */
export type Segment = readonly Step[];

/** @throws OptionError when a condition is malformed */
export function segmentOf(stages: readonly Stage[]): Segment {
  return stages.map(({ adapter, when }) => ({
    adapter: adapter as Adapter,
    test: when === undefined ? undefined : testOf("when", when),
  }));
}

/** What the passages of a route have in common. */
export interface Place {
  readonly pipeline: string;
  readonly execution: string;
  readonly route: string;
  /** Milliseconds since 1970. Undefined: no call is recorded. */
  readonly clock: (() => number) | undefined;
  /** The system of the route. */
  readonly kernel?: Kernel;
  /** What adapters of the route remember. */
  readonly memory?: Recollections;
}

const NOTHING: readonly Item<unknown>[] = [];

/** One attempt at one message. Used once. */
export class Passage implements AdapterContext {
  readonly #place: Place;
  readonly #message: Message;
  /** The calls so far, if they are recorded. */
  readonly calls: CallRecord[] | undefined;
  readonly #newSignal: () => AbortSignal;
  #signal: AbortSignal | undefined;
  #adapter = "";
  /** Counts the calls of the present adapter for this message. */
  #call = 0;
  /** What the adapters want to be remembered, for the step that settles the message. Undefined: nothing. */
  remembered: Remembered[] | undefined;

  /** @param newSignal - makes the signal of the attempt, when an adapter first asks for it */
  constructor(place: Place, message: Message, newSignal: () => AbortSignal) {
    this.#place = place;
    this.#message = message;
    this.calls = place.clock === undefined ? undefined : [];
    this.#newSignal = newSignal;
  }

  get id(): string {
    return this.#message.id;
  }
  get idempotencyKey(): string {
    const { execution } = this.#place;
    const key = `${execution}/${this.#message.id}/${this.#adapter}`;
    return this.#call === 0 ? key : `${key}#${this.#call + 1}`;
  }
  get attempt(): number {
    return this.#message.attempts + 1;
  }
  get key(): string | undefined {
    return this.#message.key;
  }
  get pipeline(): string {
    return this.#place.pipeline;
  }
  get execution(): string {
    return this.#place.execution;
  }
  get route(): string {
    return this.#place.route;
  }
  get signal(): AbortSignal {
    this.#signal ??= this.#newSignal();
    return this.#signal;
  }
  get kernel(): Kernel {
    const { kernel } = this.#place;
    if (kernel === undefined) throw new InvariantError("adapters that wait or call others have a system");
    return kernel;
  }
  /** The name of the adapter at hand: where an attempt failed. */
  get adapter(): string {
    return this.#adapter;
  }

  /** Records the call of a batch adapter, which is made outside of this passage. */
  recordBatch(adapter: string, startedMs: number, gave: number): void {
    this.#adapter = adapter;
    if (this.calls === undefined) return;
    const tookMs = this.#now() - startedMs;
    this.calls.push({ adapter, status: gave === 0 ? "ended" : "completed", startedMs, tookMs, gave });
  }

  giveUp(reason: string, cause?: unknown): never {
    throw new DeadLetterError(reason, cause);
  }

  async recall(key: string): Promise<unknown> {
    const { memory } = this.#place;
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

  /** The attempt has failed, or its message was submitted for settlement: whoever waits for the keys that it recalled goes on. */
  release(): void {
    this.#place.memory?.release(this);
  }

  /**
   * Takes values through a segment.
   *
   * @returns the values that come out
   * @throws what an adapter throws; or rejects with it
   */
  through(
    segment: Segment,
    items: readonly Item<unknown>[],
  ): readonly Item<unknown>[] | Promise<readonly Item<unknown>[]> {
    const [item, ...more] = items;
    if (item === undefined) return NOTHING;
    return more.length === 0 ? this.#one(segment, item) : this.#several(segment, 0, items);
  }

  /** One value, as long as it remains one. */
  #one(segment: Segment, item: Item<unknown>): readonly Item<unknown>[] | Promise<readonly Item<unknown>[]> {
    let { value } = item;
    for (let at = 0; at < segment.length; at++) {
      const step = segment[at] as Step;
      this.#call = 0;
      const given = this.#invoke(step, value);
      if (isThenable(given)) return this.#later(segment, at, item, given as PromiseLike<Adapted<unknown>>);
      if (given === undefined) return NOTHING;
      if (given instanceof Many) return this.#several(segment, at + 1, itemsOf(given, item));
      value = given;
    }
    return value === item.value ? [item] : [{ value, key: item.key }];
  }

  async #later(
    segment: Segment,
    at: number,
    item: Item<unknown>,
    promise: PromiseLike<Adapted<unknown>>,
  ): Promise<readonly Item<unknown>[]> {
    const given = await promise;
    const rest = at + 1;
    if (given === undefined) return NOTHING;
    if (given instanceof Many) return this.#several(segment, rest, itemsOf(given, item));
    const next = { value: given, key: item.key };
    return rest === segment.length ? [next] : this.#one(segment.slice(rest), next);
  }

  /** Several values, adapter by adapter. */
  async #several(
    segment: Segment,
    from: number,
    items: readonly Item<unknown>[],
  ): Promise<readonly Item<unknown>[]> {
    let values = items;
    for (const step of segment.slice(from)) {
      const next: Item<unknown>[] = [];
      this.#call = 0;
      for (const item of values) {
        const called = this.#invoke(step, item.value);
        const given = isThenable(called) ? await (called as PromiseLike<Adapted<unknown>>) : called;
        if (given instanceof Many) for (const one of itemsOf(given, item)) next.push(one);
        else if (given !== undefined) next.push({ value: given, key: item.key });
        this.#call++;
      }
      values = next;
    }
    return values;
  }

  #invoke({ adapter, test }: Step, value: unknown): unknown {
    this.#adapter = adapter.name;
    const { calls } = this;
    const isSkipped = test !== undefined && !test(value);
    if (calls === undefined) return isSkipped ? value : adapter.process(value as never, this);
    return isSkipped ? this.#record("skipped", this.#now(), value) : this.#recorded(adapter, value, calls);
  }

  #recorded(adapter: Adapter, value: unknown, calls: CallRecord[]): unknown {
    const startedMs = this.#now();
    let given: unknown;
    try {
      given = adapter.process(value as never, this);
    } catch (error) {
      this.#record("failed", startedMs, undefined, error);
      throw error;
    }
    if (!isThenable(given)) return this.#record("completed", startedMs, given);
    // The record has its place in the order of the calls, and its outcome when there is one.
    const at = calls.length;
    const name = adapter.name;
    this.#record("completed", startedMs, undefined);
    return (given as PromiseLike<unknown>).then(
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

  #record(status: CallRecord["status"], startedMs: number, given: unknown, error?: unknown): unknown {
    this.calls?.push(record(this.#adapter, status, startedMs, this.#now(), given, error));
    return given;
  }

  #now(): number {
    const { clock } = this.#place;
    if (clock === undefined) throw new InvariantError("calls are recorded without a clock");
    return clock();
  }
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
  return {
    adapter,
    status: status === "completed" && gave === 0 ? "ended" : status,
    startedMs,
    tookMs: endedMs - startedMs,
    gave,
    ...(error === undefined ? {} : { error: String(error) }),
  };
}

function itemsOf(many: Many<unknown>, { key }: Item<unknown>): readonly Item<unknown>[] {
  return many.values.map((one) => (one.key === undefined ? { value: one.value, key } : one));
}
