// What happened in a schedule, step by step, as data: for people (render.ts), for diagrams (mermaid.ts), for reports.

/** Something that a step did besides changing the state of its own process. */
export type TraceEffect =
  /** `held`: the message was delayed, and arrives in a step of its own. */
  | { readonly type: "send"; readonly to: string; readonly message: string; readonly held: boolean }
  | { readonly type: "spawn"; readonly process: string }
  | { readonly type: "exit"; readonly process: string; readonly reason: string }
  /** A promise that code of `process` awaits was settled. */
  | { readonly type: "settle"; readonly process: string; readonly what: string }
  | { readonly type: "note"; readonly text: string };

/** One step of a schedule. Processes are named by their path in the tree. */
export type TraceStep = {
  /** From 1. */
  readonly number: number;
  /** Virtual milliseconds. */
  readonly at: number;
  readonly effects: readonly TraceEffect[];
} & (
  | { readonly type: "run"; readonly process: string; readonly took: string }
  | { readonly type: "resume"; readonly process: string; readonly from: string }
  | { readonly type: "deliver"; readonly process: string; readonly from: string; readonly message: string }
  /** Time went on to `at`, and a timer fired. */
  | { readonly type: "timer"; readonly process: string; readonly what: string }
  | { readonly type: "fault"; readonly process: string; readonly fault: string }
);

/** A whole schedule. */
export interface Trace {
  readonly steps: readonly TraceStep[];
  /** What went wrong at its end; undefined when nothing did. */
  readonly failure: string | undefined;
}
