// The state of the machine of a dynamic supervisor, and the events and effects of dynamic-machine.ts. `P` identifies a running child:
// the process around the machine uses pids.

import type { ExitReason } from "../process/reason.js";
import type { SoleName } from "../process/via.js";
import type { FullChildSpec } from "./child.js";
import type { ByName, ChildName } from "./child-name.js";
import type { Answer, Restarting } from "./protocol.js";
import type { Queue } from "./queue.js";
import type { RestartLimits } from "./restart-rule.js";

/** How the supervisor treats its children. */
export interface DynamicConfig extends RestartLimits {
  readonly spec: FullChildSpec;
  readonly maxChildren: number;
}

/** One child. */
export interface DynamicChild<P> {
  readonly key: string;
  readonly args: readonly unknown[];
  readonly name: ChildName | undefined;
  /** Its process. Undefined while it waits for its next start. */
  pid: P | undefined;
  /** Its last process, until the next start has succeeded: a request may still name the child by that pid. */
  former: P | undefined;
  starting: boolean;
  /** The request that added the child, until the first start has ended. */
  asker: number | undefined;
  /** The requests that terminate the child, if there are any. */
  stopping: number[] | undefined;
  /** The requests for this name that wait until the child runs or is gone, the oldest first, if there are any. */
  waiting: Set<number> | undefined;
  /** When it last came up. */
  since: number;
  /** How often it was started again without running for the reset time of the backoff in between. */
  attempts: number;
  /** Why it last ended. */
  failure: ExitReason;
}

export interface DynamicState<P> {
  readonly config: DynamicConfig;
  readonly children: Map<string, DynamicChild<P>>;
  readonly byPid: Map<P, DynamicChild<P>>;
  /** Each child whose name no other one may have. */
  readonly byName: ByName<DynamicChild<P>>;
  /** Times of the restarts within the period. */
  restarts: Queue<number>;
  /** Why the supervisor stops its children and ends, once it does. */
  closing: ExitReason | undefined;
  /** While closing: children that have yet to get the order to stop, or to die. */
  orders: Queue<DynamicChild<P>>;
  /** While closing: the shutdown time that all children share is over. */
  timeIsUp: boolean;
  lastKey: number;
  /** Children that have come up, ended, or are gone, for a witness. Undefined while there is none. */
  changed: { readonly child: DynamicChild<P>; readonly isNew: boolean }[] | undefined;
}

/** `token` names a request in its answer. */
export type DynamicEvent<P> =
  | {
      readonly type: "add";
      readonly token: number;
      readonly args: readonly unknown[];
      readonly name?: ChildName | undefined;
      /** Whether the child that has the name answers the request, if there is one. Otherwise the request is refused. */
      readonly orGet?: boolean;
      /** The process of that child has ended, and its end is still to be handled; see {@link holderOf}. */
      readonly isDead?: boolean;
    }
  /** The caller of a request that waits has given up. */
  | { readonly type: "withdrawn"; readonly key: string; readonly token: number }
  | {
      readonly type: "terminate";
      readonly token: number;
      readonly pid: P | undefined;
      readonly name?: SoleName | undefined;
    }
  /** A start that the machine ordered has a process now. */
  | { readonly type: "spawned"; readonly key: string; readonly pid: P }
  | { readonly type: "started"; readonly key: string; readonly at: number }
  | { readonly type: "ignored"; readonly key: string }
  | { readonly type: "failed"; readonly key: string; readonly reason: ExitReason }
  | {
      readonly type: "exited";
      readonly pid: P;
      readonly reason: ExitReason;
      readonly at: number;
      /** A number in [0, 1) for the jitter of a backoff; see {@link isRestart}. */
      readonly roll: number;
    }
  /** A failed start is tried again. */
  | { readonly type: "retry"; readonly key: string; readonly at: number; readonly roll: number }
  /** The wait of a backoff is over. */
  | { readonly type: "resume"; readonly key: string }
  | { readonly type: "close"; readonly reason: ExitReason }
  | { readonly type: "time-up" }
  | { readonly type: "go-on" };

export type DynamicEffect<P> =
  | {
      readonly type: "start";
      readonly key: string;
      readonly args: readonly unknown[];
      readonly name: ChildName | undefined;
    }
  | { readonly type: "answer"; readonly token: number; readonly answer: Answer<P> }
  | { readonly type: "refuse"; readonly token: number; readonly why: "max_children" | "already_started" }
  /** The request waits with a child, until the machine answers it, asks it again, or its caller gives up. */
  | { readonly type: "hold"; readonly key: string; readonly token: number }
  /** The child that these requests waited with has come up, or failed to start. */
  | { readonly type: "answer-all"; readonly tokens: Iterable<number>; readonly answer: Answer<P> }
  /** The child that these requests waited with is gone: the same requests are added again, in order. */
  | { readonly type: "ask-again"; readonly tokens: Iterable<number> }
  /** Stops one child within its shutdown time. */
  | { readonly type: "stop"; readonly key: string; readonly pid: P }
  /** The child of a `stop` has ended: its timer is no longer needed. */
  | { readonly type: "stopped"; readonly key: string }
  | { readonly type: "abort-start" | "shut-down" | "kill"; readonly pid: P }
  | { readonly type: "retry"; readonly key: string }
  | { readonly type: "resume-after"; readonly key: string; readonly delayMs: number }
  | { readonly type: "time-up-after"; readonly delayMs: number }
  /** More orders are left: the supervisor comes back to them after its other messages. */
  | { readonly type: "go-on" }
  | { readonly type: "report-restart"; readonly key: string; readonly restart: Restarting }
  /** A child failed and is not restarted. */
  | { readonly type: "report-exit"; readonly reason: ExitReason }
  | { readonly type: "exit"; readonly reason: ExitReason };
