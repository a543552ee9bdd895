// Which process made this promise: V8's promise hooks mark each promise with the pid of the process whose code is
// running, and restore that pid when the promise's continuation runs. A rejection nobody handled then finds its owner,
// also after awaits. Hooks cost synchronous code nothing, but every await of the thread some 40 ns: they are taken away
// while no code of a process runs or waits for the host (docs/decisions/0026). Browsers, workers and Bun have no promise
// hooks: promises have no owners there.

import { globalObject, optionalModule } from "./node-modules.js";
import type { Pid } from "./pid.js";

interface HookCallbacks {
  init(promise: object, parent: object | undefined): void;
  before(promise: object): void;
  after(): void;
}

interface PromiseHooks {
  createHook(callbacks: HookCallbacks): () => void;
}

const promiseHooks = optionalModule("node:v8")?.promiseHooks as PromiseHooks | undefined;

/** Gives back the object it was constructed with, so that a private field can be put on any object. */
class Given {
  constructor(promise: object) {
    // biome-ignore lint/correctness/noConstructorReturn: this is what it is for
    return promise;
  }
}

/** A field that nobody else sees: a promise prints and compares as if it had no owner. */
class Mark extends Given {
  readonly #owner: object;
  constructor(promise: object, owner: object) {
    super(promise);
    this.#owner = owner;
  }
  static ownerOf(promise: object): object | undefined {
    return #owner in promise ? promise.#owner : undefined;
  }
}

/** Put on a promise in whose name the host may run code of a process, until it does. */
class Awaited extends Given {
  #open = true;
  /** True for such a promise, the first time. */
  static end(promise: object): boolean {
    if (!(#open in promise) || !promise.#open) return false;
    promise.#open = false;
    return true;
  }
}

/**
 * State that all copies of the library in this thread share. Kept where the hooks are, which is one place for every copy
 * and every realm; without hooks, on the global object of the realm.
 */
export function shared<T extends object>(name: string, create: () => T): T {
  const holder = (promiseHooks ?? globalObject) as unknown as Record<symbol, T | undefined>;
  const key = Symbol.for(`signalbox.${name}.1`);
  holder[key] ??= create();
  return holder[key];
}

/**
 * What all copies of the library in one thread have in common: there is one set of hooks, and code of one copy's process
 * may set a turn of another's going. Only ever added to: the copy that made it may be older than those that use it.
 */
class Origin {
  /**
   * In whose name code runs outside an activation, in continuations, timers and callbacks: the pid of a process, or the
   * actor that stands for a simulated scenario.
   */
  current: object | undefined = undefined;
  /** Knows which process it runs. Asked only when a promise is made: an activation costs nothing here. */
  scheduler: { readonly running: { readonly pid?: object } | undefined } | undefined = undefined;
  private watchers = 0;
  private uninstall: (() => void) | undefined = undefined;
  /** Continuations of processes that wait for the host, and not for the library. */
  private awaited = 0;
  /** A promise that the library settles, and wakes the hooks before it does; what awaits it now does not wait for the host. */
  settledHere: object | undefined = undefined;

  ownerOf(promise: object): object | undefined {
    return Mark.ownerOf(promise);
  }

  /** False: the host has no promise hooks. */
  watch(): boolean {
    if (this.uninstall === undefined && !this.install()) return false;
    this.watchers++;
    return true;
  }

  unwatch(): void {
    if (--this.watchers === 0) this.remove();
  }

  /** Code of a process is about to run: its promises are to be marked. */
  wake(): void {
    if (this.uninstall === undefined && this.watchers > 0) this.install();
  }

  private install(): boolean {
    const hooks: HookCallbacks = {
      init: (promise, parent) => {
        const owner = this.current ?? this.scheduler?.running?.pid;
        if (owner === undefined) return;
        new Mark(promise, owner);
        if (parent === undefined || parent === this.settledHere) return;
        new Awaited(promise);
        // Where the parent waits for the host too, this one waits at least as long, and stands for both.
        if (!Awaited.end(parent)) this.awaited++;
      },
      before: (promise) => {
        this.current = Mark.ownerOf(promise);
        if (this.awaited > 0 && Awaited.end(promise)) this.awaited--;
      },
      after: () => {
        this.current = undefined;
      },
    };
    try {
      this.uninstall = promiseHooks?.createHook(hooks);
    } catch {
      // Bun has the function, and it throws.
      this.uninstall = undefined;
    }
    return this.uninstall !== undefined;
  }

  /**
   * No code of a process runs now: takes the hooks away, unless some is to go on when the host settles a promise. Code
   * that goes on when the library settles one finds the hooks again, and its promises keep their marks meanwhile.
   *
   * @returns false where the hooks have to stay
   */
  rest(): boolean {
    if (this.awaited > 0) return false;
    this.remove();
    return true;
  }

  /** The turn is over. */
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

/** In whose name code runs now. */
export function runningOwner(): object | undefined {
  return origin.current ?? origin.scheduler?.running?.pid;
}

/** Runs code in the name of `owner`, wherever it is called: the promises that it makes are its own. */
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

/**
 * The process whose code created a promise, even when that process has exited. Undefined when no process did. Only promises
 * that were created while a System runs have owners. For listeners of the host: a rejection with an owner already crashes
 * that process.
 *
 * @example
 * process.on("unhandledRejection", (error, promise) => {
 *   if (ownerOf(promise) === undefined) shutDown(error);
 * });
 */
export function ownerOf(promise: Promise<unknown>): Pid<unknown> | undefined {
  const owner = origin.ownerOf(promise);
  // Another copy's pid is a pid as well.
  return owner !== undefined && "node" in owner ? (owner as Pid<unknown>) : undefined;
}

/**
 * Starts marking promises; counted, so that several systems may ask. Returns the call that ends it, or undefined where the
 * host has no promise hooks.
 */
export function markPromises(): (() => void) | undefined {
  if (!origin.watch()) return undefined;
  let ended = false;
  return () => {
    if (!ended) origin.unwatch();
    ended = true;
  };
}
