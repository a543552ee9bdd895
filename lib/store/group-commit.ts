// Group commit: many writers share a transaction and a sync. group-commit-machine.ts decides, and this carries out.

import { invariant } from "../process/invariant.js";
import { showThrown } from "../process/show.js";
import type { Applied } from "./driver.js";
import { StoreOverloadedError, ValueError } from "./errors.js";
import {
  decide,
  type Effect,
  type Event,
  initial,
  type Recovery,
  type State,
  waiting,
} from "./group-commit-machine.js";
import type { StoreLimits } from "./limits.js";
import type { CommitOutcome } from "./plan.js";
import type { StoreContext } from "./store.js";
import { checkSet } from "./values.js";
import type { Committed, WriteSet } from "./write-set.js";

/** Called once, never in the turn of the submission. */
export type Settled = (error: Error | undefined, committed: Committed | undefined) => void;

/** The part of its store that a group commit needs. */
export interface Committer {
  readonly label: string;
  readonly limits: StoreLimits;
  /** Names of the tables that the store has. */
  readonly tables: ReadonlySet<string>;
  readonly context: Pick<StoreContext, "environment" | "after" | "warn">;
  /** Commits a group. */
  apply(sets: readonly WriteSet[]): Promise<Applied>;
  recovery(error: unknown): Recovery;
  /** The error that a writer gets for one of the driver. */
  wrap(error: unknown): Error;
  /** A group was committed, and its writers have their results. */
  committed(sets: readonly WriteSet[], outcomes: readonly CommitOutcome[]): void;
}

/** A submitted set. */
class Submitted {
  readonly set: WriteSet;
  readonly settled: Settled;
  readonly writes: number;
  readonly bytes: number;

  constructor(set: WriteSet, settled: Settled, bytes: number) {
    this.set = set;
    this.settled = settled;
    this.writes = set.writes.length;
    this.bytes = bytes;
  }
}

export class GroupCommit {
  readonly #store: Committer;
  readonly #state: State<Submitted>;
  readonly #due = (): void => this.#event({ type: "due" });
  /** The driver's outcomes of the group that is being settled. */
  #outcomes: readonly CommitOutcome[] = [];
  #error: Error | undefined;
  #ended: (() => void) | undefined;
  /** How long the settling of the last group took. */
  #settleMs = 0;

  constructor(store: Committer) {
    this.#store = store;
    this.#state = initial(store.limits);
  }

  /** Queues a write set, or refuses it. */
  submit(set: WriteSet, settled: Settled): void {
    let bytes: number;
    try {
      bytes = checkSet(set, this.#store.tables);
      const { setBytes } = this.#store.limits;
      if (bytes > setBytes) throw tooLarge(set, bytes, setBytes);
    } catch (error) {
      this.#later(settled, error as Error);
      return;
    }
    this.#event({ type: "submitted", set: new Submitted(set, settled, bytes) });
  }

  /** Fulfilled when all that was submitted so far is settled. */
  flush(): Promise<void> {
    return new Promise((resolve) => {
      this.#event({ type: "submitted", set: new Submitted({ writes: [] }, () => resolve(), 0) });
    });
  }

  /** Fulfilled when all that was submitted is settled. Nothing may be submitted any more. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#ended = resolve;
      this.#event({ type: "closed" });
    });
  }

  #event(event: Event<Submitted>): void {
    const [, effects] = decide(this.#state, event);
    for (const effect of effects) this.#carryOut(effect);
  }

  #carryOut(effect: Effect<Submitted>): void {
    switch (effect.type) {
      case "call":
        void Promise.resolve().then(this.#due);
        return;
      case "refuse": {
        const { label, limits } = this.#store;
        const { bytes } = this.#state;
        this.#later(
          effect.set.settled,
          new StoreOverloadedError(label, waiting(this.#state), bytes, limits.queuedBytes),
        );
        return;
      }
      case "begin":
        this.#begin(effect.sets);
        return;
      case "settle":
        this.#settle(effect.sets);
        return;
      case "fail":
        for (const one of effect.sets) this.#tell(one.settled, this.#error, undefined);
        return;
      case "wait":
        this.#store.context.after(effect.ms, () => this.#event({ type: "waited" }));
        return;
      case "end":
        this.#ended?.();
        return;
      default:
        effect satisfies never;
    }
  }

  #begin(group: readonly Submitted[]): void {
    const { environment } = this.#store.context;
    const sets = group.map((one) => one.set);
    const before = environment.now();
    const applied = isEmpty(sets) ? Promise.resolve(NOTHING) : this.#store.apply(sets);
    const heldMs = environment.now() - before + this.#settleMs;
    this.#settleMs = 0;
    applied.then(
      (result) => {
        const { outcomes } = result;
        invariant(outcomes === NONE || outcomes.length === sets.length, "each set of a group has an outcome");
        this.#outcomes = outcomes;
        this.#event({ type: "committed", heldMs: heldMs + (result.heldMs ?? 0) });
      },
      (error: unknown) => {
        this.#error = this.#store.wrap(error);
        this.#event({ type: "failed", recovery: this.#store.recovery(error) });
      },
    );
  }

  #settle(group: readonly Submitted[]): void {
    const { environment } = this.#store.context;
    const outcomes = this.#outcomes;
    const before = environment.now();
    for (let i = 0; i < group.length; i++) {
      const outcome = outcomes[i] ?? DONE;
      const { settled } = group[i] as Submitted;
      if (outcome instanceof Error) this.#tell(settled, outcome, undefined);
      else this.#tell(settled, undefined, outcome);
    }
    this.#store.committed(
      group.map((one) => one.set),
      outcomes,
    );
    this.#settleMs = environment.now() - before;
  }

  #later(settled: Settled, error: Error): void {
    void Promise.resolve().then(() => this.#tell(settled, error, undefined));
  }

  /** A callback that throws must not keep the others from theirs. */
  #tell(settled: Settled, error: Error | undefined, committed: Committed | undefined): void {
    try {
      settled(error, committed);
    } catch (thrown) {
      const message = `a callback of submit threw: ${showThrown(thrown)}`;
      this.#store.context.warn({ code: "store-callback", message });
    }
  }
}

const DONE: Committed = { results: [] };
/** The outcomes of a group whose sets ask for nothing. */
const NONE: readonly CommitOutcome[] = [];
const NOTHING: Applied = { outcomes: NONE };

/** Sets that only wait for those before them. */
function isEmpty(sets: readonly WriteSet[]): boolean {
  return sets.every(
    ({ writes, expect, claim, notify }) =>
      writes.length === 0 && claim === undefined && !expect?.length && !notify?.length,
  );
}

function tooLarge(set: WriteSet, bytes: number, most: number): ValueError {
  const table = set.writes[0]?.table.name ?? "write set";
  return new ValueError(table, "", `${bytes} bytes`, `in a write set of at most ${most} bytes`);
}
