// Which steps depend on each other: the order of two dependent steps can matter, that of two independent ones cannot.

import type { Footprint, PossibleStep } from "./strategy.js";

/** The effects of one step, as far as other steps can depend on them. */
export interface Deed {
  /** Steps of one chain always depend on each other: those of an actor, of a channel. */
  readonly chain: string;
  readonly reads: ReadonlySet<string>;
  readonly writes: ReadonlySet<string>;
  /** It depends on every step. */
  readonly barrier: boolean;
  /** It is the same after any earlier steps. */
  readonly isFixed: boolean;
}

const NOTHING: ReadonlySet<string> = new Set();

/** Without a footprint, a step may have touched anything. Footprints are copied, since the caller may reuse them. */
export function deedOf(chain: string, footprint: Footprint | undefined): Deed {
  if (footprint === undefined)
    return { chain, reads: NOTHING, writes: NOTHING, barrier: true, isFixed: false };
  const { reads, writes, isFixed = false } = footprint;
  return { chain, reads: new Set(reads), writes: new Set(writes), barrier: false, isFixed };
}

/** Whether the order of two steps matters: they belong to one chain, or one writes what the other reads or writes. */
export function dependent(a: Deed, b: Deed): boolean {
  if (a.barrier || b.barrier || a.chain === b.chain) return true;
  return meet(a.writes, b.writes) || meet(a.writes, b.reads) || meet(a.reads, b.writes);
}

function meet(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  if (a.size > b.size) return meet(b, a);
  for (const key of a) if (b.has(key)) return true;
  return false;
}

/** The chain of a task. An actor runs and resumes in one chain. The number of a channel may equal that of an actor. */
export function chainOf({ kind, actor, key }: Pick<PossibleStep, "kind" | "actor" | "key">): string {
  return `${kind === "resume" ? "run" : kind} ${key ?? actor}`;
}

/** Whether a step that reads the key can only come after the step that wrote it: the key stands for a message. */
export function isCause(key: string): boolean {
  return key.startsWith("q");
}
