// The messages between a pool and its threads, and the port between them: production opens a thread of the host, the simulator
// runs the functions in its own thread.

import type { Context } from "../../process/context.js";
import type { ThreadEnd, ThreadLimits } from "../../process/thread.js";
import type { JobTrace } from "../telemetry/edges.js";

/** To a thread: run a function, or, without a name, a job is not wanted any more. */
export type ToThread =
  | readonly [id: number, name: string, args: readonly unknown[], trace?: JobTrace | undefined]
  | readonly [id: number];

/** The kinds of messages of a thread. They are numbers, because each job costs one. */
export const SAID = {
  /** The job returned a value. */
  fulfilled: 0,
  /** The job threw; the value is a {@link PackedError}. */
  rejected: 1,
  /** The result of the job cannot be cloned; the value is the path of the part, and what the host threw. */
  uncloneable: 2,
  /** The job reports its progress. */
  progress: 3,
  /** The worker file is loaded; the value is the names of its functions. */
  ready: 4,
  /** The worker file threw while it was loaded; the value is a {@link PackedError}. */
  unloadable: 5,
  /** The thread has had nothing to do for `idleMs`. */
  idle: 6,
} as const;

export type Said = (typeof SAID)[keyof typeof SAID];

/** From a thread. `worn` tells that the thread uses more memory than `maxHeapMb`. */
export type FromThread = readonly [id: number, said: Said, value: unknown, worn?: boolean];

/** An error on its way between threads: structured clone keeps neither the class nor the properties. */
export interface PackedError {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  /** Own properties that can be cloned. */
  readonly properties: Readonly<Record<string, unknown>>;
  readonly cause: PackedThrown | undefined;
  /** Of an AggregateError. */
  readonly errors: readonly PackedThrown[] | undefined;
}

/** Something that was thrown: an error, or any other value. */
export type PackedThrown = { readonly error: PackedError } | { readonly value: unknown };

/** The program of a thread. */
export interface ThreadSpec {
  /** URL of the worker file. */
  readonly file: string;
  readonly limits: ThreadLimits | undefined;
  /** Milliseconds without a job after which the thread says that it is idle. */
  readonly idleMs: number;
  /** The thread says that it is worn when its heap is larger than this. */
  readonly maxHeapMb: number;
}

export interface ThreadEvents {
  said(message: FromThread): void;
  /** The thread has ended by itself. */
  ended(end: ThreadEnd): void;
}

/** A thread, for the process that owns it. */
export interface ThreadPort {
  /** @throws DataCloneError of the host */
  post(message: ToThread, transfer: readonly object[] | undefined): void;
  /** Whether a job waits for this thread: only then the thread keeps the host alive. */
  keepAlive(flag: boolean): void;
  /** Ends the thread, even in the middle of a job. Resolves when the thread is gone. */
  end(): Promise<unknown>;
}

/** Opens a thread for the process of `ctx`. */
export type OpenThread = (spec: ThreadSpec, events: ThreadEvents, ctx: Context<never>) => ThreadPort;

declare module "../../process/environment.js" {
  interface Environment {
    /** @internal Opens the threads of pools. Absent in production, where they are threads of the host. */
    readonly openThread?: OpenThread;
  }
}
