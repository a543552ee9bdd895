// Finds threads that hang, as a pure machine. The event loop of a thread increments a counter, and its owner looks at the counter from time
// to time. The machine counts looks, not milliseconds. If the whole host slept, or the owner was busy, few looks have passed, so a thread
// that is well is not ended.

/** After so many looks in a row without a change of the counter, the thread hangs. */
export const LOOKS = 4;

/** The last count, and how long it has not changed. */
export interface HangState {
  readonly beats: number;
  /** Looks in a row without a change of the counter. */
  readonly silent: number;
}

export const initial: HangState = { beats: 0, silent: 0 };

/** One look. The second result says whether the thread hangs. */
export function decide(state: HangState, beats: number): readonly [HangState, boolean] {
  const silent = beats === state.beats ? state.silent + 1 : 0;
  return [{ beats, silent }, silent >= LOOKS];
}
