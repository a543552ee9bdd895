// The witness knows which subject's code runs when the program ends. All hosts of a thread share one. Code runs in the name of a subject from
// `run` on, with everything that it awaits, and in the callbacks and timers that it leaves behind.
//
// In calm times the witness knows only facts that cost nothing: which subject's `run` is on the stack, and which process awaited what
// continues now (lib/process/origin.ts), if all code of that process is one subject's. An end is noted in the program's last
// moments. If the code that ended the program has no name, the note says that, and the next life *carries* names in Node's
// asynchronous context, which reaches timers and callbacks too. On Node 20 and 22 each promise of the thread pays for that.
//
// In a watched life promises are marked with the subject that made them, so that its continuations have its name. Each switch from one
// subject to another, or to none, is noted at once, since an abort leaves no last moment and a kill is no evidence against a subject whose
// code has given back the thread. A thread of its own sees a subject that does not give it back.

import type { AsyncLocalStorage as Storage } from "node:async_hooks";
import { node, optionalModule } from "../../process/node-modules.js";
import { Given, origin, runningOwner } from "../../process/origin.js";
import { HostThread } from "../../process/thread.js";

/** A subject in whose name code runs. */
export interface Accountable {
  readonly subject: string;
  /** It has not ended. Code that it leaves behind counts against no subject after its end. */
  readonly isOpen: boolean;
  /** Keeps the evidence about it. */
  readonly keeper: WitnessKeeper;
}

/** A host that wants to know. All calls are synchronous, and may be the last of the program. */
export interface WitnessKeeper {
  /** Code of a subject ended the program, or is about to. */
  ended(subject: string, kind: "exit" | "uncaught"): void;
  /** The program goes on after all. */
  wentOn(): void;
  /** Code of an unknown subject, or of none, ended the program. */
  namelessly(kind: "exit" | "uncaught"): void;
  /** The program ends, and code of no subject did it. */
  left(): void;
  /** The subject that runs from now on: bytes to write in place. */
  note(bytes: Uint8Array): void;
  /** Where the watching thread notes a subject that spins. */
  readonly spinPath: string | undefined;
}

const { AsyncLocalStorage, createHook } = optionalModule("node:async_hooks") ?? {};

/** Longer subjects are not noted. */
const MOST_BYTES = 1_024;
/** A note: its length in bytes as four digits, then the subject. The bytes behind it are of an earlier note. */
const HEAD = 4;
const LOOK_MS = 100;
/** So many looks in a row see the same switch: the subject spins. Counted, since a stopped program must not look like one. */
const SPIN_LOOKS = 12;

class Witness {
  readonly #keepers = new Set<WitnessKeeper>();
  /** Keepers whose subjects are carried into timers and callbacks. */
  readonly #carrying = new Set<WitnessKeeper>();
  readonly #watching = new Map<WitnessKeeper, Watch>();
  /** The same, for each switch. */
  #watches: readonly Watch[] = [];
  /** Processes that run only code of one subject. */
  readonly #owned = new Map<object, Accountable>();
  #storage: Storage<Accountable | undefined> | undefined;
  /** While hosts watch: the subject whose code runs. */
  #now: Accountable | undefined;
  #unfollow: (() => void) | undefined;
  /** The subject whose `run` is on the stack, and the process that called it. */
  #inner: Accountable | undefined;
  #caller: object | undefined;
  #unhook: (() => void) | undefined;
  #isUncaught = false;

  /** Runs code in the name of a subject. */
  run<T>(subject: Accountable, fn: () => T): T {
    const storage = this.#storage;
    if (this.#watching.size > 0)
      return storage === undefined
        ? this.#runWatched(subject, fn)
        : storage.run(subject, () => this.#runWatched(subject, fn));
    if (storage !== undefined) return storage.run(subject, fn);
    const inner = this.#inner;
    const caller = this.#caller;
    this.#inner = subject;
    this.#caller = runningOwner();
    try {
      return fn();
    } finally {
      this.#inner = inner;
      this.#caller = caller;
    }
  }

  #runWatched<T>(subject: Accountable, fn: () => T): T {
    const before = this.#now;
    this.#switch(subject);
    try {
      return fn();
    } finally {
      this.#switch(before);
    }
  }

  #switch(to: Accountable | undefined): void {
    if (to === undefined && this.#now === undefined) return;
    this.#now = to;
    const watches = this.#watches;
    for (let i = 0; i < watches.length; i++) (watches[i] as Watch).noted(to);
  }

  /** All code of a process is a subject's. */
  own(process: object, subject: Accountable): void {
    this.#owned.set(process, subject);
  }

  /** The subject has ended. */
  disown(process: object): void {
    this.#owned.delete(process);
  }

  join(keeper: WitnessKeeper): void {
    if (AsyncLocalStorage === undefined) return;
    if (this.#keepers.size === 0) this.#listen();
    this.#keepers.add(keeper);
  }

  leave(keeper: WitnessKeeper): void {
    this.unwatch(keeper);
    this.#carrying.delete(keeper);
    this.#rest();
    for (const [process, subject] of this.#owned) if (subject.keeper === keeper) this.#owned.delete(process);
    if (!this.#keepers.delete(keeper) || this.#keepers.size > 0) return;
    this.#unhook?.();
  }

  /** Carries the names of subjects into timers and callbacks from now on. */
  carry(keeper: WitnessKeeper): void {
    if (!this.#keepers.has(keeper) || AsyncLocalStorage === undefined) return;
    this.#carrying.add(keeper);
    this.#storage ??= new AsyncLocalStorage();
    this.#follow();
  }

  /** Names are carried no further. */
  uncarry(keeper: WitnessKeeper): void {
    this.#carrying.delete(keeper);
    this.#rest();
  }

  /** Notes each switch from now on. */
  watch(keeper: WitnessKeeper): void {
    if (!this.#keepers.has(keeper) || this.#watching.has(keeper)) return;
    this.#watching.set(keeper, new Watch(keeper));
    this.#follow();
  }

  unwatch(keeper: WitnessKeeper): void {
    this.#watching.get(keeper)?.close();
    this.#watching.delete(keeper);
    this.#rest();
  }

  /** Nothing is done that no keeper asks for. */
  #rest(): void {
    if (this.#carrying.size === 0) {
      this.#storage?.disable();
      this.#storage = undefined;
    }
    this.#follow();
  }

  /** Follows each continuation while hosts watch: those of promises or, where names are carried, all. */
  #follow(): void {
    this.#unfollow?.();
    this.#unfollow = undefined;
    this.#watches = [...this.#watching.values()];
    // A continuation that runs now is not looked at any more.
    this.#switch(undefined);
    if (this.#watches.length === 0) return;
    const storage = this.#storage;
    this.#unfollow = storage === undefined ? this.#followPromises() : this.#followAll(storage);
  }

  /** Undefined: another copy of the library follows them. Only code within `run` has a name then. */
  #followPromises(): (() => void) | undefined {
    if (origin.names !== undefined) return undefined;
    origin.names = {
      made: (promise, owner) => {
        const now = this.#now;
        if (now !== undefined && this.#owned.get(owner) !== now) new Named(promise, now);
      },
      continues: (promise, owner) =>
        this.#switch(open(Named.nameOf(promise) ?? (owner && this.#owned.get(owner)))),
      rests: () => this.#switch(undefined),
    };
    return () => {
      origin.names = undefined;
    };
  }

  #followAll(storage: Storage<Accountable | undefined>): (() => void) | undefined {
    const below: (Accountable | undefined)[] = [];
    const hook = createHook?.({
      before: () => {
        below.push(this.#now);
        this.#switch(open(storage.getStore()));
      },
      after: () => this.#switch(below.pop()),
    });
    hook?.enable();
    return () => hook?.disable();
  }

  get #current(): Accountable | undefined {
    const carried = open(this.#storage?.getStore()) ?? open(this.#now);
    if (carried !== undefined) return carried;
    const owner = runningOwner();
    if (this.#inner !== undefined && this.#caller === owner) return open(this.#inner);
    return owner === undefined ? undefined : open(this.#owned.get(owner));
  }

  /** Names of a keeper's subjects have been carried: code without a name is no subject's. */
  #isSure(keeper: WitnessKeeper): boolean {
    return this.#carrying.has(keeper);
  }

  #listen(): void {
    const { process } = node;
    const exit = (): void => {
      const current = this.#current;
      const kind = this.#isUncaught ? "uncaught" : "exit";
      for (const keeper of this.#keepers)
        if (keeper === current?.keeper) keeper.ended(current.subject, kind);
        else if (current === undefined && !this.#isSure(keeper)) keeper.namelessly(kind);
        else if (!this.#isUncaught) keeper.left();
    };
    const uncaught = (): void => {
      this.#isUncaught = true;
      const current = this.#current;
      current?.keeper.ended(current.subject, "uncaught");
      // A listener of the program's own may let it go on.
      node.timers
        .setImmediate(() => {
          this.#isUncaught = false;
          current?.keeper.wentOn();
        })
        .unref();
    };
    process.on("exit", exit);
    process.on("uncaughtExceptionMonitor", uncaught);
    this.#unhook = () => {
      process.off("exit", exit);
      process.off("uncaughtExceptionMonitor", uncaught);
    };
  }
}

/** A subject that may still be accused. */
function open(subject: Accountable | undefined): Accountable | undefined {
  return subject?.isOpen ? subject : undefined;
}

/** The witness of this thread. */
export const witness: Witness = new Witness();

/** Stores in a private field of a promise the subject whose code made it. */
class Named extends Given {
  readonly #name: Accountable;
  constructor(promise: object, name: Accountable) {
    super(promise);
    this.#name = name;
  }
  static nameOf(promise: object): Accountable | undefined {
    return #name in promise ? promise.#name : undefined;
  }
}

/** A watched life of one host: notes the running subject, in a file and for a thread that looks on. */
class Watch {
  readonly #keeper: WitnessKeeper;
  readonly #cells: Int32Array;
  readonly #bytes: Uint8Array;
  readonly #note = new Uint8Array(HEAD + MOST_BYTES);
  readonly #encoder = new TextEncoder();
  /** The subject whose code runs. */
  #now: Accountable | undefined;
  #thread: HostThread | undefined;

  constructor(keeper: WitnessKeeper) {
    this.#keeper = keeper;
    const memory = new SharedArrayBuffer(3 * Int32Array.BYTES_PER_ELEMENT + MOST_BYTES);
    this.#cells = new Int32Array(memory, 0, 3);
    this.#bytes = new Uint8Array(memory, 3 * Int32Array.BYTES_PER_ELEMENT);
    this.#file(undefined);
    this.#look(memory);
  }

  #look(memory: SharedArrayBuffer): void {
    const { spinPath } = this.#keeper;
    if (spinPath === undefined) return;
    try {
      const data = { memory, path: spinPath, lookMs: LOOK_MS, spinLooks: SPIN_LOOKS };
      this.#thread = new HostThread(
        { program: LOOKING, data },
        { said: () => undefined, ended: () => undefined },
      );
      this.#thread.rest();
    } catch {
      // A host without threads: a spin is not seen.
    }
  }

  /** The code of a subject runs from now on, or of none. */
  noted(to: Accountable | undefined): void {
    const subject = to?.keeper === this.#keeper ? to : undefined;
    Atomics.add(this.#cells, 0, 1);
    if (subject === this.#now) return;
    this.#now = subject;
    Atomics.store(this.#cells, 1, this.#file(subject));
  }

  /** Returns the length of what is in the file, in bytes. */
  #file(subject: Accountable | undefined): number {
    const { read, written } = this.#encoder.encodeInto(subject?.subject ?? "", this.#note.subarray(HEAD));
    const length = read === (subject?.subject.length ?? 0) ? written : 0;
    this.#encoder.encodeInto(String(length).padStart(HEAD, "0"), this.#note);
    const note = this.#note.subarray(0, HEAD + length);
    this.#bytes.set(note.subarray(HEAD));
    this.#keeper.note(note);
    return length;
  }

  close(): void {
    Atomics.store(this.#cells, 2, 1);
    Atomics.notify(this.#cells, 2);
  }
}

/** The subject in a note. */
export function readNote(note: string | undefined): string | undefined {
  const length = Number(note?.slice(0, HEAD));
  if (note === undefined || !(length > 0)) return undefined;
  const bytes = new TextEncoder().encode(note.slice(HEAD));
  return bytes.length < length ? undefined : new TextDecoder().decode(bytes.subarray(0, length));
}

/** The thread that looks on. It writes when the same code runs for too long, and takes that back when the code has ended. */
const LOOKING = `
const { workerData } = require("node:worker_threads");
const fs = require("node:fs");
const { memory, path, lookMs, spinLooks } = workerData;
const cells = new Int32Array(memory, 0, 3);
const bytes = new Uint8Array(memory, 12);
let seen = -1;
let looks = 0;
let isWritten = false;
while (Atomics.load(cells, 2) === 0) {
  Atomics.wait(cells, 2, 0, lookMs);
  const turn = Atomics.load(cells, 0);
  const length = Atomics.load(cells, 1);
  looks = turn === seen && length > 0 ? looks + 1 : 0;
  seen = turn;
  try {
    if (looks === spinLooks) {
      const subject = Buffer.from(bytes.slice(0, length)).toString();
      fs.writeFileSync(path + ".new", JSON.stringify({ subject, kind: "spin", at: Date.now() }), { mode: 0o600 });
      fs.renameSync(path + ".new", path);
      isWritten = true;
    } else if (looks === 0 && isWritten) {
      fs.rmSync(path, { force: true });
      isWritten = false;
    }
  } catch {}
}
`;
