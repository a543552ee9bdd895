// Numbers that do not flicker: a figure is rounded to a step of its size, and the rounded figure stays until the value has moved away
// from it by most of a step. A rate between 104 and 106 shows one number and not three.

import type { Unit } from "./format.js";

/** Part of a step that a value must move before another number is shown. Half is plain rounding. */
const STAY = 0.8;
/** Smaller values have no step that a number could hold. */
const LEAST = 1e-9;

/** The step that a value is rounded to: two digits of it. Undefined: shown as it is, as people compare counts. */
export function stepOf(value: number, unit: Unit): number | undefined {
  if (unit === "count" || unit === "plain" || Math.abs(value) < LEAST || !Number.isFinite(value))
    return undefined;
  return 10 ** (Math.floor(Math.log10(Math.abs(value))) - 1);
}

/** The number to show for a value. @param shown - the number that is shown now */
export function steady(shown: number | undefined, value: number, unit: Unit): number {
  const step = stepOf(value, unit);
  if (step === undefined) return value;
  if (shown !== undefined && shown !== 0 && Math.abs(value - shown) < step * STAY) return shown;
  // The step as a divisor where it is small: 0.1 has no exact value.
  return step < 1 ? Math.round(value / step) / Math.round(1 / step) : Math.round(value / step) * step;
}
