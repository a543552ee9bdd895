// The connection of a store in memory to a simulator.

/** Makes a store in memory behave as one on a disk that may fail: every commit takes a step of its own. */
export interface MemoryPort {
  /** Returns a number from 0 to `n` - 1, where 0 is the ordinary outcome; `n` is at least 2. Labels begin with `store:`. */
  choose(n: number, label: string): number;
  /** Calls `fn`, which settles a promise, in a step of its own. */
  settle(fn: () => void): void;
  /** The current step reads or writes the store. */
  touched(key: string, how: "read" | "write"): void;
  /** The operations that may fail. By default none may. */
  readonly failures?: {
    /** Whether a commit may fail with `ENOSPC`. */
    readonly write?: boolean;
    /** Whether a commit may fail with `EIO`. */
    readonly sync?: boolean;
  };
}
