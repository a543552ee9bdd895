// Awaits of promises that the simulator does not settle: those of plain asynchronous functions, such as the fakes of a test. A host
// lets no code hold back the continuation of an await. But for a promise whose `constructor` is not Promise, the language asks the
// promise's `then`, and that may answer in a later step. So while an exploration runs, `constructor` is a getter, which knows that
// it is asked for an await: nothing else asks for it directly from the awaiting code.

import { isOwn } from "../../process/own-code.js";

/** Continues the code behind an await, now or in a step of its own. `ended` is what the promise came to. */
export type Continue = (
  code: () => void,
  ended: { readonly value: unknown } | { readonly error: unknown },
) => void;

/**
 * Says how the code behind an await of the promise continues; undefined to leave the await alone.
 *
 * @param isAwait - whether this is an await in code of the user, which takes some microseconds to find out
 */
export type AwaitWatch = (promise: object, isAwait: () => boolean) => Continue | undefined;

const { prototype } = Promise;
const ordinary = Object.getOwnPropertyDescriptor(prototype, "constructor") as PropertyDescriptor;
const then = prototype.then as (this: object, fulfilled: Handler, rejected: Handler) => Promise<unknown>;
const resolve = Promise.resolve as (this: unknown, value: unknown) => Promise<unknown>;

class Given {
  constructor(promise: object) {
    // biome-ignore lint/correctness/noConstructorReturn: a subclass puts a private field on any object
    return promise;
  }
}

/** Marks a promise that the simulator settles. A private field costs a tenth of an entry in a WeakSet. */
export class SettledHere extends Given {
  readonly #mark = true;
  static has(promise: object): boolean {
    return #mark in promise && promise.#mark;
  }
}

/** Looks like Promise, and is another object. */
const Other = new Proxy(Promise, {});

type Handler = ((value: unknown) => unknown) | null | undefined;

/** Calls `watch` for each promise whose `constructor` is looked up. Returns the function that stops it. */
export function watchAwaits(watch: AwaitWatch): () => void {
  let isDeaf = false;
  const asked = function (this: object): unknown {
    const go = isDeaf ? undefined : watch(this, isAwait);
    if (go === undefined || this === prototype || !Object.isExtensible(this)) return Promise;
    const answer = (fulfilled: Handler, rejected: Handler): unknown => {
      isDeaf = true;
      const next = then.call(
        this,
        (value) => inStep(go, fulfilled, { value }),
        (error) => inStep(go, rejected, { error }),
      );
      isDeaf = false;
      return next;
    };
    // The same await looks it up at once.
    const get = (): unknown => {
      Reflect.deleteProperty(this, "then");
      return answer;
    };
    // biome-ignore lint/suspicious/noThenProperty: the await is to ask it
    Object.defineProperty(this, "then", { configurable: true, get });
    return Other;
  };
  const isAwait = (): boolean => isOfUser(callerOf(asked));
  const set = function (this: object, value: unknown): void {
    Object.defineProperty(this, "constructor", { ...ordinary, value });
  };
  Object.defineProperty(prototype, "constructor", { configurable: true, get: asked, set });
  // These look up the `constructor`, too, and are no awaits. Without them the stack would tell, at a price.
  const silentThen = function (this: object, fulfilled: Handler, rejected: Handler): unknown {
    const before = isDeaf;
    isDeaf = true;
    try {
      return then.call(this, fulfilled, rejected);
    } finally {
      isDeaf = before;
    }
  };
  const silentResolve = function (this: unknown, value: unknown): unknown {
    const before = isDeaf;
    isDeaf = true;
    try {
      return resolve.call(this, value);
    } finally {
      isDeaf = before;
    }
  };
  const undo = [replace(prototype, "then", silentThen), replace(Promise, "resolve", silentResolve)];
  return () => {
    for (const one of undo) one();
    const { get } = Object.getOwnPropertyDescriptor(prototype, "constructor") ?? {};
    if (get === asked) Object.defineProperty(prototype, "constructor", ordinary);
  };
}

/** Replaces a method. Returns the function that puts it back. */
function replace(holder: object, name: string, value: unknown): () => void {
  const own = Object.getOwnPropertyDescriptor(holder, name) as PropertyDescriptor;
  Object.defineProperty(holder, name, { ...own, value });
  return () => {
    if (Reflect.get(holder, name) === value) Object.defineProperty(holder, name, own);
  };
}

/** Calls a handler of `then` when the code behind it may continue. */
function inStep(go: Continue, handler: Handler, ended: { value: unknown } | { error: unknown }): unknown {
  if (typeof handler !== "function") {
    if ("error" in ended) throw ended.error;
    return ended.value;
  }
  return new Promise((done, fail) => {
    go(() => {
      try {
        done(handler("error" in ended ? ended.error : ended.value));
      } catch (error) {
        fail(error);
      }
    }, ended);
  });
}

/** Whether the code of a file is the user's. */
const known = new Map<string, boolean>();
const MODULES = /[\\/]node_modules[\\/]/;

function isOfUser(file: string | undefined): boolean {
  if (file === undefined) return false;
  let isUsers = known.get(file);
  if (isUsers === undefined) {
    const path = file.replaceAll("\\", "/");
    isUsers = !path.startsWith("node:") && !MODULES.test(path) && !isOwn(path);
    known.set(file, isUsers);
  }
  return isUsers;
}

/** The file of the code that has called a function. Undefined for code of the language, such as `Promise.all`. */
function callerOf(fn: () => unknown): string | undefined {
  const { prepareStackTrace, stackTraceLimit } = Error;
  const holder: { stack?: string | null } = {};
  Error.stackTraceLimit = 1;
  Error.prepareStackTrace = fileOf;
  Error.captureStackTrace(holder, fn);
  const file = holder.stack;
  Error.prepareStackTrace = prepareStackTrace;
  Error.stackTraceLimit = stackTraceLimit;
  return typeof file === "string" && file !== "" ? file : undefined;
}

function fileOf(_error: Error, sites: readonly NodeJS.CallSite[]): string | null | undefined {
  return sites[0]?.getFileName();
}
