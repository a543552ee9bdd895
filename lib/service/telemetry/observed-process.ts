// The process of a system with telemetry: a class of its own, so that others pay nothing for their messages.

import { ContextMessage, isSpecial } from "../../process/entries.js";
import type { Process } from "../../process/process.js";
import { SUSPENDED } from "../../process/process-state.js";
import type { ProcessBegin, StartBegin } from "./events.js";
import { castOf, type Marker } from "./marks.js";
import type { CallMeter, MessageMeter } from "./meters.js";
import type { Recorder } from "./recorder.js";
import { type Handling, REFUSED_HANDLING, type Refuser } from "./refused.js";

/** The additional fields of such a process. */
export interface Observed extends Refuser {
  /** The message that it handles. */
  handling: Handling | undefined;
  /** The span of the message on which it crashed, or of the HTTP request that it handles: its crash follows from it. */
  crashedOn: number | undefined;
  life: ProcessBegin | undefined;
  starting: StartBegin | undefined;
  /** Whether its messages are followed. Set when it is spawned. */
  isFollowed: boolean;
  /** Messages until the next one that is marked. */
  untilMarked: number;
  /** Counts the calls to this process. */
  counted: CallMeter | undefined;
  /** Times its messages. */
  timed: MessageMeter | undefined;
}

const made = new Map<typeof Process, typeof Process>();

/** Makes a class of processes one whose messages telemetry sees. */
export function observed(Base: typeof Process): typeof Process {
  const known = made.get(Base) ?? observedClass(Base);
  made.set(Base, known);
  return known;
}

/** The process as telemetry knows it; undefined if it was spawned before telemetry began. */
export function asObserved(process: Process): (Process & Observed) | undefined {
  const { isFollowed } = process as Partial<Observed>;
  return isFollowed === undefined ? undefined : (process as Process & Observed);
}

function observedClass(Base: typeof Process): typeof Process {
  return class extends Base implements Observed {
    handling: Handling | undefined = undefined;
    refusedWork = 0;
    crashedOn: number | undefined = undefined;
    life: ProcessBegin | undefined = undefined;
    starting: StartBegin | undefined = undefined;
    isFollowed = false;
    untilMarked = 1;
    counted: CallMeter | undefined = undefined;
    /** An entry of the mailbox may have a mark. */
    #mayBeMarked = false;
    /** What is being delivered is a call or a delivery, which is marked by itself. */
    #isRequest = false;
    timed: MessageMeter | undefined = undefined;

    override deliver(message: unknown, from?: Process): void {
      const recorder = this.#recorder;
      let entry = message;
      if (recorder !== undefined && this.isFollowed && !this.#isRequest && recorder.marks(this, message)) {
        this.#mayBeMarked = true;
        this.mixed = true;
        entry = marked(message, recorder);
      }
      super.deliver(entry, from);
    }

    override deliverRequest(request: Parameters<Process["deliverRequest"]>[0]): void {
      if (request.tap !== undefined && (request.tap as Partial<Marker>).isMarker === true)
        this.#mayBeMarked = true;
      this.#isRequest = true;
      try {
        super.deliverRequest(request);
      } finally {
        this.#isRequest = false;
      }
    }

    protected override open(entry: unknown): unknown {
      if (!this.#mayBeMarked) return super.open(entry);
      const recorder = this.#recorder;
      if (recorder === undefined || !this.isFollowed) return super.open(entry);
      const span = recorder.opened(this, entry);
      if (span === undefined) return super.open(entry);
      this.handling = span;
      if (span === REFUSED_HANDLING && recorder.watch?.refusing === undefined) {
        const result = super.open(entry);
        if (result === undefined) this.handling = undefined;
        return result;
      }
      const result = recorder.around(span, () => super.open(entry));
      if (result === undefined) this.#finish("handled");
      return result;
    }

    override settle(result: unknown, message: unknown): boolean {
      const waits = super.settle(result, message);
      if (this.handling !== undefined && this.state !== SUSPENDED) this.#finish("handled");
      return waits;
    }

    /** An asynchronous handler has settled, or a body receives again. */
    override proceed(): void {
      if (this.handling !== undefined) this.#finish("handled");
      if (this.#mayBeMarked && this.isEmpty) this.#mayBeMarked = false;
      super.proceed();
    }

    override failed(error: unknown, message: unknown): void {
      if (this.handling !== undefined) {
        this.crashedOn = this.handling.number;
        this.#finish("crashed");
      }
      super.failed(error, message);
    }

    #finish(outcome: "handled" | "crashed"): void {
      const { handling } = this;
      this.handling = undefined;
      handling?.ended(outcome);
    }

    get #recorder(): Recorder | undefined {
      return this.kernel.taps as Recorder | undefined;
    }
  };
}

/** Notes when a message arrived. Casts that are followed, calls and deliveries have noted it themselves. */
function marked(message: unknown, recorder: Recorder): unknown {
  const isWrapped = isSpecial(message);
  if (isWrapped ? !(message instanceof ContextMessage) : castOf(message)?.tap !== undefined) return message;
  const entry = isWrapped
    ? (message as ContextMessage)
    : new ContextMessage(message, recorder.kernel.context);
  entry.tap = recorder.markFor(entry.message);
  return entry;
}
