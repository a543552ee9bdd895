// The production Environment: the only file of the library that reaches the host's clock, timers, randomness and ids.
// Everything here works in browsers too, except for asynchronous contexts and the owners of promises.

import { customRandom, urlAlphabet } from "nanoid";
import type {
  AsyncContext,
  Environment,
  RejectionListener,
  ScheduledSystem,
  Scheduler,
  TurnLimits,
} from "./environment.js";
import { optionalModule } from "./node-modules.js";
import { markPromises, origin, shared } from "./origin.js";
import { type EventLoop, TurnScheduler } from "./scheduler.js";

/**
 * Node fires a timer with a longer delay than this many milliseconds immediately, so a longer wait is divided into
 * several timers.
 */
const LONGEST_TIMEOUT = 2_147_483_647;

const settled = Promise.resolve();

let clock: typeof globalThis.performance | undefined;

/** Node loads its clock when it is first asked for, and not with the library. */
function hostClock(): typeof globalThis.performance {
  clock ??= globalThis.performance;
  return clock;
}

const AsyncResource = optionalModule("node:async_hooks")?.AsyncResource;

/** The only context on a host without asynchronous contexts. */
const onlyContext: AsyncContext = {
  runInAsyncScope: (fn, thisArg, ...args) => Reflect.apply(fn, thisArg, args),
};

/** With `requireManualDestroy`, Node does not report the end of the resource to its hooks, so the resource costs less. */
const captureContext: () => AsyncContext =
  AsyncResource === undefined
    ? () => onlyContext
    : () => new AsyncResource("signalbox", { requireManualDestroy: true });

/**
 * Replaces `setImmediate` in browsers. A message from the library to itself arrives after I/O, and browsers never delay
 * the message.
 */
function messageToSelf(): (fn: () => void) => void {
  // Node's types for the port have no `onmessage`, and those of browsers give it an event. Node does not need the port, since Node has `setImmediate`.
  const { port1, port2 } = new MessageChannel() as unknown as {
    port1: { onmessage?: () => void };
    port2: { postMessage(message: undefined): void };
  };
  const waiting: (() => void)[] = [];
  port1.onmessage = () => waiting.shift()?.();
  return (fn) => {
    waiting.push(fn);
    port2.postMessage(undefined);
  };
}

/**
 * The host's event loop, bound to the asynchronous context of the caller. The system's turns and timers run in this
 * context, not in that of the code that wakes the system. Every callback begins in a fresh copy of the context, so an `enterWith` in a
 * callback has no effect after the callback.
 */
function hostLoop(): EventLoop {
  const context = captureContext();
  const clock = hostClock();
  let last: () => void;
  const afterIo = typeof setImmediate === "undefined" ? messageToSelf() : undefined;
  // This promise belongs to no process. Marking the promise would cost more than the promise itself.
  const wake = (): void => {
    const { current } = origin;
    origin.current = undefined;
    void settled.then(last);
    origin.current = current;
  };
  return {
    now: () => clock.now(),
    soon: (fn) => {
      last = fn;
      context.runInAsyncScope(wake);
    },
    later: (fn) => void context.runInAsyncScope(afterIo ?? setImmediate, undefined, fn),
    eventually: (ms, fn) => {
      const timeout = context.runInAsyncScope(() => setTimeout(fn, ms));
      // A browser's is a number.
      (timeout as { unref?(): void }).unref?.();
      return () => clearTimeout(timeout);
    },
    at: (deadline, fn) => {
      let timeout: NodeJS.Timeout;
      const arm = (): void => {
        const wait = Math.ceil(deadline - clock.now());
        timeout = setTimeout(
          () => (clock.now() < deadline ? arm() : fn()),
          Math.min(Math.max(wait, 0), LONGEST_TIMEOUT),
        );
      };
      context.runInAsyncScope(arm);
      return () => clearTimeout(timeout);
    },
  };
}

const REJECTION = "unhandledRejection";

/**
 * The host's unhandled rejections, watched once for all copies of the library in this thread. A rejection of a process's
 * promise is a crash of the process. Any other rejection belongs to the host: Node must treat the rejection as it would
 * without the library, according to the host's mode and listeners.
 *
 * A listener alone cannot achieve this, because Node considers a rejection handled as soon as there is a listener. So
 * the library replaces `process.emit`. While the library's listener is the only one, the replacement answers that a
 * rejection without an owning process has no listener. The listener remains for a host that replaces `process.emit`
 * again.
 */
class Rejections {
  private readonly watchers = new Set<RejectionListener>();
  private unhook: () => void = () => undefined;
  /** The promise whose rejection is already handled. */
  private seen: unknown = undefined;
  private warned = false;

  watch(watcher: RejectionListener): () => void {
    if (this.watchers.size === 0) this.hook();
    if (!this.warned && isStrict()) {
      this.warned = true;
      process.emitWarning(STRICT, { type: "SignalboxWarning", code: "SIGNALBOX_STRICT_REJECTIONS" });
    }
    this.watchers.add(watcher);
    return () => {
      if (this.watchers.delete(watcher) && this.watchers.size === 0) this.unhook();
    };
  }

  /**
   * Handles a rejection that a process owns, and returns whether one does. If the system of the process has stopped,
   * only a refused effect counts as owned.
   */
  private claim(error: unknown, promise: Promise<unknown>): boolean {
    const owner = origin.ownerOf(promise);
    if (owner === undefined) return false;
    for (const watcher of this.watchers) if (watcher(owner, error)) return true;
    return error instanceof Error && (error as { code?: unknown }).code === "ERR_PROCESS_EXITED";
  }

  private readonly listen = (error: unknown, promise: Promise<unknown>): void => {
    if (promise === this.seen || this.claim(error, promise)) return;
    if (process.listenerCount(REJECTION) === 1) throw error;
  };

  private hook(): void {
    process.on(REJECTION, this.listen);
    const host: { emit?: ((...args: never[]) => boolean) | undefined } = process;
    const { emit } = host;
    const inherited = !Object.hasOwn(host, "emit");
    let hooked = true;
    const answer = (...args: [event: string, error: unknown, promise: Promise<unknown>]): boolean => {
      const pass = (): boolean => Reflect.apply(emit as () => boolean, host, args);
      const [event, error, promise] = args;
      if (!hooked || event !== REJECTION) return pass();
      const claimed = this.claim(error, promise);
      if (process.listeners(REJECTION).every((one) => one === this.listen)) return claimed;
      this.seen = promise;
      try {
        return pass();
      } finally {
        this.seen = undefined;
      }
    };
    host.emit = answer;
    this.unhook = () => {
      process.off(REJECTION, this.listen);
      hooked = false;
      // If another replacement of `emit` wraps this one, the other one goes on calling this one.
      if (host.emit !== answer) return;
      if (inherited) delete host.emit;
      else host.emit = emit;
    };
  }
}

const STRICT =
  "under --unhandled-rejections=strict an unhandled rejection in a process ends the host, not the process; use throw (the default)";

/**
 * The last flag counts. Flags on the command line come after flags in the environment. A pattern that begins with `.*` would take the
 * square of their length, for each first system of a host: a program of `--import data:` is thousands of characters long.
 */
function isStrict(): boolean {
  const flags = [process.env.NODE_OPTIONS, ...process.execArgv].join(" ");
  return [...flags.matchAll(/--unhandled[-_]rejections[= ]+(\S+)/g)].at(-1)?.[1] === "strict";
}

/** An id has 21 of 64 characters, 126 random bits: it is as hard to guess as a UUID. */
const ID_LENGTH = 21;
/** The host is asked for so many random bytes at a time: to ask it for each id takes ten times as long. */
const POOL_BYTES = 4_096;

/** The host loads its `crypto` with the first id, so the import of the library does not wait for it. */
function pooledBytes(): (count: number) => Uint8Array {
  let pool = new Uint8Array();
  let used = 0;
  return (count) => {
    if (used + count > pool.length) {
      pool = crypto.getRandomValues(new Uint8Array(POOL_BYTES));
      used = 0;
    }
    used += count;
    return pool.subarray(used - count, used);
  };
}

const rejections = shared("rejections", () => new Rejections());

/** The Environment of a System that is given no other. */
export const production: Environment = {
  now: () => (clock ?? hostClock()).now(),
  wallTime: () => Date.now(),
  random: () => Math.random(),
  id: customRandom(urlAlphabet, ID_LENGTH, pooledBytes()),
  createScheduler: (host: ScheduledSystem, limits: TurnLimits): Scheduler =>
    new TurnScheduler(host, hostLoop(), limits),
  captureContext,
  watchRejections: (listener) => {
    const unmark = markPromises();
    if (unmark === undefined) return undefined;
    const unwatch = rejections.watch(listener);
    return () => {
      unwatch();
      unmark();
    };
  },
};
