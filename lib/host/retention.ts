// How long hosts keep what has ended: by status, and by number.

import { duration } from "../process/duration.js";
import { checked, maybe, whole } from "../process/option-schema.js";

/** A retention, checked. Times are milliseconds; a status without one is kept for ever. */
export interface Retention<S extends string> {
  readonly ages: ReadonlyMap<S, number>;
  /** Most that are kept. */
  readonly most: number;
  /** How often the host looks. */
  readonly everyMs: number;
}

const EVERY_MS = 600_000;
const LEAST_EVERY_MS = 1_000;

const CHECKS = {
  most: whole(0, Number.POSITIVE_INFINITY),
  every: (path: string, given: unknown) => duration(path, given, LEAST_EVERY_MS),
};
const USUAL = { most: Number.POSITIVE_INFINITY, every: EVERY_MS };

/** @throws OptionError */
export function checkRetention<S extends string>(options: object, statuses: readonly S[]): Retention<S> {
  const ages = Object.fromEntries(statuses.map((status) => [status, maybe(duration)]));
  const { most, every, ...given } = checked("retention", options, { ...ages, ...CHECKS }, USUAL);
  const kept = Object.entries(given).filter(([, age]) => age !== undefined);
  return { ages: new Map(kept as [S, number][]), most, everyMs: every };
}
