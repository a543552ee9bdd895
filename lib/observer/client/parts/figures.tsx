// Single figures: a time, a number, a state, a pid, the course of a number.

import type { ComponentChildren, JSX } from "preact";
import { useRef } from "preact/hooks";
import { agoText, clipped, numberText, type Unit, visible } from "../model/format.js";
import { sparkPath } from "../model/spark.js";
import { steady } from "../model/steady.js";
import type { Tone } from "../model/tone.js";
import { dayAndTime, isoTime, timeOfDay } from "../shell/browser.js";
import { isAbsolute, serverNow } from "../shell/clock.js";
import { link } from "../shell/router.js";

export interface TimeProps {
  readonly at: number;
  /** Always as the clock shows it: times of a trace are compared with each other. */
  readonly isClock?: boolean;
}

/** A time. It is shown as a distance or as a clock time, which the key `t` switches; the other one is its tooltip. */
export function Time({ at, isClock = false }: TimeProps): JSX.Element {
  const full = dayAndTime(at);
  const ago = agoText(serverNow.value - at);
  const isShort = isClock || isAbsolute.value;
  return (
    <time dateTime={isoTime(at)} title={isShort ? `${full}, ${ago}` : full}>
      {isShort ? timeOfDay(at) : ago}
    </time>
  );
}

export interface NumProps {
  /** Undefined: it is not known, which is not zero. */
  readonly value: number | undefined | null;
  readonly unit?: Unit;
  /** It was counted no further: so many may be more. */
  readonly atMost?: number | undefined;
}

/** A number whose digits stand below each other, and that does not flicker. */
export function Num({ value, unit = "count", atMost }: NumProps): JSX.Element {
  const shown = useRef<number | undefined>(undefined);
  if (value === undefined || value === null) return <span class="num none">–</span>;
  shown.current = steady(shown.current, value, unit);
  return <span class="num">{numberText(shown.current, unit, atMost)}</span>;
}

/** A state in a word. Its colour says nothing that the word does not. */
export function Badge({
  tone = "quiet",
  children,
}: {
  readonly tone?: Tone;
  readonly children?: ComponentChildren;
}): JSX.Element {
  return <span class={`badge ${tone}`}>{children}</span>;
}

export interface PidLinkProps {
  readonly pid: string;
  /** What is shown for it. Default: the pid. */
  readonly label?: string | undefined;
}

/** A process, as a link to its page. */
export function PidLink({ pid, label }: PidLinkProps): JSX.Element {
  return (
    <a
      href={link("process", { id: pid })}
      class="pid"
      title={label === undefined ? pid : `${label} (${pid})`}
    >
      {clipped(visible(label ?? pid), 40)}
    </a>
  );
}

export interface SparkProps {
  readonly values: readonly number[];
  /** What it shows, for those who do not see it. */
  readonly label?: string;
}

/** The course of a number, the newest on the right. */
export function Spark({ values, label = "course" }: SparkProps): JSX.Element | null {
  if (values.length < 2) return null;
  const last = numberText(values[values.length - 1] as number, "plain");
  return (
    <svg
      class="spark"
      viewBox="0 0 80 20"
      width="80"
      height="20"
      role="img"
      aria-label={`${label}, now ${last}`}
    >
      <path d={sparkPath(values, 80, 20)} />
    </svg>
  );
}

/** A share of a whole, as a bar with its number. */
export function Bar({
  share,
  tone = "info",
  label,
}: {
  readonly share: number;
  readonly tone?: Tone;
  readonly label: string;
}): JSX.Element {
  const part = Math.max(0, Math.min(1, share));
  return (
    <span class={`bar ${tone}`} role="img" aria-label={label} title={label}>
      <span style={{ width: `${(part * 100).toFixed(1)}%` }} />
    </span>
  );
}
