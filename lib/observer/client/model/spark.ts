// The line of a small chart.

/** The path of values from left to right. Zero is part of the picture, so that a small change looks small. */
export function sparkPath(values: readonly number[], width: number, height: number): string {
  const low = Math.min(...values, 0);
  const high = Math.max(...values, 0);
  const span = high - low;
  const step = width / Math.max(1, values.length - 1);
  // A pixel above and below, so that the stroke is not cut off.
  const y = (value: number): number => height - 1 - (span === 0 ? 0 : ((value - low) / span) * (height - 2));
  return values
    .map((value, at) => `${at === 0 ? "M" : "L"}${(at * step).toFixed(1)} ${y(value).toFixed(1)}`)
    .join("");
}
