// What the tests of each theme of random programs expect.

import { expect } from "vitest";
import type { Theme } from "./language.js";
import { compare, occurrences } from "./property.js";
import { THEMES } from "./themes.js";

/**
 * Both searches agree on the outcomes of programs of a theme.
 *
 * @param least - how many programs are searched in full, at least
 */
export async function expectSameOutcomes(theme: string, least: number, programs: number): Promise<void> {
  const { full, partly, plain, reduced, redundant } = await compare(THEMES[theme] as Theme, programs);
  expect(full).toBeGreaterThanOrEqual(least);
  expect(partly).toBeLessThan(full);
  expect(reduced - redundant).toBeLessThan(plain);
}

/** Each instruction of the theme occurs in its programs. */
export async function expectAllInstructions(name: string): Promise<void> {
  const theme = THEMES[name] as Theme;
  const counts = await occurrences(theme, 400);
  for (const op of Object.keys(theme.operations)) expect(counts.get(op) ?? 0, op).toBeGreaterThan(1);
}
