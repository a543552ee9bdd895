// The write-ahead log: when it is emptied, and when people are warned that it is not. SQLite writes the log back into the file by
// itself while it is written to, and begins it anew; that keeps it near its bound as long as no reader is in the way.
//
//     quiet ──written──▶ written, larger than the bound: empty it when nothing was written for a while, or at once beyond the limit
//
// A log that a reader keeps from being emptied is looked at again after the next quiet time.

/** Sizes are bytes, times milliseconds. */
export interface WalLimits {
  /** A log larger than this is emptied in idle time. */
  readonly walBytes: number;
  /** A log that stays larger than this gives a warning. */
  readonly walWarnBytes: number;
  /** The log is idle after so long without a write. */
  readonly idleMs: number;
}

export interface WalState {
  readonly limits: WalLimits;
  /** A wait is under way. */
  readonly waiting: boolean;
  /** Something was written since the wait began. */
  readonly written: boolean;
  readonly emptying: boolean;
  readonly warned: boolean;
}

export type WalEvent =
  /** A transaction was committed, and the log has this size. */
  | { readonly type: "written"; readonly walBytes: number }
  | { readonly type: "waited" }
  /** The attempt to empty it is over. `busy`: a reader was in the way. */
  | { readonly type: "emptied"; readonly busy: boolean; readonly walBytes: number }
  | { readonly type: "failed" };

export type WalEffect =
  | { readonly type: "wait"; readonly ms: number }
  | { readonly type: "empty" }
  | { readonly type: "warn"; readonly walBytes: number };

export function initial(limits: WalLimits): WalState {
  return { limits, waiting: false, written: false, emptying: false, warned: false };
}

export function decide(state: WalState, event: WalEvent): readonly [WalState, readonly WalEffect[]] {
  const { limits } = state;
  switch (event.type) {
    case "written": {
      const { walBytes } = event;
      // One attempt at once; when it fails, the next is in idle time, so that an attempt for each commit is avoided.
      if (walBytes > limits.walWarnBytes && !state.emptying && !state.warned)
        return [{ ...state, written: true, emptying: true }, [{ type: "empty" }]];
      if (walBytes <= limits.walBytes) return [state, []];
      if (state.waiting || state.emptying) return [state.written ? state : { ...state, written: true }, []];
      return [{ ...state, waiting: true, written: false }, [{ type: "wait", ms: limits.idleMs }]];
    }
    case "waited":
      if (state.written) return [{ ...state, written: false }, [{ type: "wait", ms: limits.idleMs }]];
      if (state.emptying) return [{ ...state, waiting: false }, []];
      return [{ ...state, waiting: false, emptying: true }, [{ type: "empty" }]];
    case "emptied": {
      const { busy, walBytes } = event;
      const next = { ...state, emptying: false };
      if (!busy) return [{ ...next, warned: false }, []];
      const warn: WalEffect[] =
        walBytes > limits.walWarnBytes && !state.warned ? [{ type: "warn", walBytes }] : [];
      const wait: WalEffect[] = state.waiting ? [] : [{ type: "wait", ms: limits.idleMs }];
      return [{ ...next, waiting: true, warned: state.warned || warn.length > 0 }, [...warn, ...wait]];
    }
    case "failed":
      return [{ ...state, emptying: false }, []];
    default:
      throw new Error(`unknown event ${JSON.stringify(event satisfies never)}`);
  }
}
