// The tone of a state: the same word has the same colour on every page.

import type { Tone } from "../parts/index.js";

const TONES: Readonly<Record<string, Tone>> = {
  running: "info",
  waiting: "info",
  retrying: "warn",
  paused: "warn",
  hospitalized: "bad",
  failed: "bad",
  error: "bad",
  dead: "bad",
  killed: "warn",
  cancelled: "quiet",
  dropped: "quiet",
  forgotten: "quiet",
  unknown: "quiet",
  completed: "good",
  done: "good",
  ok: "good",
  open: "info",
  up: "good",
  here: "good",
  suspect: "warn",
  hello: "info",
  refused: "bad",
};

export const toneOf = (state: string): Tone => TONES[state] ?? "quiet";
