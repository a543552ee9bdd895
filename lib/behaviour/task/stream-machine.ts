// Decides for a stream of tasks: when the next item is read, which results are handed out in which order, and how the stream
// ends. `I` is an item, `R` the result of its task.
//
// Two limits hold at any time: at most `concurrency` tasks run, and at most `maxAhead` items are ahead of the consumer: read,
// and not taken by it. An item is read only if its task starts at once, so nothing is read in vain.
//
// The state changes in place, since every item passes through here three times. `decide` depends on nothing else, and hands
// out nothing that it changes later.

export interface StreamConfig {
  readonly concurrency: number;
  readonly maxAhead: number;
  /** Results in the order of the items, or in the order in which the tasks end. */
  readonly ordered: boolean;
  /** Whether the first failure ends the stream. */
  readonly failsFast: boolean;
}

/** How a stream ends: after its last item, or by an error. */
export type StreamEnd = { readonly error: unknown } | "done";

export interface StreamState<R> {
  readonly config: StreamConfig;
  input: "idle" | "reading" | "over";
  /** Tasks that run, by the number of their item. */
  readonly running: Set<number>;
  /** Items that were read. */
  read: number;
  /** Items whose result the consumer has taken. */
  taken: number;
  /** Results that may be handed out, in order. */
  ready: R[];
  /** Results that wait for those of earlier items. */
  readonly early: Map<number, R>;
  /** The number of the item whose result comes next, with `ordered`. */
  due: number;
  /** The consumer waits for results. */
  asked: boolean;
  /** Nothing is read or started any more. Results that are ready come first. */
  end: StreamEnd | undefined;
  phase: "open" | "closing" | "closed";
}

export type StreamEvent<I, R> =
  /** The consumer wants results. It has taken all of the last batch; `taken` of them are news. */
  | { readonly type: "asked"; readonly taken: number }
  /** The consumer has taken `count` more results of its batch. */
  | { readonly type: "taken"; readonly count: number }
  | { readonly type: "read"; readonly item: I }
  | { readonly type: "input-over" }
  | { readonly type: "input-failed"; readonly error: unknown }
  /** A task has ended, or was given up after its time; then it is killed. */
  | {
      readonly type: "finished";
      readonly index: number;
      readonly result: R;
      readonly failure?: { readonly error: unknown };
    }
  | { readonly type: "timed-out"; readonly index: number; readonly result: R; readonly error: unknown }
  /** The consumer wants no more, an AbortSignal was aborted, or the owner has ended. */
  | { readonly type: "close"; readonly end: StreamEnd };

export type StreamEffect<I, R> =
  | { readonly type: "read" }
  | { readonly type: "start"; readonly index: number; readonly item: I }
  | { readonly type: "kill"; readonly index: number }
  /** `end` comes with the last batch. */
  | { readonly type: "deliver"; readonly results: readonly R[]; readonly end: StreamEnd | undefined }
  /** Tells the input that nothing more is read. */
  | { readonly type: "close-input" }
  /** All is said and done. */
  | { readonly type: "exit" };

export function initial<R>(config: StreamConfig): StreamState<R> {
  return {
    config,
    input: "idle",
    running: new Set(),
    read: 0,
    taken: 0,
    ready: [],
    early: new Map(),
    due: 0,
    asked: false,
    end: undefined,
    phase: "open",
  };
}

const READ = { type: "read" } as const;
const CLOSE_INPUT = { type: "close-input" } as const;
const EXIT = { type: "exit" } as const;

export function decide<I, R>(
  state: StreamState<R>,
  event: StreamEvent<I, R>,
): readonly [StreamState<R>, readonly StreamEffect<I, R>[]] {
  const effects: StreamEffect<I, R>[] = [];
  if (state.phase === "closed") return [state, effects];
  switch (event.type) {
    case "asked":
      state.asked = true;
      state.taken += event.taken;
      break;
    case "taken":
      state.taken += event.count;
      break;
    case "read":
      state.input = "idle";
      // The stream has ended while the input was asked: its item is not wanted any more.
      if (state.phase === "open") {
        const index = state.read++;
        state.running.add(index);
        effects.push({ type: "start", index, item: event.item });
      }
      break;
    case "input-over":
      state.input = "over";
      break;
    case "input-failed":
      state.input = "over";
      fail(state, event.error, effects);
      break;
    case "timed-out":
      if (state.running.has(event.index)) effects.push({ type: "kill", index: event.index });
      settle(state, event.index, event.result, event, effects);
      break;
    case "finished":
      settle(state, event.index, event.result, event.failure, effects);
      break;
    case "close":
      state.ready = [];
      close(state, event.end, effects);
      state.end = event.end;
      // No consumer waits for an item, and the code that closed the stream knows of the end, so there is nothing to report.
      if (!state.asked) {
        state.phase = "closed";
        effects.push(EXIT);
      }
      break;
    default:
      event satisfies never;
  }
  goOn(state, effects);
  return [state, effects];
}

/** A task has come to its end. */
function settle<I, R>(
  state: StreamState<R>,
  index: number,
  result: R,
  failure: { readonly error: unknown } | undefined,
  effects: StreamEffect<I, R>[],
): void {
  if (!state.running.delete(index)) return;
  if (failure !== undefined && state.config.failsFast) {
    fail(state, failure.error, effects);
    return;
  }
  if (!state.config.ordered) state.ready.push(result);
  else if (index !== state.due) state.early.set(index, result);
  else {
    state.ready.push(result);
    state.due++;
    while (state.early.size > 0 && state.early.has(state.due)) {
      state.ready.push(state.early.get(state.due) as R);
      state.early.delete(state.due++);
    }
  }
}

/** Results that are ready are still handed out before the error. */
function fail<I, R>(state: StreamState<R>, error: unknown, effects: StreamEffect<I, R>[]): void {
  close(state, { error }, effects);
}

function close<I, R>(state: StreamState<R>, end: StreamEnd, effects: StreamEffect<I, R>[]): void {
  if (state.phase !== "open") return;
  state.phase = "closing";
  state.end = end;
  for (const index of state.running) effects.push({ type: "kill", index });
  state.running.clear();
  state.early.clear();
  if (state.input !== "over") effects.push(CLOSE_INPUT);
}

/** Reads on, hands out and ends, as far as possible. */
function goOn<I, R>(state: StreamState<R>, effects: StreamEffect<I, R>[]): void {
  const { config, running, ready } = state;
  if (state.phase === "open" && state.input === "over" && running.size === 0 && state.early.size === 0) {
    state.end = "done";
    state.phase = "closing";
  }
  if (state.asked && (ready.length > 0 || state.end !== undefined)) {
    state.asked = false;
    state.ready = [];
    // The first result of the batch is taken at once. It makes room before the next item is read.
    if (ready.length > 0) state.taken++;
    effects.push({ type: "deliver", results: ready, end: state.end });
    if (state.end !== undefined) {
      state.phase = "closed";
      effects.push(EXIT);
    }
  }
  if (
    state.phase === "open" &&
    state.input === "idle" &&
    running.size < config.concurrency &&
    state.read - state.taken < config.maxAhead
  ) {
    state.input = "reading";
    effects.push(READ);
  }
}
