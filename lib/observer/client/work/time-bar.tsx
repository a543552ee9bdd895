// A stretch of time as a bar in its row, with marks on it.

import type { JSX } from "preact";
import type { TimeSpan } from "../model/timeline.js";
import type { Tone } from "../parts/index.js";

interface TimeBarProps {
  readonly bar: TimeSpan;
  readonly tone: Tone;
  /** Places of marks, as shares of the whole length. */
  readonly marks?: readonly number[];
  readonly label: string;
}

export function TimeBar({ bar: { left, width }, tone, marks = [], label }: TimeBarProps): JSX.Element {
  return (
    <span class="time-bar" role="img" aria-label={label} title={label}>
      <span class={tone} style={{ left: percent(left), width: percent(width) }} />
      {marks.map((at, i) => (
        <i key={i} style={{ left: percent(at) }} />
      ))}
    </span>
  );
}

const percent = (share: number): string => `${(share * 100).toFixed(2)}%`;
