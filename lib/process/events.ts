// What a system tells about itself, over eventemitter3. Nothing is built or called for an event nobody listens to.

import { EventEmitter } from "eventemitter3";
import { outside } from "./origin.js";
import type { Pid } from "./pid.js";
import type { ExitReason } from "./reason.js";
import type { CrashReport } from "./report.js";

/**
 * Why a message was not handled: no such process, the process ended before it came to it, a bounded mailbox was
 * full, the node is out of reach, or a signal met a process without a `signal` callback.
 */
export type DeadLetterReason = "noproc" | "exited" | "mailbox-full" | "noconnection" | "unhandled";

/** The events of a system and what each carries. Higher floors add theirs by declaration merging. */
export interface SystemEventMap {
  spawn: [{ readonly pid: Pid; readonly parent: Pid | undefined }];
  exit: [{ readonly pid: Pid; readonly reason: ExitReason }];
  link: [{ readonly from: Pid; readonly to: Pid }];
  /** A process ended abnormally and nobody was linked to it or monitored it. */
  crash: [CrashReport];
  deadLetter: [{ readonly to: Pid | string; readonly message: unknown; readonly reason: DeadLetterReason }];
  /** A mailbox has reached its mark; told again at each doubling. */
  highWater: [{ readonly pid: Pid; readonly depth: number }];
  /** A process held up the scheduler; it is certain when there is one suspect. */
  longTurn: [{ readonly suspects: readonly Pid[]; readonly elapsedMs: number }];
  /** Code of a process that had ended threw something that is no refused effect. */
  lateError: [{ readonly pid: Pid; readonly error: unknown }];
}

type Name = keyof SystemEventMap;
type Listener<T extends Name> = (...args: SystemEventMap[T]) => void;

export class SystemEvents extends EventEmitter<SystemEventMap> {
  /** Which events have a listener: looked at before an event is built. */
  readonly wants: { [name in Name]?: boolean } = {};
  private readonly enter: (fn: () => void) => void;

  /** @param enter - runs the listeners in the context of the system */
  constructor(enter: (fn: () => void) => void) {
    super();
    this.enter = enter;
  }

  /** Messages nobody got, counted whether or not anybody listens. */
  deadLetters = 0;

  override on<T extends Name>(event: T, fn: Listener<T>, context?: unknown): this {
    return super.on(event, fn, context).note();
  }

  override addListener<T extends Name>(event: T, fn: Listener<T>, context?: unknown): this {
    return this.on(event, fn, context);
  }

  override once<T extends Name>(event: T, fn: Listener<T>, context?: unknown): this {
    return super.once(event, fn, context).note();
  }

  override removeListener<T extends Name>(
    event: T,
    fn?: Listener<T>,
    context?: unknown,
    once?: boolean,
  ): this {
    return super.removeListener(event, fn, context, once).note();
  }

  override off<T extends Name>(event: T, fn?: Listener<T>, context?: unknown, once?: boolean): this {
    return this.removeListener(event, fn, context, once);
  }

  override removeAllListeners(event?: Name): this {
    return super.removeAllListeners(event).note();
  }

  /** @internal Tells the listeners. One that throws is the host's affair, as an unhandled rejection. */
  publish<T extends Name>(event: T, ...args: SystemEventMap[T]): void {
    outside(() =>
      this.enter(() => {
        try {
          this.emit(event, ...(args as never));
        } catch (error) {
          void Promise.reject(error);
        }
      }),
    );
  }

  private note(): this {
    for (const name of Object.keys(this.wants) as Name[]) this.wants[name] = false;
    for (const name of this.eventNames()) this.wants[name] = true;
    return this;
  }
}
