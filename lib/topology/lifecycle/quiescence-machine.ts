// Decides when a running topology has come to rest: for a drain, and for callers of `finished()`. Pure: no process, no
// clock.
//
//   something is in motion ─────────────▶ wait until a tuple is settled, and look again
//   a bolt got tuples since its last flush ─▶ flush it, unless news of a failure is on its way: failed tuples are retried
//                                             first
//   tuples are pending or held ─────────▶ wait
//   nothing of these ───────────────────▶ at rest
//
// A look reads the work in progress one field after the other and stops at the first that decides. Counting the tuples in
// motion is cheap; costlier fields are read only when nothing is in motion.

/** The work of a topology at one moment. */
export interface WorkInProgress {
  /**
   * Tuples in mailboxes, in work and about to be retried; bolts that are flushing; spouts that may be about to emit.
   */
  readonly moving: number;
  /** Every spout task has said that it emits no more. */
  readonly spoutsDone: boolean;
  /** The tasks of bolts that run, each with the number of tuples that it ever got. */
  readonly bolts: readonly { readonly task: number; readonly delivered: number }[];
  /** Trees that are in flight without a tuple that a bolt holds: their outcomes are on the way to their spouts. */
  readonly outcomesInTransit: number;
  /** Reliable tuples that are not settled. */
  readonly pending: number;
  /** A bolt holds a tuple that belongs to no tree: only the bolt itself can settle it. */
  readonly holdsUnanchored: boolean;
}

export interface QuiescenceState {
  /** The topology drains. */
  readonly draining: boolean;
  /** A caller waits for `finished()`. */
  readonly finishing: boolean;
  /** By task: how many tuples a bolt had got when it was flushed last. */
  readonly flushedAt: ReadonlyMap<number, number>;
}

export type QuiescenceEvent =
  /** A drain begins. */
  | { readonly type: "drain"; readonly work: WorkInProgress }
  /** A caller begins to wait for `finished()`. */
  | { readonly type: "finish"; readonly work: WorkInProgress }
  /** A tuple was settled, or a task ended. */
  | { readonly type: "settled"; readonly work: WorkInProgress }
  /** The drain has ended, at rest or not. */
  | { readonly type: "halted" };

export type QuiescenceEffect =
  /** Send `settled` when the next tuple is settled. */
  | { readonly type: "watch" }
  /** Tell this task of a bolt to settle what it holds back. */
  | { readonly type: "flush"; readonly task: number }
  /** Answer the callers of `finished()`. */
  | { readonly type: "finished" }
  /** The drain has nothing left to wait for. */
  | { readonly type: "drained" };

type QuiescenceStep = readonly [QuiescenceState, readonly QuiescenceEffect[]];

export function initial(): QuiescenceState {
  return { draining: false, finishing: false, flushedAt: new Map() };
}

export function decide(state: QuiescenceState, event: QuiescenceEvent): QuiescenceStep {
  switch (event.type) {
    case "drain":
      return look({ ...state, draining: true }, event.work);
    case "finish":
      return look({ ...state, finishing: true }, event.work);
    case "settled":
      return look(state, event.work);
    case "halted":
      return [{ ...state, draining: false }, []];
    default:
      return event satisfies never;
  }
}

const WATCH: QuiescenceEffect = { type: "watch" };

function look(state: QuiescenceState, work: WorkInProgress): QuiescenceStep {
  const { draining, finishing } = state;
  if (!draining && !finishing) return [state, []];
  if (work.moving > 0 || !(draining || work.spoutsDone)) return [state, [WATCH]];
  const due = work.bolts.filter(({ task, delivered }) => delivered !== (state.flushedAt.get(task) ?? 0));
  if (due.length > 0) return flush(state, due, work.outcomesInTransit);
  // A held tuple whose trees have all ended is already settled at its spout. It does not count.
  if (work.pending > 0 || work.holdsUnanchored) return [state, [WATCH]];
  const effects: QuiescenceEffect[] = [WATCH];
  const finished = finishing && work.spoutsDone;
  if (finished) effects.push({ type: "finished" });
  if (draining) effects.push({ type: "drained" });
  return [{ ...state, draining: false, finishing: finishing && !finished }, effects];
}

function flush(
  state: QuiescenceState,
  due: WorkInProgress["bolts"],
  outcomesInTransit: number,
): QuiescenceStep {
  if (outcomesInTransit > 0) return [state, [WATCH]];
  const flushedAt = new Map(state.flushedAt);
  for (const { task, delivered } of due) flushedAt.set(task, delivered);
  const effects = due.map(({ task }): QuiescenceEffect => ({ type: "flush", task }));
  return [{ ...state, flushedAt }, [WATCH, ...effects]];
}
