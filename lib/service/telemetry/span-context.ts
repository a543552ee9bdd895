// Where the running code stands among the spans that are kept. It goes with asynchronous code, and with messages in a system that carries the
// contexts of senders. On a host without asynchronous contexts code stands nowhere, and only calls, messages and dispatches are joined.
//
// Contexts make each promise of the thread cost about twice as much on Node before version 24, so they are off while no code of a kept span runs or
// waits. Where messages carry contexts they stay on: the program has contexts of its own there, and what was captured is asked at any time.

import type { AsyncLocalStorage as Storage } from "node:async_hooks";
import { KeptSpan } from "../../admin/traces/span-ring.js";
import { optionalModule } from "../../process/node-modules.js";
import type { Place } from "./refused.js";

const { AsyncLocalStorage } = optionalModule("node:async_hooks") ?? {};

/** Stands for no place, while other code stands in one. */
const NOWHERE: unique symbol = Symbol("nowhere");

export class SpanContext {
  readonly #storage: Storage<Place | undefined> | undefined = AsyncLocalStorage && new AsyncLocalStorage();
  readonly #stays: boolean;
  /** Spans that are open and have had code run in them. */
  readonly #inside = new Set<KeptSpan>();
  /** Of code that takes no time of its own. */
  #now: Place | typeof NOWHERE | undefined = undefined;

  /** @param stays - what was captured may be asked while no span is open */
  constructor(stays: boolean) {
    this.#stays = stays;
  }

  get here(): Place | undefined {
    const now = this.#now;
    if (now === undefined) return this.#storage?.getStore();
    return now === NOWHERE ? undefined : now;
  }

  /** Contexts are carried now. */
  get isOn(): boolean {
    return this.#stays || this.#inside.size > 0;
  }

  /** Runs code of a span, also what it waits for. */
  run<R>(place: Place | undefined, run: () => R): R {
    const now = this.#now;
    if (this.#storage === undefined) return run();
    if (place instanceof KeptSpan && place.open > 0) this.#inside.add(place);
    this.#now = undefined;
    try {
      return this.#storage.run(place, run);
    } finally {
      this.#now = now;
      this.#rest();
    }
  }

  /** Runs code that stands in a place, but waits for nothing there. */
  within<R>(place: Place | undefined, run: () => R): R {
    if (this.#stays) return this.run(place, run);
    const now = this.#now;
    this.#now = place ?? NOWHERE;
    try {
      return run();
    } finally {
      this.#now = now;
    }
  }

  /** A span has ended. */
  left(span: KeptSpan): void {
    if (this.#inside.delete(span)) this.#rest();
  }

  close(): void {
    this.#inside.clear();
    this.#storage?.disable();
  }

  #rest(): void {
    if (!this.isOn) this.#storage?.disable();
  }
}
