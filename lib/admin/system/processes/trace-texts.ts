// Traces of processes that several viewers read by polling. A trace begins with the first look, and ends by itself some time after the
// last one: a viewer that is gone leaves nothing behind.

import { NoProcessError } from "../../../process/errors.js";
import { Inspector } from "../../../process/inspection.js";
import type { Trace } from "../../../process/inspection-stream.js";
import type { TraceEvent } from "../../../process/inspection-trace.js";
import type { Kernel } from "../../../process/kernel.js";
import { oneLine } from "../../../process/printable.js";
import type { Process } from "../../../process/process.js";
import { cut, formatReason, isError, kindOf, show, showError } from "../../../process/show.js";
import { unheldTimer } from "../../unheld-timer.js";
import type { TraceLine, TraceText } from "./operations.js";

/** The limits of traces. */
export const TRACE_LIMITS = {
  /** Events that are kept, and most that are written down between two looks: a process that has more is not slowed down by texts. */
  events: 1_000,
  /** A trace ends so long after the last look. */
  idleMs: 15_000,
  /** Traces of a system. One more ends the trace that nobody has looked at for longest. */
  traces: 16,
  /** Characters of an event. */
  text: 500,
} as const;

/** The last events of one trace. */
export class TraceRing {
  #events: TraceLine[] = [];
  #number = 0;
  #sinceLook = 0;
  #isEnded = false;

  /** Counts an event, and writes it down unless there were too many since the last look. */
  add(at: number, type: string, text: () => string): void {
    this.#number++;
    if (type === "exit") this.#isEnded = true;
    else if (++this.#sinceLook > TRACE_LIMITS.events) return;
    this.#events.push({ number: this.#number, at, type, text: oneLine(cut(text(), TRACE_LIMITS.text)) });
    // Old events go in large steps, so that one more event costs no move of all.
    if (this.#events.length >= 2 * TRACE_LIMITS.events)
      this.#events = this.#events.slice(-TRACE_LIMITS.events);
  }

  /** What a viewer sees, and a new look begins. */
  look(): Omit<TraceText, "contents"> {
    this.#sinceLook = 0;
    const events = this.#events.slice(-TRACE_LIMITS.events);
    return { events, dropped: this.#number - events.length, ended: this.#isEnded };
  }
}

interface Traced {
  readonly ring: TraceRing;
  readonly trace: Trace;
  lookedAt: number;
  cancel: () => void;
}

export class TraceTexts {
  readonly #kernel: Kernel;
  /** By the numbers of processes: the trace that was looked at last comes last. */
  readonly #traces = new Map<number, Traced>();

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /** The trace that runs already, or has ended with its process a short time ago. */
  known(number: number | undefined): TraceText | undefined {
    const traced = number === undefined ? undefined : this.#traces.get(number);
    return traced === undefined ? undefined : this.#look(number as number, traced);
  }

  /** The trace of a process. It begins, if it does not run. @throws NoProcessError */
  of(process: Process): TraceText {
    const { id } = process.pid;
    return this.known(id) ?? this.#look(id, this.#begin(process));
  }

  #look(id: number, traced: Traced): TraceText {
    traced.lookedAt = this.#kernel.env.now();
    this.#traces.delete(id);
    this.#traces.set(id, traced);
    return { ...traced.ring.look(), contents: this.#kernel.reports.tellsMessages };
  }

  #begin(process: Process): Traced {
    const kernel = this.#kernel;
    const { pid } = process;
    if (kernel.stopped) throw new NoProcessError(String(pid), kernel.node.name);
    const ring = new TraceRing();
    const write = (event: TraceEvent): void => {
      if (event.type !== "dropped")
        ring.add(this.#wall(event.atMs), event.type, () => eventText(kernel, event));
    };
    // Without states: the copy of a large state after each message would be dear.
    const trace = new Inspector(kernel, pid, undefined).trace(write, { state: false });
    const traced: Traced = {
      ring,
      trace,
      lookedAt: kernel.env.now(),
      cancel: unheldTimer(kernel, TRACE_LIMITS.idleMs, () => this.#review(pid.id, traced)),
    };
    for (const [oldest, other] of this.#traces) {
      if (this.#traces.size < TRACE_LIMITS.traces) break;
      this.#end(oldest, other);
    }
    this.#traces.set(pid.id, traced);
    return traced;
  }

  /** Ends the trace, or waits until it may end. */
  #review(id: number, traced: Traced): void {
    const left = traced.lookedAt + TRACE_LIMITS.idleMs - this.#kernel.env.now();
    if (left <= 0) this.#end(id, traced);
    else traced.cancel = unheldTimer(this.#kernel, left, () => this.#review(id, traced));
  }

  #end(id: number, traced: Traced): void {
    this.#traces.delete(id);
    traced.cancel();
    void traced.trace.return();
  }

  #wall(atMs: number): number {
    const { env } = this.#kernel;
    return env.wallTime() + atMs - env.now();
  }
}

/** Arguments of a call that are shown. */
const MOST_ARGS = 10;

type Shown = Exclude<TraceEvent, { readonly type: "dropped" }>;

/** An event in one line. The contents of messages are shown as reports show them. */
function eventText(kernel: Kernel, event: Shown): string {
  const told = (value: unknown): string => {
    const said = kernel.reports.said(value);
    return said === undefined ? kindOf(value) : show(said.message);
  };
  switch (event.type) {
    case "message":
      return told(event.message);
    case "call":
      return `#${event.call} ${invocation(kernel, event.method, event.args)}`;
    case "cast":
      return invocation(kernel, event.method, event.args);
    case "signal":
      return signalText(event.signal);
    case "reply":
      return `#${event.call} ${!event.ok && isError(event.value) ? showError(event.value) : told(event.value)}`;
    case "state":
      return "";
    case "format":
      return showError(event.error);
    case "exit":
      return formatReason(event.reason);
    default:
      return event satisfies never;
  }
}

/** `take(3)`, or `take(…)` where the contents of messages are not told. */
function invocation(kernel: Kernel, method: string | undefined, args: readonly unknown[]): string {
  if (method === undefined) {
    const said = kernel.reports.said(args[0]);
    return said === undefined ? kindOf(args[0]) : show(said.message);
  }
  // `redact` knows the messages of a server by these two fields.
  const said = kernel.reports.said({ method, args });
  const shown: unknown = (said?.message as { readonly args?: unknown } | undefined)?.args;
  if (said === undefined) return `${method}(${args.length === 0 ? "" : "…"})`;
  if (!Array.isArray(shown)) return show(said.message);
  return `${method}(${shown.slice(0, MOST_ARGS).map(show).join(", ")})`;
}

function signalText(signal: Extract<TraceEvent, { readonly type: "signal" }>["signal"]): string {
  switch (signal.type) {
    case "exit":
      return `EXIT of ${signal.from}: ${formatReason(signal.reason)}`;
    case "down":
      return `DOWN of ${signal.pid}: ${formatReason(signal.reason)}`;
    default:
      return show(signal);
  }
}

const all = new WeakMap<Kernel, TraceTexts>();

/** The traces of a system that operations have begun. */
export function tracesOf(kernel: Kernel): TraceTexts {
  const known = all.get(kernel);
  if (known !== undefined) return known;
  const traces = new TraceTexts(kernel);
  all.set(kernel, traces);
  return traces;
}
