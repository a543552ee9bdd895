// Numbers, sizes and times as people read them. One place, so that the same figure looks the same on every page.

/** What a number counts. It decides how it is rounded and written. */
export type Unit = "count" | "rate" | "ms" | "bytes" | "percent" | "plain";

const grouped = (whole: number): string => String(whole).replace(/\B(?=(\d{3})+$)/g, ",");

/** Three digits that say something, without zeros behind them: 1.25, 12.5, 125. */
function short(value: number): string {
  const size = Math.abs(value);
  const digits = size >= 100 || size === 0 ? 0 : size >= 10 ? 1 : 2;
  return String(Number(value.toFixed(digits)));
}

function scaled(value: number, base: number, units: readonly string[]): string {
  let left = value;
  let at = 0;
  // 999.5 would be written as 1000 of the smaller unit.
  while (Math.abs(left) >= base - 0.5 && at < units.length - 1) {
    left /= base;
    at++;
  }
  const unit = units[at] as string;
  return unit === "" ? short(left) : `${short(left)} ${unit}`;
}

/** A whole number: exact and grouped up to a million. */
export function countText(value: number): string {
  const whole = Math.round(value);
  const text = Math.abs(whole) < 1_000_000 ? grouped(Math.abs(whole)) : scaled(Math.abs(whole), 1_000, SI);
  return whole < 0 ? `−${text}` : text;
}

const SI = ["", "k", "M", "G", "T"];
const BYTES = ["B", "kB", "MB", "GB", "TB"];

/** A duration in at most two units: `3.2 ms`, `1 min 5 s`, `2 d 4 h`. */
export function durationText(ms: number): string {
  if (!Number.isFinite(ms)) return "∞";
  const size = Math.abs(ms);
  const sign = ms < 0 ? "−" : "";
  if (size < 1) return size === 0 ? "0 ms" : `${sign}${short(size)} ms`;
  if (size < 999.5) return `${sign}${short(size)} ms`;
  if (size < 59_950) return `${sign}${Number((size / 1_000).toFixed(1))} s`;
  const seconds = Math.round(size / 1_000);
  const [large, unit, small, part] =
    seconds < 3_600
      ? [60, "min", 1, "s"]
      : seconds < 86_400
        ? [3_600, "h", 60, "min"]
        : [86_400, "d", 3_600, "h"];
  const rest = Math.floor((seconds % (large as number)) / (small as number));
  const whole = `${sign}${grouped(Math.floor(seconds / (large as number)))} ${unit}`;
  return rest === 0 ? whole : `${whole} ${rest} ${part}`;
}

/** How long ago something was, in one unit. What the clocks of two machines differ by is no future. */
export function agoText(ms: number): string {
  if (ms < -1_500) return `in ${one(-ms)}`;
  return ms < 1_000 ? "now" : `${one(ms)} ago`;
}

function one(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h`;
  return `${grouped(Math.floor(seconds / 86_400))} d`;
}

/** A number with its unit. @param atMost - it was counted no further, so that many may be more */
export function numberText(value: number, unit: Unit = "count", atMost?: number): string {
  return atMost !== undefined && value >= atMost ? `${unitText(atMost, unit)}+` : unitText(value, unit);
}

function unitText(value: number, unit: Unit): string {
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "–";
  switch (unit) {
    case "count":
      return countText(value);
    case "rate":
      return `${scaled(value, 1_000, SI)}/s`;
    case "ms":
      return durationText(value);
    case "bytes":
      return scaled(value, 1_000, BYTES);
    case "percent":
      return `${Number((value * 100).toFixed(value < 0.1 ? 1 : 0))} %`;
    case "plain":
      return short(value);
    default:
      return unit satisfies never;
  }
}

/** A count with its noun: `1 restart`, `3 restarts`. */
export function plural(count: number, noun: string, many = `${noun}s`): string {
  return `${countText(count)} ${Math.abs(count) === 1 ? noun : many}`;
}

/** A text of at most so many characters. The middle goes: both ends of a pid, a path or a label tell more. */
export function clipped(text: string, most: number): string {
  if (text.length <= most) return text;
  const head = Math.ceil((most - 1) / 2);
  return `${text.slice(0, head)}…${text.slice(text.length - (most - 1 - head))}`;
}

/** Characters that show nothing, or turn around what follows them: a name with them looks like another one. */
const UNSEEN = /[\p{Cc}\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu;

/** A text in which every character is seen. Those of terminals have pictures of their own. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (one) => {
    const code = one.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : "\ufffd";
  });
}
