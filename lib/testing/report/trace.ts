// What happened in a schedule, step by step, as data: for people (render.ts), for diagrams (mermaid.ts), for reports.

import type { ProcessStatus } from "../../process/info.js";

/** Something that a step did besides changing the state of its own process. */
export type TraceEffect =
  | {
      /** A message or signal was sent. */
      readonly type: "send";
      /** Number of the message in the schedule, from 1. The step that takes the message has the same number. */
      readonly letter?: number;
      /** Path of the sender. The sender of a signal is the process that ended. */
      readonly from?: string;
      /** Place of the sending code. */
      readonly place?: string;
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
      /** Place of the code that spawned it, unless that is the library's. */
      readonly place?: string;
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
      /** The value or the error, such as `reply 97`. */
      readonly result?: string;
    }
  | {
      /** A message was discarded: no process will take it. */
      readonly type: "lost";
      /** Number of the message, if it was on its way or in a mailbox. */
      readonly letter?: number;
      /** Path of the process, or name, that the message was for. */
      readonly to: string;
      /** The message, as a short text. */
      readonly message: string;
      /** The cause in a few words, such as `no such process`. */
      readonly reason: string;
    }
  | {
      /** The scenario or the simulator made a choice other than of the next step. */
      readonly type: "choice";
      /** The label of the choice, such as the one given to `sim.choose`. */
      readonly label: string;
      /** The chosen value, as a short text. */
      readonly value: string;
    }
  | {
      /** Something happened in a simulated device, such as a disk. */
      readonly type: "device";
      /** The device, such as `disk`. */
      readonly device: string;
      /** The event in a few words, such as `append 12 bytes to log`. */
      readonly text: string;
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

/** A process after a step that changed it. */
export interface ProcessChange {
  /** Path of the process. */
  readonly process: string;
  /** What the process does: a {@link ProcessStatus}, or `ended`. */
  readonly status: ProcessStatus | "ended";
  /** Numbers of the messages in its mailbox, oldest first; see the effect `send`. */
  readonly mailbox: readonly number[];
  /** Paths of the processes that it is linked to. */
  readonly links: readonly string[];
  /** Paths of the processes that it monitors. */
  readonly monitors: readonly string[];
}

/** One step of a schedule. Processes are named by their path in the tree. */
export type TraceStep = {
  /** From 1. */
  readonly number: number;
  /** Virtual milliseconds. */
  readonly at: number;
  /** Place of the code that ran, as `file:line:column`, where it is known. */
  readonly place?: string;
  /** The effects of the step, in order. */
  readonly effects: readonly TraceEffect[];
  /** The processes that differ from before the step. */
  readonly changes?: readonly ProcessChange[];
  /** The values of `sim.state` after the step, as short texts, if they differ from before the step. */
  readonly states?: readonly string[];
} & (
  | {
      /** A process started, or took a message or signal. */
      readonly type: "run";
      /** Path of the process. */
      readonly process: string;
      /**
       * The message that the process took, as a short text. Without a message: `starts`; `wakes`; or, when a selective receive
       * found nothing, `looks at 2 messages, none fits`.
       */
      readonly took: string;
      /** Path of the sender of the message. */
      readonly sender?: string;
      /** Number of the message; see the effect `send`. */
      readonly letter?: number;
    }
  | {
      /** Code went on after an await. */
      readonly type: "resume";
      /** Path of the process whose code went on. */
      readonly process: string;
      /** The awaited event in a few words, such as `a receive`. */
      readonly from: string;
      /** The value or the error, such as `reply 97`. */
      readonly result?: string;
    }
  | {
      /** A message that was on its way arrived. */
      readonly type: "deliver";
      /** Path of the process that got the message. */
      readonly process: string;
      /** Path of the sender. */
      readonly from: string;
      /** The message, as a short text. */
      readonly message: string;
      /** Number of the message; see the effect `send`. */
      readonly letter?: number;
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
      /** Number of the request; see the effect `send`. */
      readonly letter?: number;
      /** The outcome of the request. */
      readonly outcome: RequestOutcome;
    }
  | {
      /** A timer fired. */
      readonly type: "timer";
      /** The process that set the timer; `the simulator` for the end of a fault. */
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
  /** The failure at its end; undefined when there was none. */
  readonly failure: string | undefined;
}
