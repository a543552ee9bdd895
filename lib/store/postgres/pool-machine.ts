// A pool of connections as a state machine. It decides which waiter gets a connection, when to make another one, and when to try again
// after a failed attempt.
//
// When the server is down, the pool tries to connect for ever, at growing intervals and with one attempt at a time. A waiter gives up
// when its own time is over. A permanent error, such as a wrong password, is passed to all waiters at once.

/** A caller that waits for a connection. */
export type Waiter = number;

export interface State {
  /** Most connections at once. */
  readonly size: number;
  readonly idle: number;
  readonly busy: number;
  readonly connecting: number;
  /** Attempts that failed since one succeeded. */
  readonly failures: number;
  /** The wait after a failed attempt is not over. */
  readonly resting: boolean;
  /** The waiters, in the order in which they came. */
  readonly queue: readonly Waiter[];
  readonly closed: boolean;
}

export type Event =
  | { readonly type: "asked"; readonly waiter: Waiter }
  /** The time of a waiter is over, or it asks no more. */
  | { readonly type: "expired"; readonly waiter: Waiter }
  | { readonly type: "connected" }
  /** `lasting`: the next attempt would fail in the same way. */
  | { readonly type: "failed"; readonly lasting: boolean }
  /** The wait after a failed attempt is over. */
  | { readonly type: "rested" }
  /** A connection is given back. */
  | { readonly type: "returned"; readonly usable: boolean }
  /** An idle connection was lost. */
  | { readonly type: "dropped" }
  | { readonly type: "closed" };

export type Effect =
  | { readonly type: "connect" }
  /** Give an idle connection to this waiter. */
  | { readonly type: "hand"; readonly waiter: Waiter }
  /** Tell this waiter that there is none for it. */
  | { readonly type: "give-up"; readonly waiter: Waiter }
  /** Send `rested` after the wait for this failure, 1 or more. */
  | { readonly type: "rest"; readonly failures: number }
  /** Close an idle connection. */
  | { readonly type: "discard" }
  /** Closed, and the last connection has been given back. */
  | { readonly type: "end" };

export type Decision = readonly [State, readonly Effect[]];

export function initial(size: number): State {
  return {
    size,
    idle: 0,
    busy: 0,
    connecting: 0,
    failures: 0,
    resting: false,
    queue: [],
    closed: false,
  };
}

export function decide(state: State, event: Event): Decision {
  switch (event.type) {
    case "asked":
      if (state.closed) return [state, [{ type: "give-up", waiter: event.waiter }]];
      return serve({ ...state, queue: [...state.queue, event.waiter] });
    case "expired":
      if (!state.queue.includes(event.waiter)) return [state, []];
      return [
        { ...state, queue: state.queue.filter((one) => one !== event.waiter) },
        [{ type: "give-up", waiter: event.waiter }],
      ];
    case "connected":
      return settle({ ...state, connecting: state.connecting - 1, idle: state.idle + 1, failures: 0 });
    case "failed":
      return failed(
        { ...state, connecting: state.connecting - 1, failures: state.failures + 1 },
        event.lasting,
      );
    case "rested":
      return settle({ ...state, resting: false });
    case "returned":
      return settle({ ...state, busy: state.busy - 1, idle: state.idle + (event.usable ? 1 : 0) });
    case "dropped":
      return settle({ ...state, idle: state.idle - 1 });
    case "closed":
      return close(state);
    default:
      return event satisfies never;
  }
}

function settle(state: State): Decision {
  return state.closed ? ending(state) : serve(state);
}

/** Hands out idle connections, and connects for the remaining waiters. */
function serve(state: State): Decision {
  const effects: Effect[] = [];
  const handed = Math.min(state.queue.length, state.idle);
  for (const waiter of state.queue.slice(0, handed)) effects.push({ type: "hand", waiter });
  const queue = state.queue.slice(handed);
  const [idle, busy] = [state.idle - handed, state.busy + handed];
  const room = state.size - idle - busy - state.connecting;
  // After a failure one attempt finds out for all.
  const most = state.failures > 0 ? 1 - state.connecting : room;
  const more = state.resting ? 0 : Math.max(0, Math.min(queue.length - state.connecting, room, most));
  for (let i = 0; i < more; i++) effects.push({ type: "connect" });
  return [{ ...state, queue, idle, busy, connecting: state.connecting + more }, effects];
}

function failed(state: State, lasting: boolean): Decision {
  if (state.closed) return ending(state);
  const given: Effect[] = lasting ? state.queue.map((waiter) => ({ type: "give-up", waiter })) : [];
  const rest: Effect[] = state.resting ? [] : [{ type: "rest", failures: state.failures }];
  return [{ ...state, resting: true, queue: lasting ? [] : state.queue }, [...given, ...rest]];
}

function close(state: State): Decision {
  if (state.closed) return [state, []];
  const given = state.queue.map((waiter): Effect => ({ type: "give-up", waiter }));
  const [next, effects] = ending({ ...state, closed: true, queue: [] });
  return [next, [...given, ...effects]];
}

function ending(state: State): Decision {
  const discarded = Array.from({ length: state.idle }, (): Effect => ({ type: "discard" }));
  const hasEnded = state.busy === 0 && state.connecting === 0;
  return [{ ...state, idle: 0 }, hasEnded ? [...discarded, { type: "end" }] : discarded];
}
