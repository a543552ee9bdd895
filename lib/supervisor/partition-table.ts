// The partitions of one partition supervisor: who runs each of them now, and which one a key belongs to.

import { OptionError } from "../process/errors.js";
import type { Kernel } from "../process/kernel.js";
import type { Process } from "../process/process.js";
import { hash } from "../process/stable-hash.js";
import { type Claim, type Holding, holdFor, Via } from "../process/via.js";

/** The types of a partition's keys. */
export type PartitionKey = string | number | bigint;

/**
 * The partition of a key. An integer k belongs to partition |k| mod n, as in Elixir. A text, and a number with a fraction as a
 * text, is hashed: the same in every run and on every machine. With another number of partitions, most keys move.
 *
 * @throws OptionError when the key is none
 */
export function partitionOf(key: PartitionKey, partitions: number): number {
  if (typeof key === "string") return hash(key) % partitions;
  if (typeof key === "bigint") return Number((key < 0n ? -key : key) % BigInt(partitions));
  if (Number.isInteger(key)) return Math.abs(key) % partitions;
  if (typeof key === "number" && Number.isFinite(key)) return hash(String(key)) % partitions;
  throw new OptionError("key", key, "a text, a finite number or a bigint");
}

/** The processes of the partitions. A restart of a partition puts its new process in. */
export class PartitionTable implements Holding {
  readonly #processes: (Process | undefined)[];

  constructor(partitions: number) {
    this.#processes = new Array(partitions).fill(undefined);
  }

  holder(kernel: Kernel, index: number): Process | undefined {
    kernel.shared?.part(this, String(index), "read");
    return this.#processes[index];
  }

  /** The name under which the child of a partition is spawned. */
  place(index: number): Claim {
    const claim: Omit<Claim, symbol> = {
      claim: (process) => {
        process.kernel.shared?.part(this, String(index), "write");
        this.#processes[index] = process;
        holdFor(process, this);
      },
    };
    return claim as Claim;
  }

  release(process: Process): void {
    const index = this.#processes.indexOf(process);
    process.kernel.shared?.part(this, String(index), "write");
    this.#processes[index] = undefined;
  }
}

/** A partition as an address of the process that runs it now. */
export class PartitionVia extends Via {
  readonly #holder: () => Process | undefined;

  constructor(kernel: Kernel, label: string, holder: () => Process | undefined) {
    super(kernel, label, label);
    this.#holder = holder;
  }

  override get process(): Process | undefined {
    return this.#holder();
  }
}
