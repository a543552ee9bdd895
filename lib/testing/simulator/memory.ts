// Memory that processes share besides messages, as far as it can be seen: objects that reach several processes as arguments of a
// start, in messages or in replies. A Map, a Set, an array or a plain object is shared once its content changes while several
// actors have it. An instance of a class hides its content, so it is shared as soon as two processes got it as an argument.
// Memory behind closures cannot be seen.

import * as behaviours from "../../behaviour/index.js";
import * as dispatches from "../../dispatch/index.js";
import * as processes from "../../process/index.js";
import * as stores from "../../store/index.js";
import * as supervisors from "../../supervisor/index.js";
import { System } from "../../system.js";
import type { Actor } from "./actor.js";
import type { WorldCore } from "./core.js";
import { contentOf } from "./freeze.js";

/** Memory that several processes use without a message between them. */
export interface SharedMemory {
  /** What it is, as `a Map` or `an instance of Accounts`. */
  readonly what: string;
  /** The paths of the processes that have it; `scenario` for the scenario's own code. */
  readonly holders: readonly string[];
}

/** Objects that are looked at in one schedule. */
const MOST_OBJECTS = 1_000;
/** Entries of an object that are compared. */
const MOST_ENTRIES = 1_000;

interface Watched {
  readonly object: object;
  readonly holders: Set<Actor>;
  /** Its content at the end of a step since several actors have it. */
  before: readonly unknown[] | undefined;
}

export class Memory {
  /** The findings, by the object. */
  readonly found: Map<object, Watched> = new Map();
  readonly #core: WorldCore;
  readonly #watched = new Map<object, Watched>();
  /** Those that several actors have. */
  readonly #common = new Set<Watched>();

  constructor(core: WorldCore) {
    this.#core = core;
  }

  /** A process begins with its arguments. The code that starts the process may keep them. */
  born(actor: Actor, behaviour: unknown): void {
    const { args } = behaviour as { readonly args?: unknown };
    if (!Array.isArray(args)) return;
    const giver = this.#core.code.current;
    for (const arg of args) this.#give(arg, giver.supervises ? [actor] : [giver, actor], true);
  }

  /** A message is sent, or a promise settled with a value: both sides may keep it. */
  passed(from: Actor, to: Actor, item: unknown): void {
    this.#give(contentOf(item), [from, to], false);
  }

  /** Looks for changes at the end of a step. */
  stepped(): void {
    for (const watched of this.#common) {
      const content = contents(watched.object);
      const { before } = watched;
      // A change in the step that shares it comes before all that others do with it.
      if (before === undefined) watched.before = content;
      else if (!sameContent(before, content)) this.#isShared(watched);
    }
  }

  get all(): readonly SharedMemory[] {
    return [...this.found.values()].map(({ object, holders }) => ({
      what: nameOf(object),
      holders: [...holders].map(({ path }) => path).sort(),
    }));
  }

  #give(value: unknown, actors: readonly Actor[], isArgument: boolean): void {
    const met = new Set<object>();
    const visit = (one: unknown): void => {
      if (typeof one !== "object" || one === null || met.has(one) || met.size > MOST_ENTRIES) return;
      met.add(one);
      if (isContainer(one)) {
        if (!Object.isFrozen(one) || one instanceof Map || one instanceof Set) this.#hold(one, actors);
        for (const inner of contents(one)) visit(inner);
      } else if (isArgument && isOfUser(one)) {
        // The code that made it may have forgotten it.
        const watched = this.#hold(one, actors.slice(-1));
        if (watched !== undefined && watched.holders.size > 1) this.#isShared(watched);
      }
    };
    visit(value);
  }

  #hold(object: object, actors: readonly Actor[]): Watched | undefined {
    let watched = this.#watched.get(object);
    if (watched === undefined) {
      if (this.#watched.size === MOST_OBJECTS) return undefined;
      watched = { object, holders: new Set(), before: undefined };
      this.#watched.set(object, watched);
    }
    for (const actor of actors) watched.holders.add(actor);
    if (watched.holders.size > 1 && isContainer(object) && !this.found.has(object)) this.#common.add(watched);
    if (this.found.has(object)) this.#isShared(watched);
    return watched;
  }

  #isShared(watched: Watched): void {
    this.#common.delete(watched);
    this.found.set(watched.object, watched);
    for (const { key } of watched.holders) this.#core.oracle.chooser.knowledge?.sawSharing(key);
  }
}

function isContainer(one: object): boolean {
  if (Array.isArray(one) || one instanceof Map || one instanceof Set) return true;
  const prototype: unknown = Object.getPrototypeOf(one);
  return prototype === Object.prototype || prototype === null;
}

/** The direct contents of a container. Accessors are not called. */
function contents(one: object): readonly unknown[] {
  if (one instanceof Map) return [one.size, ...[...one].slice(0, MOST_ENTRIES).flat()];
  if (one instanceof Set) return [one.size, ...[...one].slice(0, MOST_ENTRIES)];
  if (Array.isArray(one)) return [one.length, ...one.slice(0, MOST_ENTRIES)];
  const own = Object.entries(Object.getOwnPropertyDescriptors(one)).slice(0, MOST_ENTRIES);
  return own.flatMap(([key, { value }]) => [key, value]);
}

function sameContent(before: readonly unknown[], after: readonly unknown[]): boolean {
  return before.length === after.length && before.every((one, index) => Object.is(one, after[index]));
}

/** The classes of the library, whose state is declared. */
const KNOWN: ReadonlySet<unknown> = new Set<unknown>([
  System,
  ...[processes, behaviours, supervisors, dispatches, stores].flatMap((floor) => Object.values(floor)),
]);

/** Objects of the language and of the host that have no state of the user's. */
const STATELESS: ReadonlySet<string> = new Set(
  ["Date", "RegExp", "Error", "URL", "AbortSignal", "AbortController", "Promise"].map(
    (name) => `[object ${name}]`,
  ),
);

/** Whether an object is of a class of the user's, or of a package. */
function isOfUser(one: object): boolean {
  if (STATELESS.has(Object.prototype.toString.call(one))) return false;
  for (let at: object = one; ; ) {
    at = Object.getPrototypeOf(at);
    if (at === Object.prototype || at === null) return true;
    if (KNOWN.has(at.constructor)) return false;
  }
}

function nameOf(object: object): string {
  if (Array.isArray(object)) return "an array";
  if (object instanceof Map) return "a Map";
  if (object instanceof Set) return "a Set";
  return isContainer(object) ? "an object" : `an instance of ${object.constructor?.name || "a class"}`;
}
