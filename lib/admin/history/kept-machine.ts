// Whether what exists only while somebody looks is kept: history, rates, spans. It is kept while it is held, and for a while after the last
// look. Pure.

/** How long after the last look it is kept, in milliseconds: a viewer that polls once a second, and reloads its page, misses nothing. */
export const KEPT_MS = 30_000;

export interface State {
  /** How many hold it. */
  readonly holds: number;
  /** The last look keeps it until then. */
  readonly until: number;
  readonly isOn: boolean;
  /** `due` will come. There is one at a time, however many looks there are. */
  readonly isArmed: boolean;
}

export type Event =
  | { readonly type: "hold" }
  | { readonly type: "release"; readonly at: number }
  | { readonly type: "touch"; readonly at: number }
  | { readonly type: "due"; readonly at: number };

export type Effect =
  | { readonly type: "start" }
  | { readonly type: "stop" }
  /** `due` comes then. */
  | { readonly type: "wake"; readonly at: number };

type Decision = readonly [State, readonly Effect[]];

const NOTHING: readonly Effect[] = [];
const START: readonly Effect[] = [{ type: "start" }];

export const INITIAL: State = { holds: 0, until: Number.NEGATIVE_INFINITY, isOn: false, isArmed: false };

export function decide(state: State, event: Event): Decision {
  switch (event.type) {
    case "hold":
      return [{ ...state, holds: state.holds + 1, isOn: true }, state.isOn ? NOTHING : START];
    case "release":
      return settled({ ...state, holds: state.holds - 1 }, event.at, NOTHING);
    case "touch": {
      const touched = { ...state, until: event.at + KEPT_MS, isOn: true };
      return settled(touched, event.at, state.isOn ? NOTHING : START);
    }
    case "due":
      return settled({ ...state, isArmed: false }, event.at, NOTHING);
    default:
      return event satisfies never;
  }
}

/** Ends it when nobody holds it and the last look is long ago. */
function settled(state: State, at: number, effects: readonly Effect[]): Decision {
  if (state.holds > 0 || !state.isOn) return [state, effects];
  if (at >= state.until) return [{ ...state, isOn: false }, [...effects, { type: "stop" }]];
  if (state.isArmed) return [state, effects];
  return [{ ...state, isArmed: true }, [...effects, { type: "wake", at: state.until }]];
}
