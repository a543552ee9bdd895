// The signals between nodes, in the form in which a transport carries them.

import type { ExitReason } from "./exit-reason.js";
import type { ExitSource } from "./exit-signal.js";
import type { RemoteNode } from "./pid.js";
import type { ReplyTo } from "./reply-to.js";
import type { WireTrace } from "./wire-trace.js";

/** A pid in the form that travels between nodes. */
export interface PidAddress {
  /** The node of the process. */
  readonly node: RemoteNode;
  /** The number of the process within its node. */
  readonly id: number;
}

/** A reply address in the form that travels between nodes. */
export interface ReplyAddress {
  /** The node of the caller. */
  readonly node: RemoteNode;
  /** The number of the call within its node. */
  readonly ref: number;
}

/** How a call to another node has ended at the node of its callee. */
export type ReplyOutcome =
  | {
      readonly ok: true;
      /** The reply. */
      readonly value: unknown;
    }
  | {
      readonly ok: false;
      /** The error of a refusal, or of a mailbox without room. */
      readonly error: unknown;
    }
  | {
      /** The exit reason of the callee; `noproc` when it did not exist. */
      readonly exited: ExitReason;
      /** The callee never began with the request. */
      readonly isUntaken: boolean;
    };

/**
 * A signal in the form that travels between nodes. The transport has to encode the pids and reply addresses inside
 * `message`, `reason` and `outcome`: `system.address` and `system.replyAddress` give their forms for the wire.
 */
export type WireSignal =
  | {
      readonly type: "message";
      /** The receiver. */
      readonly to: PidAddress;
      /** The message as the sender gave it. */
      readonly message: unknown;
      /** The trace that it belongs to, in a system that is traced. A transport may leave it out. */
      readonly trace?: WireTrace;
    }
  | {
      readonly type: "call";
      /** The process that made the call. Undefined when code outside of all processes did. */
      readonly from: PidAddress | undefined;
      /** The callee. */
      readonly to: PidAddress;
      /** Where the reply goes. It may be inside `message`, or be the message itself. */
      readonly replyTo: ReplyTo<unknown>;
      /** The message as the caller built it. */
      readonly message: unknown;
      /** The trace that it belongs to, in a system that is traced. A transport may leave it out. */
      readonly trace?: WireTrace;
    }
  | {
      readonly type: "reply";
      /** The process that was called. Number 0 when another one answers. */
      readonly from: PidAddress;
      /** The call that ends. */
      readonly to: ReplyAddress;
      /** The reply, or the end of the callee. */
      readonly outcome: ReplyOutcome;
    }
  | {
      /** The caller waits no more: a request that still waits at the callee is withdrawn. */
      readonly type: "cancel";
      /** The callee. */
      readonly to: PidAddress;
      /** The call that ends. */
      readonly replyTo: ReplyAddress;
    }
  | {
      readonly type: "link";
      /** The process that made the link. */
      readonly from: PidAddress;
      /** The process at the other end of the link. */
      readonly to: PidAddress;
    }
  | {
      /** A process has ended a link, or acknowledges that the process at the other end has. */
      readonly type: "unlink" | "unlinked";
      /** Number of the end within the node of the process that ended the link. */
      readonly id: number;
      /** The process that ended the link, or acknowledges it. */
      readonly from: PidAddress;
      /** The process at the other end of the link. */
      readonly to: PidAddress;
    }
  | {
      readonly type: "exit";
      /** The process that exited, or that sent the signal. */
      readonly from: PidAddress;
      /** The receiver. */
      readonly to: PidAddress;
      /** The exit reason that the signal carries. */
      readonly reason: ExitReason;
      /** `link`: a linked process exited. `exit`: code called `exit(pid, reason)`. */
      readonly source: ExitSource;
    }
  | {
      /** Whether the monitor begins or ends. */
      readonly type: "monitor" | "demonitor";
      /** Number of the monitor within the node of the watcher. */
      readonly ref: number;
      /** The process that watches. */
      readonly from: PidAddress;
      /** The process that is watched. */
      readonly to: PidAddress;
    }
  | {
      readonly type: "down";
      /** Number of the monitor within the node of the watcher. */
      readonly ref: number;
      /** The process that was watched. */
      readonly from: PidAddress;
      /** The process that watches. */
      readonly to: PidAddress;
      /** The exit reason of the watched process; `noproc` when the process did not exist. */
      readonly reason: ExitReason;
    };
