// What happened in a schedule, step by step, as data: for people (render.ts), for diagrams (mermaid.ts), for reports.

/** Something that a step did besides changing the state of its own process. */
export type TraceEffect =
  | {
      /** A message or signal was sent. */
      readonly type: "send";
      /** Path of the process that the message goes to. */
      readonly to: string;
      /** The message, as a short text. */
      readonly message: string;
      /** Whether the message is on its way, and arrives in a step of its own. */
      readonly held: boolean;
    }
  | {
      /** A process was spawned. */
      readonly type: "spawn";
      /** Path of the new process. */
      readonly process: string;
    }
  | {
      /** A process ended. */
      readonly type: "exit";
      /** Path of the process that ended. */
      readonly process: string;
      /** The exit reason, as a short text. */
      readonly reason: string;
    }
  | {
      /** A promise that code of a process awaits was settled. */
      readonly type: "settle";
      /** Path of the process whose code awaits the promise. */
      readonly process: string;
      /** The awaited event in a few words, such as `a receive`. */
      readonly what: string;
    }
  | {
      /** The scenario or the simulator added a line. */
      readonly type: "note";
      /** The line. */
      readonly text: string;
    };

/**
 * What came of a request to the outside world: it took effect; it failed without effect; it took effect, but its caller sees a
 * failure; or it was cut off with its caller, without effect.
 */
export type RequestOutcome = "done" | "refused" | "answer lost" | "cut off";

/** One step of a schedule. Processes are named by their path in the tree. */
export type TraceStep = {
  /** From 1. */
  readonly number: number;
  /** Virtual milliseconds. */
  readonly at: number;
  /** The effects of the step, in order. */
  readonly effects: readonly TraceEffect[];
} & (
  | {
      /** A process started, or took a message or signal. */
      readonly type: "run";
      /** Path of the process. */
      readonly process: string;
      /** `starts`, `wakes`, or the message as a short text, with its sender where that is certain. */
      readonly took: string;
    }
  | {
      /** Code went on after an await. */
      readonly type: "resume";
      /** Path of the process whose code went on. */
      readonly process: string;
      /** The awaited event in a few words, such as `a receive`. */
      readonly from: string;
    }
  | {
      /** A message that was on its way arrived. */
      readonly type: "deliver";
      /** Path of the process that got the message, or of its system when the message came over a network. */
      readonly process: string;
      /** Path of the sender, or of its system when the message came over a network. */
      readonly from: string;
      /** The message, as a short text. */
      readonly message: string;
    }
  | {
      /** A request of `sim.io` took effect, or failed to. */
      readonly type: "effect";
      /** Name of the function that was given to `sim.io`. */
      readonly process: string;
      /** Path of the process that sent the request. */
      readonly from: string;
      /** The arguments of the request, as a short text. */
      readonly request: string;
      /** What came of the request. */
      readonly outcome: RequestOutcome;
    }
  | {
      /** Time went on to `at`, and a timer fired. */
      readonly type: "timer";
      /** Paths of the systems whose timers fired, with commas between; `the simulator` for a timer of its own. */
      readonly process: string;
      /** The event in a few words. */
      readonly what: string;
    }
  | {
      /** The simulator injected a fault. */
      readonly type: "fault";
      /** Path of the process that the fault struck. For a cut of the network: name of one of the two systems. */
      readonly process: string;
      /** The fault in a few words. */
      readonly fault: string;
    }
);

/** A whole schedule. */
export interface Trace {
  /** The steps of the schedule, in order. */
  readonly steps: readonly TraceStep[];
  /** What went wrong at its end; undefined when nothing did. */
  readonly failure: string | undefined;
}
