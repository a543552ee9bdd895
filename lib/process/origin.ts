// Finds the process that created a promise. V8's promise hooks mark each promise with the pid of the process whose code
// is running, and restore that pid when the promise's continuation runs. So a rejection that no code handled finds its
// owner, also after awaits. Hooks cost synchronous code nothing, but cost every await of the thread about 40 ns. So the
// hooks are removed while no code of a process runs or waits for the host (docs/decisions/0026). Browsers, workers and
// Bun have no promise hooks, so promises have no owners there.

import { OptionError } from "./errors.js";
import { globalObject, optionalModule } from "./node-modules.js";
import { callable } from "./options.js";
import type { Pid } from "./pid.js";
import { isThenable } from "./thenable.js";

interface HookCallbacks {
  init(promise: object, parent: object | undefined): void;
  before(promise: object): void;
  after(): void;
}

interface PromiseHooks {
  createHook(callbacks: HookCallbacks): () => void;
}

let host: { readonly promiseHooks: PromiseHooks | undefined } | undefined;

/** Loads `node:v8` for the first system, and not with the library. */
function promiseHooks(): PromiseHooks | undefined {
  host ??= { promiseHooks: optionalModule("node:v8")?.promiseHooks as PromiseHooks | undefined };
  return host.promiseHooks;
}

/** Whether the code that continues after an `await` has an owner on this host. */
export function hasOwners(): boolean {
  return promiseHooks() !== undefined;
}

/** Returns the object passed to its constructor, so that a subclass can put a private field on any object. */
export class Given {
  constructor(promise: object) {
    // biome-ignore lint/correctness/noConstructorReturn: this is what it is for
    return promise;
  }
}

/**
 * What the hooks know of a promise, in private fields of the promise: a marked promise prints and compares as if it had no mark.
 * One mark has all, since a look at a private field that an object lacks costs more than all else here.
 */
class Mark extends Given {
  readonly #owner: object;
  /** The continuation of the promise is code of a process that the host may run. True until the continuation runs. */
  #isAwaited: boolean;
  /**
   * The promise of a call whose code went on to make another promise before it waited. That code may wait for the other one,
   * as it does in a race.
   */
  #isDetour = false;

  constructor(promise: object, owner: object, isAwaited: boolean) {
    super(promise);
    this.#owner = owner;
    this.#isAwaited = isAwaited;
  }

  static ownerOf(promise: object): object | undefined {
    return #owner in promise ? promise.#owner : undefined;
  }

  /** Returns true if the promise was awaited until now. */
  static awaitedUntilNow(promise: object): boolean {
    if (!(#owner in promise) || !promise.#isAwaited) return false;
    promise.#isAwaited = false;
    return true;
  }

  /** Notes that code of `owner` makes a promise while one of its own is not yet awaited. */
  static detour(promise: object, owner: object): void {
    if (#owner in promise && promise.#owner === owner) promise.#isDetour = true;
  }

  static isDetour(promise: object): boolean {
    return #owner in promise && promise.#isDetour;
  }
}

/** Hooks that identify the code that continues after an `await` more precisely than by its process. */
export interface ContinuationNames {
  /** Code of a process made a promise, or waits for one. */
  made(promise: object, owner: object): void;
  /** The code that waited for a promise continues: of a process, or of none. */
  continues(promise: object, owner: object | undefined): void;
  /** That code has given back the thread. */
  rests(): void;
}

/**
 * State that all copies of the library in this thread share. The state is kept on a class of Node, which is one place for every copy
 * and every realm. Without Node, the state is kept on the global object of the realm.
 */
export function shared<T extends object>(name: string, create: () => T): T {
  const holder = (optionalModule("node:async_hooks")?.AsyncResource ?? globalObject) as unknown as Record<
    symbol,
    T | undefined
  >;
  const key = Symbol.for(`signalbox.${name}.1`);
  holder[key] ??= create();
  return holder[key];
}

/**
 * The state of the hooks. All copies of the library in one thread share one set of hooks, and code of a process in one
 * copy may start a turn in another. Members are only ever added to this class: the copy that created the shared object
 * may be older than the copies that use it.
 */
class Origin {
  /**
   * The owner of code that runs outside an activation, in continuations, timers and callbacks: the pid of a process, or
   * the actor that stands for a simulated scenario.
   */
  current: object | undefined = undefined;
  /**
   * The scheduler whose turn runs; it knows the running process. The scheduler is asked only when a promise is created,
   * so an activation costs nothing here.
   */
  scheduler: { readonly running: { readonly pid?: object } | undefined } | undefined = undefined;
  private watchers = 0;
  private uninstall: (() => void) | undefined = undefined;
  /** The number of continuations of processes that wait for the host, not for the library. */
  private awaited = 0;
  /**
   * A promise that the library will settle, waking the hooks first. Code that awaits this promise does not wait for the
   * host.
   */
  settledHere: object | undefined = undefined;
  /** Asked at each continuation. Undefined, as most often: processes are all that is known. */
  names: ContinuationNames | undefined = undefined;

  ownerOf(promise: object): object | undefined {
    return Mark.ownerOf(promise);
  }

  /**
   * Whether the code that made a promise of a call made no further promise before it waited. False also without promise
   * hooks.
   */
  isLast(promise: object): boolean {
    return Mark.ownerOf(promise) !== undefined && !Mark.isDetour(promise);
  }

  /** Returns false if the host has no promise hooks. */
  watch(): boolean {
    if (this.uninstall === undefined && !this.install()) return false;
    this.watchers++;
    return true;
  }

  unwatch(): void {
    if (--this.watchers === 0) this.remove();
  }

  /** Installs the hooks before code of a process runs, so that its promises are marked. */
  wake(): void {
    if (this.uninstall === undefined && this.watchers > 0) this.install();
  }

  private install(): boolean {
    const hooks: HookCallbacks = {
      init: (promise, parent) => {
        const owner = this.current ?? this.scheduler?.running?.pid;
        if (owner === undefined) return;
        const { settledHere, names } = this;
        const isAwaited = parent !== undefined && parent !== settledHere;
        new Mark(promise, owner, isAwaited);
        if (names !== undefined) names.made(promise, owner);
        if (isAwaited) {
          // If the parent waits for the host too, this promise waits at least as long, and counts for both.
          if (!Mark.awaitedUntilNow(parent)) this.awaited++;
        } else if (parent === undefined && settledHere !== undefined) Mark.detour(settledHere, owner);
      },
      before: (promise) => {
        const owner = Mark.ownerOf(promise);
        this.current = owner;
        this.settledHere = undefined;
        if (owner !== undefined && this.awaited > 0 && Mark.awaitedUntilNow(promise)) this.awaited--;
        if (this.names !== undefined) this.names.continues(promise, owner);
      },
      after: () => {
        this.current = undefined;
        if (this.names !== undefined) this.names.rests();
      },
    };
    try {
      this.uninstall = promiseHooks()?.createHook(hooks);
    } catch {
      // Bun has `createHook`, but calling it throws.
      this.uninstall = undefined;
    }
    return this.uninstall !== undefined;
  }

  /**
   * Removes the hooks when no code of a process runs, unless a continuation waits for the host to settle a promise. A
   * continuation that waits for the library is safe: the library installs the hooks again first, and the promises keep
   * their marks in the meantime.
   *
   * @returns false when the hooks have to stay
   */
  rest(): boolean {
    if (this.awaited > 0) return false;
    this.remove();
    return true;
  }

  /** The turn has ended. */
  over(): void {
    this.scheduler = undefined;
    this.settledHere = undefined;
  }

  private remove(): void {
    this.uninstall?.();
    this.uninstall = undefined;
    this.current = undefined;
  }
}

export const origin: Origin = shared("origin", () => new Origin());

/** The owner of the code that runs now. */
export function runningOwner(): object | undefined {
  return origin.current ?? origin.scheduler?.running?.pid;
}

/**
 * Runs code in the name of `owner`: the promises that the code creates belong to `owner`, wherever this function is
 * called.
 */
export function inNameOf<T>(owner: object, fn: () => T): T {
  const { current } = origin;
  origin.wake();
  origin.current = owner;
  try {
    return fn();
  } finally {
    origin.current = current;
  }
}

/**
 * Runs a function as code that belongs to no process. Use it for a resource that several processes share and one of them
 * happens to create: a connection pool that is opened at its first use outlives the process that used it first, and a failure
 * of the pool must not end that process.
 *
 * @example
 * let pool: Promise<void> | undefined;
 * const shared = () => (pool ??= outside(() => openPool()));
 */
export function outside<T>(fn: () => T): T {
  callable("fn", fn);
  const { current, scheduler } = origin;
  origin.current = undefined;
  origin.scheduler = undefined;
  try {
    return fn();
  } finally {
    origin.current = current;
    origin.scheduler = scheduler;
  }
}

/** {@link outside} for a method that is called at each message: it makes no function. */
export function callOutside<A>(fn: (argument: A) => void, owner: object, argument: A): void {
  const { current, scheduler } = origin;
  origin.current = undefined;
  origin.scheduler = undefined;
  try {
    fn.call(owner, argument);
  } finally {
    origin.current = current;
    origin.scheduler = scheduler;
  }
}

/**
 * The process whose code created a promise, even when that process has exited. Undefined when no process did. Only
 * promises that were created while a System runs have owners. Use this function in the host's own listeners of
 * rejections: a rejection with an owner already crashes the owning process.
 *
 * @example
 * process.on("unhandledRejection", (error, promise) => {
 *   if (ownerOf(promise) === undefined) shutDown(error);
 * });
 */
export function ownerOf(promise: Promise<unknown>): Pid<unknown> | undefined {
  if (!isThenable(promise)) throw new OptionError("promise", promise, "a promise");
  const owner = origin.ownerOf(promise);
  // The pid may be of another copy of the library, so `instanceof Pid` would not do.
  return owner !== undefined && "node" in owner ? (owner as Pid<unknown>) : undefined;
}

/**
 * Starts marking promises. Calls are counted, so several systems can mark promises at the same time. Returns the
 * function that ends the marking, or undefined when the host has no promise hooks.
 */
export function markPromises(): (() => void) | undefined {
  if (!origin.watch()) return undefined;
  let ended = false;
  return () => {
    if (!ended) origin.unwatch();
    ended = true;
  };
}
