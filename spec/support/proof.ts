// How much a run proves. `npm test` runs every proof at a size that takes seconds, `npm run prove` at its full size. The
// environment variable SCHEDULES is the one knob: `npm run prove` sets it, and only this file and the configuration of
// the test runner read it.

import { type ExploreOptions, explore, type Scenario } from "signalbox/testing";
import { expect } from "vitest";
import { type ExhaustiveOptions, exhaustive } from "../../lib/testing/strategies/exhaustive.js";

const asked: string | undefined = process.env.SCHEDULES;

/** True in `npm run prove`, which also runs whatever takes minutes or kills real processes. */
export const proving: boolean = asked !== undefined;

/** `npm test` runs this part of a size that is the least of `npm run prove`, too. */
const SMALL = 0.4;

/**
 * The number of schedules, or of random inputs, of one proof: in `npm run prove` a share of those asked for, and `least` at least; in
 * `npm test` `quick`, or a part of it where no `least` is stated.
 */
export function sized(quick: number, share = 1, least?: number): number {
  if (asked !== undefined) return Math.max(least ?? quick, Math.ceil(Number(asked) * share));
  return least === undefined ? Math.ceil(quick * SMALL) : quick;
}

/** Fewer schedules are the short size of the proofs that take minutes, whatever they count. */
const LONG_FROM = 5_000;
const isFull: boolean = proving && Number(asked) >= LONG_FROM;

/** What a proof that counts no schedules takes: `quick` in `npm test`, `short` with fewer than 5,000 schedules, else `full`. */
export function graded<T>({ quick, short, full }: Record<"quick" | "short" | "full", T>): T {
  return isFull ? full : proving ? short : quick;
}

interface Sampled extends ExploreOptions {
  /** Schedules in `npm test`: enough for every state that the proof has to reach. Some of them, if it has to reach none. */
  readonly quick: number;
  /** The part of the schedules that this proof runs in `npm run prove`, if its schedules take long. Default 1. */
  readonly share?: number;
  /** The fewest schedules in `npm run prove`. Default: `quick`, of which `npm test` runs a part if there are no `sometimes`. */
  readonly least?: number;
}

/** Explores at random. Every schedule has to come to its end. */
export async function explored(
  scenario: Scenario,
  { quick, share, least, ...given }: Sampled,
): Promise<void> {
  const schedules = sized(quick, share, least ?? (given.sometimes && quick));
  const result = await explore(scenario, { ...given, schedules });
  expect({ schedules: result.schedules, bounded: result.bounded }).toEqual({ schedules, bounded: 0 });
}

interface Enumerated extends ExploreOptions {
  /** What `npm run prove` enumerates: every schedule, unless given. */
  readonly search?: ExhaustiveOptions;
  /** What `npm test` enumerates, if that is less. */
  readonly quick?: ExhaustiveOptions;
  /** Those of `sometimes` that `quick` is too small to reach. */
  readonly beyond?: readonly string[];
  /** It takes minutes: a run of the proofs with fewer than 5,000 schedules enumerates what `npm test` does. */
  readonly long?: boolean;
}

/** Explores every schedule, or every one within a bound. Returns how many those are. */
export async function exhausted(
  scenario: Scenario,
  { search = {}, quick, beyond = [], long = false, sometimes = [], ...options }: Enumerated,
): Promise<number> {
  const isAsked = long ? isFull : proving;
  const isWhole = isAsked || quick === undefined;
  const result = await explore(scenario, {
    ...options,
    strategy: exhaustive(isWhole ? search : quick),
    schedules: 1_000_000,
    sometimes: sometimes.filter((label) => isWhole || !beyond.includes(label)),
  });
  expect({ complete: result.complete, bounded: result.bounded }).toEqual({ complete: true, bounded: 0 });
  return result.schedules;
}
