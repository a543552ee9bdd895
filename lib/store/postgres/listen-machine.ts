// Whether notifications arrive, as a state machine. A connection that listens can be deaf: behind a pooler that gives each transaction
// another session, or when the network has dropped it without a word. So the store sends itself a notification after each connect and
// at intervals; when it does not arrive in time, watchers look again at intervals, and the connection is replaced.

export interface State {
  readonly connected: boolean;
  /** The number of the last test. */
  readonly test: number;
  /** Its notification has not arrived. */
  readonly isOpen: boolean;
  /** Tests since the last that was passed. */
  readonly failures: number;
  /** A test was passed before. */
  readonly heard: boolean;
}

export type Event =
  | { readonly type: "connected" }
  | { readonly type: "lost" }
  /** The notification of this test has arrived. */
  | { readonly type: "arrived"; readonly test: number }
  /** This test has had its time. */
  | { readonly type: "overdue"; readonly test: number }
  /** The interval since this test is over. */
  | { readonly type: "due"; readonly test: number };

export type Effect =
  /** Send the notification of this test, and `overdue` after its time. */
  | { readonly type: "test"; readonly test: number }
  /** Send `due` after the interval. */
  | { readonly type: "rest"; readonly test: number }
  /** Notifications may have been lost: watchers have to look again. */
  | { readonly type: "again" }
  /** Watchers have to look again at intervals. */
  | { readonly type: "poll" }
  | { readonly type: "stop-polling" }
  /** Tell people that notifications do not arrive. */
  | { readonly type: "warn" }
  /** Sessions keep what is theirs: locks can be held. */
  | { readonly type: "trust" }
  /** Drop the connection. */
  | { readonly type: "drop" };

export type Decision = readonly [State, readonly Effect[]];

export function initial(): State {
  return { connected: false, test: 0, isOpen: false, failures: 0, heard: false };
}

export function decide(state: State, event: Event): Decision {
  switch (event.type) {
    case "connected":
      return test({ ...state, connected: true });
    case "lost":
      return [{ ...state, connected: false, isOpen: false }, []];
    case "arrived":
      return event.test === state.test && state.isOpen ? arrived(state) : [state, []];
    case "overdue":
      return event.test === state.test && state.isOpen ? overdue(state) : [state, []];
    case "due":
      return event.test === state.test && state.connected ? test(state) : [state, []];
    default:
      return event satisfies never;
  }
}

function test(state: State): Decision {
  const next = { ...state, test: state.test + 1, isOpen: true };
  return [next, [{ type: "test", test: next.test }]];
}

function arrived(state: State): Decision {
  const effects: Effect[] = [{ type: "trust" }, { type: "rest", test: state.test }];
  if (state.failures > 0) effects.push({ type: "stop-polling" });
  return [{ ...state, isOpen: false, failures: 0, heard: true }, effects];
}

function overdue(state: State): Decision {
  const effects: Effect[] = state.failures === 0 ? [{ type: "warn" }, { type: "poll" }] : [];
  return [
    { ...state, connected: false, isOpen: false, failures: state.failures + 1 },
    [...effects, { type: "again" }, { type: "drop" }],
  ];
}
