// What the tests of each theme of random programs expect.

import { expect } from "vitest";
import { proving } from "../../../support/proof.js";
import type { Theme } from "./language.js";
import { compare, occurrences } from "./property.js";
import { THEMES } from "./themes.js";

/** Most schedules of a search of one program in `npm test`. */
const QUICK_SCHEDULES = 250;

/** Programs of a theme whose instructions are counted in `npm run prove`. */
const SAMPLES = 400;

/**
 * Both searches agree on the outcomes of programs of a theme.
 *
 * @param least - how many programs are searched in full, at least
 */
export async function expectSameOutcomes(theme: string, least: number, programs: number): Promise<void> {
  const whole = THEMES[theme] as Theme;
  const schedules = proving ? whole.schedules : QUICK_SCHEDULES;
  const { full, partly, plain, reduced, redundant } = await compare({ ...whole, schedules }, programs);
  expect(full).toBeGreaterThanOrEqual(least);
  expect(partly).toBeLessThan(full);
  expect(reduced - redundant).toBeLessThan(plain);
}

/**
 * Each instruction of the theme occurs in its programs.
 *
 * @param samples - how many programs of the theme are enough for that
 */
export async function expectAllInstructions(name: string, samples: number): Promise<void> {
  const theme = THEMES[name] as Theme;
  const counts = await occurrences(theme, proving ? SAMPLES : samples);
  for (const op of Object.keys(theme.operations)) expect(counts.get(op) ?? 0, op).toBeGreaterThan(1);
}
