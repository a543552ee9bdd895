// Threads with shared variables and locks: the programs by which searches with partial-order reduction are compared.

import type { Chooser, PossibleStep } from "../../../lib/testing/strategies/strategy.js";

/** What a thread shares with others. */
export interface Shared {
  get(name: string): number;
  set(name: string, value: number): void;
}

/** A thread: one access to a variable in each step, up to a `yield`. */
export interface Thread {
  (shared: Shared): Generator<undefined, void>;
  /** The lock that the thread waits for, and takes in its first step. */
  readonly lock?: string;
}

interface ThreadTask extends PossibleStep {
  readonly code: Generator<undefined, void>;
  /** The lock that it waits for. */
  lock: string | undefined;
}

/** Runs threads under a chooser, until none can go on. */
export function runThreads(threads: readonly Thread[], chooser: Chooser): void {
  const variables = new Map<string, number>();
  const reads = new Set<string>();
  const writes = new Set<string>();
  const shared: Shared = {
    get: (name) => {
      reads.add(`u:${name}`);
      return variables.get(name) ?? 0;
    },
    set: (name, value) => {
      writes.add(`u:${name}`);
      variables.set(name, value);
    },
  };
  const begun = threads.map((thread, actor): ThreadTask => {
    const { lock } = thread;
    return { kind: "run", actor, rank: undefined, code: thread(shared), lock };
  });
  let left = begun;
  for (;;) {
    const able = left.filter(({ lock }) => lock === undefined || (variables.get(lock) ?? 0) === 0);
    chooser.offered?.(able);
    if (able.length === 0 || isOver(chooser)) return;
    const task = able[able.length > 1 ? chooser.pick(able) : 0] as ThreadTask;
    if (isOver(chooser)) return;
    if (task.lock !== undefined) shared.set(task.lock, 1);
    task.lock = undefined;
    if (task.code.next().done === true) left = left.filter((one) => one !== task);
    chooser.ran?.(task, { reads, writes, isFixed: true });
    reads.clear();
    writes.clear();
  }
}

function isOver({ redundant }: Chooser): boolean {
  return redundant === true;
}

function times(n: number, thread: (index: number) => Thread): Thread[] {
  return Array.from({ length: n }, (_, index) => thread(index));
}

/** One thread writes a variable, the others read it. */
export function readers(n: number): Thread[] {
  const writer: Thread = function* ({ set }) {
    set("x", 1);
    yield;
  };
  return [
    writer,
    ...times(n, () => {
      return function* ({ get }) {
        get("x");
        yield;
      };
    }),
  ];
}

/** Each thread but one computes its place of an array from the place before. That one looks for the last place that is 0. */
export function lastZero(n: number): Thread[] {
  const search: Thread = function* ({ get }) {
    for (let i = n; get(`a${i}`) !== 0; i--) yield;
  };
  return [
    search,
    ...times(n, (index) => {
      return function* ({ get, set }) {
        const before = get(`a${index}`);
        yield;
        set(`a${index + 1}`, before + 1);
      };
    }),
  ];
}

/** Threads put four messages each into a hash table. Up to eleven threads never meet. */
export function indexer(n: number): Thread[] {
  return times(n, (index) => {
    return function* ({ get, set }) {
      for (let message = 0; message < 4; message++) {
        let place = ((message * 11 + index + 1) * 7) % 128;
        while (get(`t${place}`) !== 0) {
          place = (place + 1) % 128;
          yield;
        }
        set(`t${place}`, 1);
        yield;
      }
    };
  });
}

/** Threads create files: each takes an inode, and the first free block from a place on that its number says. */
export function fileSystem(n: number): Thread[] {
  const inodes = 32;
  const blocks = 26;
  return times(n, (index) => {
    return function* ({ get, set }) {
      const inode = index % inodes;
      if (get(`inode ${inode}`) !== 0) return;
      let block = (inode * 2) % blocks;
      yield;
      while (get(`block ${block}`) !== 0) {
        block = (block + 1) % blocks;
        yield;
      }
      set(`block ${block}`, 1);
      yield;
      set(`inode ${inode}`, block + 1);
    };
  });
}

/** Threads put money into an account, one after another under a lock. */
export function account(n: number): Thread[] {
  return times(n, (index) => {
    const deposit: Thread = function* ({ get, set }) {
      const balance = get("balance");
      yield;
      set("balance", balance + index);
      yield;
      set("lock", 0);
    };
    return Object.assign(deposit, { lock: "lock" });
  });
}
