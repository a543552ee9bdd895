// The reliable tuples of a spout's task, over all of its processes.

import { FormerTrees } from "../tracking/former-trees.js";
import type { PendingTuple } from "../tracking/pending-tuple.js";
import { Retries } from "../tracking/retries.js";
import type { SimulatorHooks } from "./simulator-hooks.js";

export class SpoutTuples {
  /** Those that are not settled. */
  readonly pending: Set<PendingTuple> = new Set();
  /** The task has called `done`. */
  done = false;
  readonly #task: string;
  readonly #hooks: SimulatorHooks;
  readonly #former = new FormerTrees();
  /** The trees of the last process. */
  #retries: Retries | undefined = undefined;

  /** @param task - the id of the task's slot */
  constructor(task: string, hooks: SimulatorHooks) {
    this.#task = task;
    this.#hooks = hooks;
  }

  /** A process of the task begins to emit. @param letters - whether a bolt subscribes to the stream `dead` */
  begin(retries: number, letters: boolean): void {
    this.#hooks.trees(this.#task, "write");
    this.#retries?.leave();
    this.#retries = new Retries(retries, letters, this.#former);
  }

  /** The trees of the process that emits now, to change them. */
  get trees(): Retries {
    this.#hooks.trees(this.#task, "write");
    return this.#retries as Retries;
  }

  /** The number of trees in flight. */
  get inFlight(): number {
    return this.#retries?.inFlight ?? 0;
  }

  /** The tuple of which this root is a tree in flight. */
  current(hi: number, lo: number): PendingTuple | undefined {
    this.#hooks.trees(this.#task, "read");
    return this.#retries?.current(hi, lo);
  }

  /** The tuple of which this root is, or was, a tree. */
  find(hi: number, lo: number): PendingTuple | undefined {
    this.#hooks.trees(this.#task, "read");
    return this.#retries?.find(hi, lo);
  }

  /** The tuple is settled: it is not emitted again. */
  forget(tuple: PendingTuple): void {
    this.#hooks.trees(this.#task, "write");
    this.pending.delete(tuple);
    tuple.settled = true;
    this.#former.forget(tuple);
  }
}
