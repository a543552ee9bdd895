// The events of a system, emitted through eventemitter3. An event without a listener costs nothing.

import { EventEmitter } from "eventemitter3";
import type { DoubleReplyError, LateReplyError } from "./errors.js";
import { OptionError } from "./errors.js";
import type { DeadLetterReason } from "./exit-reason.js";
import { alike } from "./known-options.js";
import { contained } from "./listening.js";
import { callable, flag } from "./options.js";
import { outside } from "./origin.js";
import type { Pid } from "./pid.js";
import type { ExitReason } from "./reason.js";
import type { CrashReport } from "./report.js";
import type { SharedState } from "./shared-state.js";

/** A reply that did not reach its caller. */
export interface DiscardedReply {
  /** The process that was called: a pid, or the name that the caller used. */
  readonly callee: Pid | string;
  /** The process that made the call. Undefined when code outside of all processes did. */
  readonly caller: Pid | undefined;
  /** The reply of the callee: a value, or the error of a refusal. */
  readonly reply:
    | {
        readonly ok: true;
        /** The value of the reply. */
        readonly value: unknown;
      }
    | {
        readonly ok: false;
        /** The error of the refusal. */
        readonly error: unknown;
      };
  /** Why the reply was discarded: it was the second one, or it was too late. */
  readonly error: DoubleReplyError | LateReplyError;
}

/** The events of a system and what each carries. Higher floors add theirs by declaration merging. */
export interface SystemEventMap {
  /** A process was started. */
  spawn: [
    {
      /** The process that was started. */
      readonly pid: Pid;
      /** The process that spawned the new one. Undefined when code outside of all processes did. */
      readonly parent: Pid | undefined;
    },
  ];
  /** A process has exited. */
  exit: [
    {
      /** The process that has exited. */
      readonly pid: Pid;
      /** The exit reason of the process. */
      readonly reason: ExitReason;
    },
  ];
  /** Two processes were linked. */
  link: [
    {
      /** The process that made the link. */
      readonly from: Pid;
      /** The process at the other end of the link. */
      readonly to: Pid;
    },
  ];
  /** A process ended abnormally and no process was linked to it or monitored it. */
  crash: [CrashReport];
  /** A message reached no process. */
  deadLetter: [
    {
      /** The receiver: a pid, or a name that no process has. */
      readonly to: Pid | string;
      /** The message. With the reason `unhandled` it may be a signal. */
      readonly message: unknown;
      /** Why the message was not handled. */
      readonly reason: DeadLetterReason;
      /** Says more where there is more to say: UnknownRequestError for a cast that a server does not have. */
      readonly error?: Error;
    },
  ];
  /** A reply was discarded, because its call had ended before. */
  discardedReply: [DiscardedReply];
  /** A mailbox has reached the limit `highWater`. Emitted again at each doubling. */
  highWater: [
    {
      /** The process that has the mailbox. */
      readonly pid: Pid;
      /** How many messages wait in the mailbox. */
      readonly depth: number;
    },
  ];
  /** A process delayed the scheduler. With one suspect, that process is the cause. */
  longTurn: [
    {
      /** The processes of which at least one caused the delay. */
      readonly suspects: readonly Pid[];
      /** The length of the delay in milliseconds: `longTurnMs` or more. */
      readonly elapsedMs: number;
    },
  ];
  /** Code of a process that had exited threw an error other than ProcessExitedError. */
  lateError: [
    {
      /** The process whose code threw. */
      readonly pid: Pid;
      /** The value that was thrown. */
      readonly error: unknown;
    },
  ];
}

type Name = keyof SystemEventMap;

/** All events, those of the floors above included: a listener of a misspelled one would wait for ever. */
const EVENTS: ReadonlySet<string> = new Set<string>([
  ...["spawn", "exit", "link", "crash", "deadLetter", "discardedReply", "highWater", "longTurn", "lateError"],
  ...[
    "restart",
    "reroute",
    "undeliverable",
    "tuple",
    "deadTuple",
    "topologyRestart",
    "application",
    "breaker",
  ],
  ...["hospital", "storeOutage", "executionStranded", "concurrency"],
  ...["nodeUp", "nodeDown", "nodeRefused"],
  "observerAction",
]);

function checkEvent(event: unknown): void {
  if (typeof event === "string" && EVENTS.has(event)) return;
  const meant = alike([...EVENTS], String(event));
  const hint = meant.length > 0 ? `did you mean ${meant.join(" or ")}?` : [...EVENTS].join(", ");
  throw new OptionError("event", event, `the name of an event: ${hint}`);
}
type Listener<T extends Name> = (...args: SystemEventMap[T]) => void;

/** The events of one system, with listeners that run in its asynchronous context. */
export class SystemEvents extends EventEmitter<SystemEventMap> {
  /** Which events have a listener: looked at before an event is built. */
  readonly wants: { [name in Name]?: boolean } = {};
  private readonly enter: (fn: () => void) => void;
  private readonly shared: SharedState | undefined;
  private readonly failed: (what: string, listener: object, error: unknown) => void;
  /** The listeners of each event, as they are called: their errors are contained. */
  private readonly guards = new Map<Name, WeakMap<object, Listener<never>>>();
  private lostMessages = 0;
  private lostReplies = 0;

  /**
   * @param enter - runs the listeners in the context of the system
   * @param failed - called when a listener has thrown
   */
  constructor(
    enter: (fn: () => void) => void,
    shared: SharedState | undefined,
    failed: (what: string, listener: object, error: unknown) => void,
  ) {
    super();
    this.enter = enter;
    this.shared = shared;
    this.failed = failed;
  }

  /** How many messages reached no process, whether or not the event has a listener. */
  get deadLetters(): number {
    this.shared?.deadLettersCounted();
    return this.lostMessages;
  }

  /** @internal */
  countDeadLetter(): void {
    this.shared?.deadLetter();
    this.lostMessages++;
  }

  /** How many replies were discarded because their calls had ended, whether or not the event has a listener. */
  get discardedReplies(): number {
    this.shared?.deadLettersCounted();
    return this.lostReplies;
  }

  /** @internal */
  countDiscardedReply(): void {
    this.shared?.deadLetter();
    this.lostReplies++;
  }

  override on<T extends Name>(event: T, fn: Listener<T>, context?: unknown): this {
    checkEvent(event);
    return super.on(event, this.guarded(event, fn), context).note();
  }

  /** Adds a listener, as {@link SystemEvents.on} does. */
  override addListener<T extends Name>(event: T, fn: Listener<T>, context?: unknown): this {
    return this.on(event, fn, context);
  }

  override once<T extends Name>(event: T, fn: Listener<T>, context?: unknown): this {
    checkEvent(event);
    return super.once(event, this.guarded(event, fn), context).note();
  }

  override removeListener<T extends Name>(
    event: T,
    fn?: Listener<T>,
    context?: unknown,
    once?: boolean,
  ): this {
    checkEvent(event);
    if (fn !== undefined) callable("listener", fn);
    if (once !== undefined) flag("once", once);
    const guard = fn && (this.guards.get(event)?.get(fn) as Listener<T> | undefined);
    return super.removeListener(event, (guard ?? fn) as never, context, once).note();
  }

  /** Removes a listener, as {@link SystemEvents.removeListener} does. Without `fn`, removes all listeners of the event. */
  override off<T extends Name>(event: T, fn?: Listener<T>, context?: unknown, once?: boolean): this {
    return this.removeListener(event, fn, context, once);
  }

  override removeAllListeners(event?: Name): this {
    if (event !== undefined) checkEvent(event);
    return super.removeAllListeners(event).note();
  }

  /** @internal Calls the listeners. */
  publish<T extends Name>(event: T, ...args: SystemEventMap[T]): void {
    this.shared?.listeners("write");
    outside(() => this.enter(() => this.emit(event, ...(args as never))));
  }

  /** The listener, contained. The same for the same listener of an event. */
  private guarded<T extends Name>(event: T, fn: Listener<T>): Listener<T> {
    callable("listener", fn);
    const guards = this.guards.get(event) ?? new WeakMap<object, Listener<never>>();
    this.guards.set(event, guards);
    const known = guards.get(fn);
    if (known !== undefined) return known as Listener<T>;
    const failed = (error: unknown): void => this.failed(`a listener of "${event}" events`, fn, error);
    const guard = function (this: unknown, ...args: SystemEventMap[T]): void {
      contained(() => fn.apply(this, args), failed);
    };
    guards.set(fn, guard as Listener<never>);
    return guard;
  }

  private note(): this {
    this.shared?.listeners("write");
    for (const name of Object.keys(this.wants) as Name[]) this.wants[name] = false;
    for (const name of this.eventNames()) this.wants[name] = true;
    return this;
  }
}
