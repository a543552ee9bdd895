// Walks through every combination of choices, and a port for a disk whose steps the test takes one by one.

import type { DiskPort } from "../../../lib/testing/devices/disk.js";

/** Every list of choices, one after the other, like the wheels of an odometer. */
export class EveryChoice {
  readonly labels: string[] = [];
  #made: number[] = [];
  #widths: number[] = [];
  #at = 0;

  readonly choose = (n: number, label: string): number => {
    if (!Number.isInteger(n) || n < 2) throw new Error(`${label}: no choice among ${n}`);
    this.labels[this.#at] = label;
    this.#widths[this.#at] = n;
    this.#made[this.#at] ??= 0;
    return this.#made[this.#at++] as number;
  };

  /** Goes on to the next combination; false after the last. */
  next(): boolean {
    this.#made.length = this.#at;
    this.#at = 0;
    while (this.#made.length > 0) {
      const last = this.#made.length - 1;
      const bumped = (this.#made[last] as number) + 1;
      if (bumped < (this.#widths[last] as number)) {
        this.#made[last] = bumped;
        this.labels.length = last;
        return true;
      }
      this.#made.pop();
    }
    return false;
  }
}

/** The results of `run` for every combination of choices. */
export function results<T>(run: (choose: DiskPort["choose"]) => T): T[] {
  const every = new EveryChoice();
  const all: T[] = [];
  do all.push(run(every.choose));
  while (every.next());
  return all;
}

/** Lets everything that awaits go on as far as it can. */
const quiet = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Where the disk under test is plugged in. */
export class Socket implements DiskPort {
  readonly failures: NonNullable<DiskPort["failures"]>;
  readonly labels: string[] = [];
  /** Keys of the step under way, `r disk:log` or `w disk:log`. */
  touches: string[] = [];
  readonly #steps: (() => void)[] = [];
  readonly #choose: DiskPort["choose"];

  constructor(
    choose: DiskPort["choose"] | readonly number[] = [],
    failures: NonNullable<DiskPort["failures"]> = { read: true, sync: true, write: true },
  ) {
    const list = typeof choose === "function" ? [] : [...choose];
    this.#choose = typeof choose === "function" ? choose : () => list.shift() ?? 0;
    this.failures = failures;
  }

  choose(n: number, label: string): number {
    if (!Number.isInteger(n) || n < 2) throw new Error(`${label}: no choice among ${n}`);
    this.labels.push(`${label} ${n}`);
    return this.#choose(n, label);
  }

  settle(fn: () => void): void {
    this.#steps.push(fn);
  }

  touched(key: string, how: "read" | "write"): void {
    this.touches.push(`${how[0]} ${key}`);
  }

  /** Takes one step; false when there is none. */
  async step(): Promise<boolean> {
    await quiet();
    const step = this.#steps.shift();
    this.touches = [];
    step?.();
    await quiet();
    return step !== undefined;
  }

  /** Takes steps until there is none left, and gives what came of `promise`. */
  async run<T>(promise: Promise<T>): Promise<T> {
    promise.catch(() => undefined);
    while (await this.step());
    return promise;
  }
}

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
export const text = (content: Uint8Array | undefined): string | undefined =>
  content === undefined ? undefined : new TextDecoder().decode(content);
