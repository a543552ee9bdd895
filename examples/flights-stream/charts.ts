// Charts of letters. Pure text.

import sparkly from "sparkly";

const EIGHTHS = " ▏▎▍▌▋▊▉";

/** One cell for each value, from the lowest of them to the highest; a blank where there is none. */
export const sparkline = (values: readonly (number | undefined)[]): string =>
  sparkly(values.map((value) => value ?? ""));

/**
 * A bar for each value, all to the same scale: `cells` from the lowest value, or zero, to the highest. One below zero
 * ends where those above it begin.
 */
export function bars(values: readonly (number | undefined)[], cells: number): readonly string[] {
  const there = values.filter((value) => value !== undefined);
  const least = Math.min(0, ...there);
  const span = Math.max(0, ...there) - least;
  const cellsFor = (value: number): number => (span === 0 ? 0 : (value / span) * cells);
  const below = Math.ceil(cellsFor(-least));
  return values.map((value = 0) => {
    if (value >= 0) return " ".repeat(below) + solid(cellsFor(value));
    // Terminals have eighths that begin at the left; here, whole cells have to do.
    const full = Math.min(below, Math.max(1, Math.round(cellsFor(-value))));
    return `${" ".repeat(below - full)}${"░".repeat(full)}`;
  });
}

/** To an eighth of a cell. */
function solid(cells: number): string {
  const eighths = Math.round(cells * 8);
  return `${"█".repeat(eighths >> 3)}${(EIGHTHS[eighths & 7] as string).trim()}`;
}
