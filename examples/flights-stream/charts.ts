// Charts of letters. Pure text.

import sparkly from "sparkly";

const EIGHTHS = " ▏▎▍▌▋▊▉";

/** One cell for each value, scaled from the lowest value to the highest. A missing value is a blank. */
export const sparkline = (values: readonly (number | undefined)[]): string =>
  sparkly(values.map((value) => value ?? ""));

/**
 * A bar for each value. All bars have one scale: `cells` from the lowest value, or zero, to the highest. A bar for a
 * value below zero ends where the bars above zero begin.
 */
export function bars(values: readonly (number | undefined)[], cells: number): readonly string[] {
  const there = values.filter((value) => value !== undefined);
  const least = Math.min(0, ...there);
  const span = Math.max(0, ...there) - least;
  const cellsFor = (value: number): number => (span === 0 ? 0 : (value / span) * cells);
  const below = Math.ceil(cellsFor(-least));
  return values.map((value = 0) => {
    if (value >= 0) return " ".repeat(below) + solid(cellsFor(value));
    // Terminals only have eighths of a cell that begin at the left, so these bars have whole cells.
    const full = Math.min(below, Math.max(1, Math.round(cellsFor(-value))));
    return `${" ".repeat(below - full)}${"░".repeat(full)}`;
  });
}

/** A bar, exact to an eighth of a cell. */
function solid(cells: number): string {
  const eighths = Math.round(cells * 8);
  return `${"█".repeat(eighths >> 3)}${(EIGHTHS[eighths & 7] as string).trim()}`;
}
