// The production Environment: the only file of the library that reaches the host's clock, timers, randomness and ids.
// Everything here works in browsers too, except for asynchronous contexts and the owners of promises.

import { nanoid } from "nanoid";
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

/** Node fires a timer of more than this many milliseconds at once, so longer waits go in stages. */
const LONGEST_TIMEOUT = 2_147_483_647;

const settled = Promise.resolve();
const clock = globalThis.performance;

const AsyncResource = optionalModule("node:async_hooks")?.AsyncResource;

/** Stands for all contexts on a host that has none. */
const onlyContext: AsyncContext = {
  runInAsyncScope: (fn, thisArg, ...args) => Reflect.apply(fn, thisArg, args),
};

/** A bare one costs Node less than one whose end it tells its hooks of. */
const captureContext: () => AsyncContext =
  AsyncResource === undefined
    ? () => onlyContext
    : () => new AsyncResource("signalbox", { requireManualDestroy: true });

/** Replaces `setImmediate` in browsers: a message to oneself arrives after I/O, and browsers never delay the message. */
function messageToSelf(): (fn: () => void) => void {
  // Node's port has no `onmessage` in its types: it has a `setImmediate`.
  const { port1, port2 } = new MessageChannel() as {
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
 * The event loop, from the context of the code that calls this: whoever wakes a system, its turns and timers run there.
 * Every call back begins in a fresh copy of that context, so what `enterWith` leaves behind ends with it.
 */
function hostLoop(): EventLoop {
  const context = captureContext();
  let last: () => void;
  const afterIo = typeof setImmediate === "undefined" ? messageToSelf() : undefined;
  // The promise of no process: a mark would cost more than the promise itself.
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
 * The host's rejections that nobody handled, watched once for all copies of the library in this thread. One of a
 * process's promise is that process's crash. Any other is the host's own affair: Node must do with it what it would do
 * without us, by whatever mode and listeners the host has.
 *
 * A listener alone cannot do that, since Node takes a rejection for handled as soon as there is one. So `process.emit`
 * answers for the library: while ours is the only listener, a rejection that no process owns has none. The listener
 * stays for a host that puts another `emit` in the place of ours.
 */
class Rejections {
  private readonly watchers = new Set<RejectionListener>();
  private unhook: () => void = () => undefined;
  /** The promise that is dealt with already. */
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

  /** Whether it is a process's; one of a process whose system has stopped only when it is a refused effect. */
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
      // Another that was put over ours goes on calling it.
      if (host.emit !== answer) return;
      if (inherited) delete host.emit;
      else host.emit = emit;
    };
  }
}

const STRICT =
  "under --unhandled-rejections=strict a rejection that nobody awaited in a process ends the host, not the process; use throw (the default)";

/** The last flag counts, and those of the command line come after those of the environment. */
function isStrict(): boolean {
  const flags = [process.env.NODE_OPTIONS, ...process.execArgv].join(" ");
  return /.*--unhandled[-_]rejections[= ]+(\S+)/s.exec(flags)?.[1] === "strict";
}

const rejections = shared("rejections", () => new Rejections());

/** What a System runs on unless it is given another Environment. */
export const production: Environment = {
  now: () => clock.now(),
  wallTime: () => Date.now(),
  random: () => Math.random(),
  id: () => nanoid(),
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
