// Decides whether a span is kept, before anything is made of it. A span follows from a place that is kept, or from nothing and begins a trace if the
// budget lets it; all that follows from what was refused is refused. A call that is refused has to cost next to nothing, so what the budget has
// refused is remembered until its second is over, and the clock is not read for it.

import type { Callbacks } from "../../process/behaviour.js";
import type { Kernel } from "../../process/kernel.js";
import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import type { Timer } from "../../process/timer-queue.js";
import { asObserved } from "./observed-process.js";
import { type Handling, type Place, REFUSED, ROOT, type Verdict } from "./refused.js";
import { FULL_BUDGET, ROOTS_PER_S, spend } from "./root-budget.js";
import type { SpanBook } from "./span-book.js";
import type { SpanContext } from "./span-context.js";
import { fromTraceparent } from "./traceparent.js";
import type { SpanDecisions } from "./tracing.js";

/** Callees whose calls are known to be refused. A power of two. */
const CALLEES = 256;

const SECOND_MS = 1_000;

export class SpanGate implements SpanDecisions {
  readonly #kernel: Kernel;
  readonly #book: SpanBook;
  readonly #context: SpanContext;
  readonly #labelOf: (address: Pid<never> | string) => string;
  #budget = FULL_BUDGET;
  /** Until the second of the budget is over: no trace begins, or none with one of these names. */
  #isSpent = false;
  readonly #spent = new Set<string>();
  /** Callees by their numbers, each with a method that is refused. */
  readonly #callees = new Float64Array(CALLEES);
  readonly #methods: (string | undefined)[] = new Array<string | undefined>(CALLEES).fill(undefined);
  #second: Timer | undefined = undefined;

  constructor(
    kernel: Kernel,
    book: SpanBook,
    context: SpanContext,
    labelOf: (address: Pid<never> | string) => string,
  ) {
    this.#kernel = kernel;
    this.#book = book;
    this.#context = context;
    this.#labelOf = labelOf;
  }

  call(
    by: Process | undefined,
    to: Pid<never> | string,
    callee: Process | undefined,
    method: string | undefined,
  ): Verdict {
    const place = this.#placeOf(by);
    if (place === REFUSED || (place === undefined && this.#isSpent)) return REFUSED;
    const number = callee === undefined ? 0 : callee.pid.id;
    const slot = number & (CALLEES - 1);
    if (place === undefined && number !== 0)
      if (this.#callees[slot] === number && this.#methods[slot] === method) return REFUSED;
    const verdict = this.#from(place, `${this.#labelOf(to)}/${method ?? "call"}`);
    if (verdict === REFUSED && place === undefined) {
      this.#callees[slot] = number;
      this.#methods[slot] = method;
    }
    return verdict;
  }

  work(by: Process | undefined, name: string): Verdict {
    return this.#from(this.#placeOf(by), name);
  }

  request(name: string): Verdict {
    return this.#from(undefined, name);
  }

  resumed(trace: string | null, name: string): Verdict {
    if (this.#kernel.carriesContext) return this.#from(this.#context.here, name);
    return this.#from(trace === null ? undefined : fromTraceparent(trace), name);
  }

  handling(cause: number | undefined, label: string): Verdict {
    const place = cause === undefined ? this.#context.here : this.#book.placeOf(cause);
    return place === undefined ? undefined : this.#from(place, label);
  }

  message(): "kept" | "refused" | undefined {
    if (!this.#kernel.carriesContext) return undefined;
    const place = this.#placeOf(undefined);
    return place === undefined ? undefined : place === REFUSED ? "refused" : "kept";
  }

  end(): void {
    if (this.#second !== undefined) this.#kernel.cancelTimer(this.#second);
  }

  #from(place: Place | undefined, name: string): Verdict {
    if (place === REFUSED) return REFUSED;
    if (place !== undefined && this.#book.ring.has(place.trace)) return place;
    return this.#isAdmitted(name) ? (place ?? ROOT) : REFUSED;
  }

  #isAdmitted(name: string): boolean {
    if (this.#isSpent || this.#spent.has(name)) return false;
    const now = this.#kernel.env.now();
    const [budget, isAdmitted] = spend(this.#budget, name, now);
    this.#budget = budget;
    if (isAdmitted) return true;
    if (budget.all >= ROOTS_PER_S.all) this.#isSpent = true;
    else this.#spent.add(name);
    this.#second ??= this.#kernel.addTimer(budget.from + SECOND_MS - now, { fire: () => this.#renew() });
    return false;
  }

  #renew(): void {
    this.#second = undefined;
    this.#isSpent = false;
    this.#spent.clear();
    this.#callees.fill(0);
  }

  /**
   * What the code that runs follows from. A body runs in the context in which it began, so the message that it took is asked first; callbacks run in
   * the context of their message, or of something in it. Refused work has no context of its own: its process knows.
   */
  #placeOf(by: Process | undefined): Place | undefined {
    const { here } = this.#context;
    const process = by ?? this.#kernel.calls.running;
    if (process === undefined) return here;
    const seen = asObserved(process);
    if (seen === undefined) return here ?? (isHelper(process) ? REFUSED : undefined);
    const { handling, handle } = seen;
    if (handling === undefined) return here ?? (seen.refusedWork > 0 ? REFUSED : undefined);
    const handled = this.#handled(handling);
    if (handle === undefined && by !== undefined && handled !== undefined) return handled;
    return here ?? (by !== undefined || handled === REFUSED ? handled : undefined);
  }

  #handled({ isRefused, number }: Handling): Place | undefined {
    return isRefused ? REFUSED : this.#book.placeOf(number);
  }
}

/** What the library's own helpers do on behalf of others is followed there. What they do by themselves is in no trace. */
function isHelper({ behaviour }: Process): boolean {
  return (behaviour as Partial<Callbacks<unknown>>).isHelper === true;
}
