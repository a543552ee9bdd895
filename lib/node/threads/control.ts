// The control messages between a thread and its owner. Frames go over ports of their own.

import type { RemoteNode } from "../../process/pid.js";
import type { HostPort } from "../../process/thread.js";
import type { SessionOptions } from "../session/sessions.js";

/** The data with which a thread starts. */
export interface ThreadStart {
  /** URL of the program. */
  readonly file: string;
  /** The name of its system. */
  readonly name: string;
  /** Whether its messages carry the context of their sender: as in the system of the owner. */
  readonly context: "sender" | "system";
  readonly control: HostPort;
  /** The line to the main thread. */
  readonly line: HostPort;
  /** The node of the main thread. */
  readonly main: RemoteNode;
  /** The event loop of the thread increments a counter here, so that the owner can see whether it hangs. */
  readonly beats: Int32Array;
  readonly beatMs: number;
  /** The number of the job whose function has the thread; 0 for none. When the thread has ended, the owner sees who had it. */
  readonly atWork: Int32Array;
  readonly sessions: Omit<SessionOptions, "errors">;
  /** The `data` option of the owner. */
  readonly data: unknown;
}

/** To a thread. */
export type ToThread =
  | { readonly type: "peer"; readonly node: RemoteNode; readonly line: HostPort }
  | { readonly type: "stop"; readonly timeoutMs: number };

/** From a thread: its programs can be started; its system has stopped. */
export type FromThread =
  | { readonly type: "ready"; readonly node: RemoteNode; readonly starter: number }
  | { readonly type: "stopped" };

/** Key of the function that a thread calls. All copies of the library share the key, since the program may have its own copy. */
export const PROGRAM = "signalbox.threadProgram";

/** Where the start is in the `workerData` of a thread. */
export const START = "signalboxThread";
