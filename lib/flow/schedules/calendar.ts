// Times since 1970 as dates and texts, for cron expressions and for people. Nothing here reads a clock: this file alone may name
// `Date` (.config/biome.json), to convert given times.

/** The last time that a Date can hold. */
const LAST_MS = 8.64e15;

/** A point in time: a date, milliseconds since 1970, or a text in ISO 8601 with an offset, such as `2026-11-22T18:00:00Z`. */
export type Time = Date | number | string;

/** A text in ISO 8601 with an offset: without one, the same text means another time on another machine. */
const WITH_OFFSET = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)$/;

/** Such as `2026-11-22T18:00:00.000Z`. */
export function timeText(ms: number): string {
  return dateOf(ms).toISOString();
}

export function dateOf(ms: number): Date {
  return new Date(Math.min(ms, LAST_MS));
}

/** Milliseconds since 1970 of a date, a number of them, or a text in ISO 8601 with an offset. Undefined: it is none of these. */
export function timeOf(value: unknown): number | undefined {
  const ms = value instanceof Date ? value.getTime() : typeof value === "string" ? parsed(value) : value;
  return typeof ms === "number" && Math.abs(ms) <= LAST_MS ? Math.trunc(ms) : undefined;
}

function parsed(text: string): number {
  return WITH_OFFSET.test(text) ? Date.parse(text) : Number.NaN;
}
