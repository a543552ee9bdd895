// Rates out of counters: what was counted between two looks, over the time between them. Somebody looks again and again, so the
// last few looks are kept, and a rate is over some seconds: it does not jump with each look.

/** Counters at one look. */
export interface Look {
  /** Milliseconds of a clock that is not set back. */
  readonly at: number;
  /** Each name with its counter since the start. */
  readonly counters: ReadonlyMap<string, number>;
}

/** A rate is over about this time. */
export const RATE_MS = 5_000;
/** A look that is older tells nothing of now: rates begin anew. */
export const STALE_MS = 30_000;
/** Looks that come sooner than this after one another are taken for one. */
export const LEAST_MS = 400;
/** Most looks that are kept. */
export const LOOKS: number = Math.ceil(RATE_MS / LEAST_MS) + 1;

/** The looks that are kept, the oldest first. */
export type Looks = readonly Look[];

/** The looks to keep when another one has come, and the one that its rates are measured from. */
export function looked(
  before: Looks,
  now: Look,
): { readonly looks: Looks; readonly since: Look | undefined } {
  const last = before.at(-1);
  // Counters of one run only grow. A lower one is of another run.
  const isOther =
    last !== undefined && (last.at > now.at || now.at - last.at > STALE_MS || isLower(now, last));
  const known = isOther ? [] : before;
  // The newest look that is old enough is the first one that is kept.
  const from = known.findLastIndex(({ at }) => now.at - at >= RATE_MS);
  const kept = known.slice(Math.max(0, from));
  const [oldest] = kept;
  const since = oldest === undefined || now.at - oldest.at < LEAST_MS ? undefined : oldest;
  const isNew = last === undefined || isOther || now.at - last.at >= LEAST_MS;
  return { looks: isNew ? [...kept, now].slice(-LOOKS) : kept, since };
}

/** What was counted in a second since an earlier look. Undefined without one. */
export function perSecond(name: string, now: Look, since: Look | undefined): number | undefined {
  if (since === undefined) return undefined;
  const counted = (now.counters.get(name) ?? 0) - (since.counters.get(name) ?? 0);
  return (counted * 1_000) / (now.at - since.at);
}

function isLower(now: Look, before: Look): boolean {
  for (const [name, counter] of before.counters) if ((now.counters.get(name) ?? 0) < counter) return true;
  return false;
}
