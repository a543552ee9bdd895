// Finds threads that hang, as a pure machine. The event loop of a thread counts up; its owner looks at the count from time to time. Looks
// are counted, not milliseconds: where the whole host slept, or the owner itself was busy, few looks have passed, and nobody is blamed.

/** How many looks in a row must find nothing new. */
export const LOOKS = 4;

/** What the looks have seen so far. */
export interface HangState {
  readonly beats: number;
  /** Looks in a row that found nothing new. */
  readonly silent: number;
}

export const initial: HangState = { beats: 0, silent: 0 };

/** One look. The second result: the thread hangs. */
export function decide(state: HangState, beats: number): readonly [HangState, boolean] {
  const silent = beats === state.beats ? state.silent + 1 : 0;
  return [{ beats, silent }, silent >= LOOKS];
}
