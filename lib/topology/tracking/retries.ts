// Decides about the reliable tuples of a spout's task, from their emit until they are acked or have failed for good.
//
//   emitted ─▶ in flight ── acked ─────────────────────▶ the spout's `ack`
//                │ ▲
//        failed, │ │ the wait before the retry is over
//        expired ▼ │
//              waiting      (as often as there are retries; a try that came back spends none)
//                │ no retry left
//                ▼
//              dead letter ── a bolt has acked it, or no bolt subscribes to `dead` ──▶ the spout's `fail`
//
// Each call is an event and returns a decision, which the task carries out. The state changes in place, for speed, but
// deterministically: the same calls give the same answers.

import type { Failure } from "../definition/component.js";
import { FormerTrees } from "./former-trees.js";
import { IdTable } from "./id-table.js";
import { type PendingTuple, traceOf } from "./pending-tuple.js";

/** The decision about a tuple. */
export type Decision =
  | { readonly type: "acked"; readonly pending: PendingTuple }
  /** Emit it again, after the wait before attempt number `attempt` of the retries. */
  | { readonly type: "retry"; readonly pending: PendingTuple; readonly attempt: number }
  /** Emit its dead letter, after the wait before attempt number `attempt`; 0 for at once. */
  | { readonly type: "letter"; readonly pending: PendingTuple; readonly attempt: number }
  | { readonly type: "failed"; readonly pending: PendingTuple; readonly failure: Failure };

/** Why a tree failed. `returned`: a task did not run, or ended before it took the tuple; or the acker ended. */
export type Cause = "failed" | "expired" | "returned";

export class Retries {
  private readonly retries: number;
  /** Whether a bolt subscribes to the stream `dead`. */
  private readonly letters: boolean;
  private readonly roots = new IdTable();
  /** The tuple of each root and the acker of its tree, by the owner's number in `roots`. */
  private readonly tuples: (PendingTuple | undefined)[] = [];
  private readonly ackers: (object | undefined)[] = [];
  private readonly free: number[] = [];
  private readonly former: FormerTrees;

  constructor(retries: number, letters: boolean, former: FormerTrees = new FormerTrees()) {
    this.retries = retries;
    this.letters = letters;
    this.former = former;
  }

  /** The tuple of which this root is, or was, a tree. */
  find(hi: number, lo: number): PendingTuple | undefined {
    return this.current(hi, lo) ?? this.former.find(hi, lo);
  }

  /** The tuple of which this root is a tree in flight. */
  current(hi: number, lo: number): PendingTuple | undefined {
    const slot = this.roots.find(hi, lo);
    return slot < 0 ? undefined : this.tuples[this.roots.owner(slot)];
  }

  /** The process of the task has ended. The next process takes over all tuples. */
  leave(): void {
    this.roots.forEach((slot) => {
      const pending = this.tuples[this.roots.owner(slot)];
      if (pending !== undefined) this.former.add(pending, this.roots.hi(slot), this.roots.lo(slot));
    });
  }

  /** The number of trees in flight. */
  get inFlight(): number {
    return this.roots.size;
  }

  /** The tuple was emitted as a tree with this root, which this acker tracks. */
  emitted(pending: PendingTuple, hi: number, lo: number, acker: object): void {
    const place = this.free.pop() ?? this.tuples.length;
    this.tuples[place] = pending;
    this.ackers[place] = acker;
    this.roots.setOwner(this.roots.add(hi, lo), place);
    pending.inFlight = true;
    if (pending.deadBecause === undefined) pending.attempts++;
    else pending.letters++;
  }

  /** The process that emitted the tuple has ended. That is no fault of a tuple in flight: it spends no retry. */
  inherit(pending: PendingTuple): void {
    if (pending.inFlight) this.setBack(pending);
    pending.setbacks = 0;
  }

  /** The tree is complete. Undefined when it belongs to another process, or has ended before. */
  done(hi: number, lo: number): Decision | undefined {
    const pending = this.take(hi, lo);
    if (pending === undefined) return undefined;
    return pending.deadBecause === undefined
      ? { type: "acked", pending }
      : this.over(pending, pending.deadBecause, true);
  }

  /** The tree has failed. Undefined when it belongs to another process, or has ended before. */
  failed(hi: number, lo: number, cause: Cause): Decision | undefined {
    const pending = this.take(hi, lo);
    if (pending === undefined) return undefined;
    this.former.add(pending, hi, lo);
    if (cause === "expired") traceOf(pending).expired = true;
    return this.decide(pending, cause);
  }

  /** The emit of the tuple threw. That counts as a try. */
  emitFailed(pending: PendingTuple): Decision {
    if (pending.deadBecause === undefined) pending.attempts++;
    else pending.letters++;
    return this.decide(pending, "failed");
  }

  /** An acker has ended. All trees that it tracked have failed. */
  ackerGone(acker: object): Decision[] {
    const places: number[] = [];
    this.roots.forEach((slot) => {
      const place = this.roots.owner(slot);
      if (this.ackers[place] === acker) places.push(this.roots.hi(slot), this.roots.lo(slot));
    });
    const decisions: Decision[] = [];
    for (let i = 0; i < places.length; i += 2) {
      const decision = this.failed(places[i] as number, places[i + 1] as number, "returned");
      if (decision !== undefined) decisions.push(decision);
    }
    return decisions;
  }

  /** Decides about a tuple, or a dead letter, whose tree has failed. */
  private decide(pending: PendingTuple, cause: Cause): Decision {
    if (cause === "returned" && this.retries > 0) return this.setBack(pending);
    pending.setbacks = 0;
    if (pending.deadBecause !== undefined) {
      if (pending.letters > this.retries) return this.over(pending, pending.deadBecause, false);
      return { type: "letter", pending, attempt: pending.letters };
    }
    if (pending.attempts <= this.retries && pending.trace?.hopeless !== true)
      return { type: "retry", pending, attempt: pending.attempts };
    const type = cause === "expired" ? "expired" : "failed";
    if (!this.letters) return this.over(pending, type, false);
    pending.deadBecause = type;
    return { type: "letter", pending, attempt: 0 };
  }

  /** The try came back by no fault of the tuple: the next try spends no retry. */
  private setBack(pending: PendingTuple): Decision {
    pending.setbacks++;
    if (pending.deadBecause !== undefined) {
      pending.letters = Math.max(0, pending.letters - 1);
      return { type: "letter", pending, attempt: pending.setbacks };
    }
    pending.attempts = Math.max(0, pending.attempts - 1);
    return { type: "retry", pending, attempt: pending.setbacks };
  }

  private over(pending: PendingTuple, type: Failure["type"], deadLettered: boolean): Decision {
    return { type: "failed", pending, failure: { type, attempts: pending.attempts, deadLettered } };
  }

  private take(hi: number, lo: number): PendingTuple | undefined {
    const slot = this.roots.find(hi, lo);
    if (slot < 0) return undefined;
    const place = this.roots.owner(slot);
    const pending = this.tuples[place];
    this.tuples[place] = undefined;
    this.ackers[place] = undefined;
    if (pending !== undefined) pending.inFlight = false;
    this.free.push(place);
    this.roots.remove(slot);
    return pending;
  }
}
