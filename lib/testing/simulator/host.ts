// What the simulator uses of the host: it detects an empty event loop and active handles, and it guards the host's timers
// and I/O against use by simulated code.

import crypto from "node:crypto";
import dns from "node:dns";
import dnsPromises from "node:dns/promises";
import { mkdirSync, readFileSync, renameSync, rmdirSync, statSync, writeFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";
import { availableParallelism } from "node:os";
import { dirname, resolve } from "node:path";
import timers from "node:timers";
import timersPromises from "node:timers/promises";
import { promisify } from "node:util";
import { promiseHooks } from "node:v8";
import { parentPort, Worker, workerData } from "node:worker_threads";
import zlib from "node:zlib";
import { origin } from "../../process/origin.js";
import { later } from "../kit/event-loop.js";
import { type AwaitWatch, watchAwaits } from "./awaits.js";
import { endThread, terminate } from "./endless.js";

type Callback = (...args: never[]) => unknown;

/** Called when code uses a timer or begins I/O of the host. Throws if the code must not do that. */
export type HostWatch = (kind: "timer" | "io", name: string) => void;

const STACK_LINES = 40;
const realTimeout = globalThis.setTimeout;
const realClear = globalThis.clearTimeout;
const clock = globalThis.performance;

let watched = 0;
let unwatch: (() => void) | undefined;
const watches = new Set<HostWatch>();

/** A function of the host that begins I/O. */
interface IoFunction {
  readonly holder: object;
  readonly name: string;
  readonly label: string;
  /** A test may replace the function by a fake, which is not guarded. */
  readonly real: unknown;
}

const IO: readonly IoFunction[] = [
  ...ioOf(globalThis, "", ["fetch"]),
  ...ioOf(crypto, "crypto.", ["generateKeyPair", "hkdf", "pbkdf2", "scrypt"]),
  ...ioOf(Object.getPrototypeOf(globalThis.crypto.subtle), "crypto.subtle.", [
    "decrypt",
    "deriveBits",
    "digest",
  ]),
  ...ioOf(Object.getPrototypeOf(globalThis.crypto.subtle), "crypto.subtle.", ["encrypt", "sign", "verify"]),
  ...ioOf(dns, "dns.", ["lookup", "resolve", "resolve4", "resolve6", "resolveSrv", "resolveTxt"]),
  ...ioOf(dnsPromises, "dns.promises.", [
    "lookup",
    "resolve",
    "resolve4",
    "resolve6",
    "resolveSrv",
    "resolveTxt",
  ]),
  ...ioOf(http, "http.", ["get", "request"]),
  ...ioOf(https, "https.", ["get", "request"]),
  ...ioOf(net, "net.", ["connect", "createConnection"]),
  ...ioOf(zlib, "zlib.", ["brotliCompress", "brotliDecompress", "deflate", "gunzip", "gzip", "inflate"]),
];

function ioOf(holder: object, prefix: string, names: readonly string[]): IoFunction[] {
  return names.map((name) => ({ holder, name, label: `${prefix}${name}`, real: Reflect.get(holder, name) }));
}

/** Promises that are made and settled while the host is watched. */
interface WatchedPromises {
  count: number;
  /** Called for each promise made; `awaited` is true for a promise made by an await or a `then`. */
  made: ((promise: object, awaited: boolean) => void) | undefined;
  settled: ((promise: object) => void) | undefined;
  /** The promise that was made last, and the one that was settled last. */
  last: object | undefined;
  lastSettled: object | undefined;
  /** At this count `endless` is called. */
  limit: number;
  /** Called when a step makes promises without an end. Returns what is wrong. */
  endless: (() => string) | undefined;
  /** Called when code looks up the `constructor` of a promise, as an await does. */
  awaited: AwaitWatch | undefined;
}

/** A thread, for the one that started it. */
export interface SimulatorThread {
  tell(message: unknown): void;
  end(): Promise<void>;
}

/** What a thread does, for the one that started it. */
export interface ThreadEvents {
  /** It has sent a message. */
  said(message: unknown): void;
  /** It has ended by itself. */
  ended(why: string): void;
}

/** The thread that started this one. */
export interface ThreadWork {
  readonly data: unknown;
  say(message: unknown): void;
  hear(listener: (message: unknown) => void): void;
}

function workOfThread(): ThreadWork | undefined {
  const given = (workerData as { signalbox?: { data: unknown } } | null | undefined)?.signalbox;
  if (given === undefined || parentPort === null) return undefined;
  const port = parentPort;
  return {
    data: given.data,
    say: (message) => port.postMessage(message),
    hear: (listener) => port.on("message", listener),
  };
}

/** A small integer: V8 compares those fastest. */
export const NO_LIMIT: number = 2 ** 30 - 1;

/** The host, from the simulator's view. */
export const host = {
  /** Counts promises made and settled. If a step did not change the count, no microtask is pending. */
  promises: {
    count: 0,
    made: undefined,
    settled: undefined,
    last: undefined,
    lastSettled: undefined,
    limit: NO_LIMIT,
    endless: undefined,
    awaited: undefined,
  } as WatchedPromises,
  /** Called when an AbortController aborts. */
  aborts: undefined as (() => void) | undefined,

  /** Resolves when all microtasks have run, before I/O. */
  microtasks(): Promise<void> {
    return new Promise((done) => {
      process.nextTick(done);
    });
  },

  /**
   * Resolves in the next macrotask: after all microtasks, and after the host has reported rejections. Within a batch the next
   * macrotask belongs to the same turn of the event loop, so that no I/O of the host comes between.
   */
  drain(): Promise<void> {
    if (batch === 0)
      for (; batch < BATCH; batch++)
        later(() => {
          batch--;
          for (const done of draining.splice(0)) done();
        });
    return new Promise((done) => {
      draining.push(done);
    });
  },

  /** Whether the next drain is within a batch. */
  get batched(): boolean {
    return batch > 0;
  },

  /** Resolves in the next turn of the event loop, after I/O. */
  turn(): Promise<void> {
    return new Promise((done) => {
      later(done);
    });
  },

  /** Handles and requests, by kind, that became active since the last call. */
  busy(): string[] {
    const now = process.getActiveResourcesInfo().filter((kind) => kind !== "Immediate");
    const known: string[] = [];
    for (const kind of baseline) {
      const index = now.indexOf(kind);
      if (index >= 0) known.push(...now.splice(index, 1));
    }
    // A handle that has ended is forgotten: the next one of its kind is a new one.
    baseline = known;
    return now;
  },

  /** Real milliseconds since some moment. */
  now: (): number => clock.now(),

  /** Waits in real time until `done` holds, at most `ms`. */
  async until(done: () => boolean, ms: number): Promise<boolean> {
    const end = clock.now() + ms;
    for (let turn = 0; !done(); turn++) {
      if (clock.now() > end) return false;
      // Most work of the host takes a few turns of its event loop. For longer work, the processor is left to others.
      if (turn >= EAGER_TURNS)
        await new Promise<void>((next) => {
          realTimeout(next, 1);
        });
      await host.turn();
    }
    return true;
  },

  /**
   * Starts to count promises, and to guard timers and I/O. Returns the function that stops it. Several callers may watch at once.
   */
  watch(watch: HostWatch): () => void {
    watches.add(watch);
    if (watched++ === 0) {
      baseline = process.getActiveResourcesInfo();
      const { promises } = host;
      const unhook = promiseHooks.createHook({
        init: (promise, parent) => {
          if (++promises.count > promises.limit) overrun();
          promises.last = promise;
          promises.made?.(promise, (parent as unknown) !== undefined);
        },
        settled: (promise) => {
          promises.count++;
          promises.lastSettled = promise;
          promises.settled?.(promise);
        },
      }) as unknown as () => void;
      const restore = guardHost();
      const unwatchAwaits = watchAwaits((promise, isAwait) => promises.awaited?.(promise, isAwait));
      unwatch = () => {
        unhook();
        unwatchAwaits();
        promises.last = promises.lastSettled = undefined;
        restore();
      };
    }
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      watches.delete(watch);
      if (--watched === 0) unwatch?.();
    };
  },

  /** The call stack, as text. */
  stack(): string {
    const { prepareStackTrace, stackTraceLimit } = Error;
    // The code of the test may be behind many lines of the library.
    Error.stackTraceLimit = STACK_LINES;
    Error.prepareStackTrace = (_error, sites) =>
      sites.map((site) => `${site.getFileName()}:${site.getPosition()}`).join();
    const positions = new Error().stack ?? "";
    Error.prepareStackTrace = prepareStackTrace;
    const known = stacks.get(positions);
    const text = known ?? new Error().stack ?? "";
    Error.stackTraceLimit = stackTraceLimit;
    if (known !== undefined) return known;
    if (stacks.size >= MOST_STACKS) stacks.clear();
    stacks.set(positions, text);
    return text;
  },

  /** Writes a file, and the folders that it is in. */
  write(path: string, text: string): void {
    mkdirSync(dirname(resolve(path)), { recursive: true });
    writeFileSync(path, text);
  },

  /** The text of a file; undefined when there is none. */
  read(path: string): string | undefined {
    try {
      return readFileSync(path, "utf8");
    } catch (error) {
      if ((error as { code?: unknown }).code === "ENOENT") return undefined;
      throw error;
    }
  },

  /**
   * Replaces the content of a file as a whole, so that a reader sees all of the old or all of the new content. Of several
   * processes that change the file at the same time, each changes what the one before it has written.
   *
   * @param next - gives the new content; the same content when nothing is to change
   */
  change(path: string, next: (content: string | undefined) => string | undefined): void {
    mkdirSync(dirname(resolve(path)), { recursive: true });
    const unlock = lock(`${path}.lock`);
    try {
      const content = host.read(path);
      const changed = next(content);
      if (changed === undefined || changed === content) return;
      const draft = `${path}.${process.pid}.tmp`;
      writeFileSync(draft, changed);
      renameSync(draft, path);
    } finally {
      unlock();
    }
  },

  /** Emits a warning of the process. */
  warn(text: string): void {
    process.emitWarning(text, { code: "SIGNALBOX_TESTING" });
  },

  /** Calls `fn` after real milliseconds. Returns the function that cancels it. */
  after(ms: number, fn: () => void): () => void {
    const timer = realTimeout(fn, ms);
    return () => realClear(timer);
  },

  /** Number of threads that can work at the same time. */
  cores: (): number => availableParallelism(),

  /** Starts a thread that loads a module. The module finds the data in `work`. */
  thread(module: string, data: unknown, { said, ended }: ThreadEvents): SimulatorThread {
    const worker = new Worker("import(require('node:worker_threads').workerData.signalbox.module);", {
      eval: true,
      workerData: { signalbox: { module, data } },
    });
    let ending = false;
    worker.on("message", said);
    worker.on("error", (error) => ended(error instanceof Error ? error.message : String(error)));
    worker.on("exit", (code) => ending || ended(`it exited with code ${code}`));
    return {
      tell: (message) => worker.postMessage(message),
      async end() {
        ending = true;
        await worker.terminate();
      },
    };
  },

  /** In such a thread: its data, and the way to the thread that started it. */
  work: workOfThread() as ThreadWork | undefined,

  /** The working folder, from which a report shows places. With forward slashes. */
  folder: (): string => process.cwd().replaceAll("\\", "/"),
};

/** Promises that the code may make until it is stopped. */
const GRACE = 50_000_000;

/** Code makes promises without an end: stops it. */
function overrun(): void {
  const { promises } = host;
  const why = promises.endless?.();
  if (why === undefined) {
    promises.limit = NO_LIMIT;
    return;
  }
  promises.limit = promises.count + GRACE;
  promises.endless = () => endThread(why);
  terminate(why);
}

/** A lock that is older belongs to a process that was killed. */
const STALE_LOCK_MS = 5_000;
const LOCK_PAUSE_MS = 5;

/** Makes a folder that only one process at a time can make. Returns the function that removes it. */
function lock(path: string): () => void {
  const remove = (): void => {
    try {
      rmdirSync(path);
    } catch (error) {
      if ((error as { code?: unknown }).code !== "ENOENT") throw error;
    }
  };
  for (const end = clock.now() + STALE_LOCK_MS; ; ) {
    try {
      mkdirSync(path);
      return remove;
    } catch (error) {
      if ((error as { code?: unknown }).code !== "EEXIST") throw error;
      if (clock.now() > end && isStale(path)) remove();
      else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOCK_PAUSE_MS);
    }
  }
}

function isStale(path: string): boolean {
  try {
    return Date.now() - statSync(path).mtimeMs > STALE_LOCK_MS;
  } catch {
    return false;
  }
}

/** Texts of stacks by the positions of their frames. A text takes long, since source maps are applied to it. */
const stacks = new Map<string, string>();
const MOST_STACKS = 10_000;

let baseline: string[] = [];

/** Macrotasks that are queued at once. The host runs them in one turn of its event loop: a turn costs more than a macrotask. */
const BATCH = 100;
/** Macrotasks of the present batch that have not run. */
let batch = 0;
const draining: (() => void)[] = [];

/** Turns of the event loop to wait for work of the host before the wait sleeps between them. */
const EAGER_TURNS = 50;

/** Replaces the host's timers, and its functions that begin I/O, by guarded ones. */
function guardHost(): () => void {
  const undo: (() => void)[] = [];
  const guard = (
    holder: object,
    name: string,
    label: string,
    promised?: unknown,
    kind: "timer" | "io" = "timer",
  ): void => {
    const real = Reflect.get(holder, name) as Callback;
    const guarded = function (this: unknown, ...args: never[]): unknown {
      if (origin.current !== undefined || origin.scheduler !== undefined)
        for (const watch of watches) watch(kind, label);
      return Reflect.apply(real, this, args);
    };
    const own: PropertyDescriptorMap & { [promisify.custom]?: PropertyDescriptor } =
      Object.getOwnPropertyDescriptors(real);
    if (promised !== undefined) own[promisify.custom] = { value: promised, configurable: true };
    Object.defineProperties(guarded, own);
    Reflect.set(holder, name, guarded);
    undo.push(() => {
      if (Reflect.get(holder, name) === guarded) Reflect.set(holder, name, real);
    });
  };
  const names = ["setTimeout", "setInterval", "setImmediate"] as const;
  for (const name of names) guard(timersPromises, name, `${name} of node:timers/promises`);
  guard(timersPromises.scheduler, "wait", "scheduler.wait of node:timers/promises");
  for (const name of names) {
    const promised = name === "setInterval" ? undefined : timersPromises[name];
    guard(globalThis, name, name, promised);
    guard(timers, name, `${name} of node:timers`, promised);
  }
  guard(AbortSignal, "timeout", "AbortSignal.timeout");
  for (const { holder, name, label, real } of IO)
    if (Reflect.get(holder, name) === real) guard(holder, name, label, undefined, "io");
  const { abort } = AbortController.prototype;
  AbortController.prototype.abort = function (this: AbortController, ...reason): void {
    host.aborts?.();
    Reflect.apply(abort, this, reason);
  };
  undo.push(() => {
    AbortController.prototype.abort = abort;
  });
  // Updates named imports from these modules.
  syncBuiltinESMExports();
  return () => {
    for (const one of undo) one();
    syncBuiltinESMExports();
  };
}
