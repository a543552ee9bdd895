// One check of a user as a pure state machine: at most one run at a time, with a timeout, and an answer that is kept for a while.

export interface Config {
  readonly timeoutMs: number;
  readonly cacheMs: number;
}

/** The answer of a check. */
export interface Result {
  readonly ok: boolean;
  /** Why not. */
  readonly error: string | undefined;
  /** When it was known. */
  readonly at: number;
}

export interface State {
  readonly config: Config;
  /** A run is in progress; `overdue` once its time is up. */
  readonly run: "none" | "waiting" | "overdue";
  readonly result: Result | undefined;
}

export type Event =
  | { readonly type: "asked"; readonly at: number }
  | {
      readonly type: "settled";
      readonly ok: boolean;
      readonly error: string | undefined;
      readonly at: number;
    }
  | { readonly type: "time-up"; readonly at: number };

export type Effect =
  | { readonly type: "run"; readonly timeoutMs: number }
  /** The run has ended in time. */
  | { readonly type: "disarm" }
  /** Tells the run that its result is not needed any more. */
  | { readonly type: "abort" }
  /** Answers all waiting requests. */
  | { readonly type: "answer"; readonly result: Result };

export function initial(config: Config): State {
  return { config, run: "none", result: undefined };
}

/** The state after `event`, and what to do about it, in order. */
export function decide(state: State, event: Event): readonly [State, readonly Effect[]] {
  const { config, run, result } = state;
  switch (event.type) {
    case "asked": {
      if (run === "waiting") return [state, []];
      // While a run hangs, no other run begins: at most one run hangs, however many requests come.
      const isFresh = result !== undefined && (run === "overdue" || event.at - result.at < config.cacheMs);
      if (isFresh) return [state, [{ type: "answer", result }]];
      return [{ ...state, run: "waiting" }, [{ type: "run", timeoutMs: config.timeoutMs }]];
    }
    case "settled": {
      const { ok, error, at } = event;
      // Too late: the check goes by what it said, and may run again.
      if (run === "overdue") return [{ ...state, run: "none" }, []];
      const next: Result = { ok, error, at };
      return [{ config, run: "none", result: next }, [{ type: "disarm" }, { type: "answer", result: next }]];
    }
    case "time-up": {
      if (run !== "waiting") return [state, []];
      const late: Result = { ok: false, error: `no answer within ${config.timeoutMs} ms`, at: event.at };
      return [
        { config, run: "overdue", result: late },
        [{ type: "abort" }, { type: "answer", result: late }],
      ];
    }
    default:
      return event satisfies never;
  }
}
