// Which of the waiting flows may start now: the limits of a queue, priorities, and turns between keys. Pure.

/** At most `limit` starts within any `periodMs` milliseconds, by the clock of the store. */
export interface Rate {
  readonly limit: number;
  readonly periodMs: number;
}

/** The limits of a queue. Infinity: none. */
export interface QueueLimits {
  /** Most flows that hold a slot at the same time, over all hosts. */
  readonly concurrency: number;
  /** Most flows that hold a slot on one host. Flows that a host takes over from a dead one are not held up by it. */
  readonly perHost: number;
  /** Most flows of one key that hold a slot at the same time, over all hosts. */
  readonly perKey: number;
  readonly rate: Rate | undefined;
  readonly keyRate: Rate | undefined;
}

/** A flow that waits. `rank` 0 goes first; `number` counts the arrivals. `lane` is its key, or empty. */
export interface Candidate {
  readonly number: number;
  readonly flow: string;
  readonly lane: string;
  readonly rank: number;
  /** Its row is of the first version of the schema of flows: see `taken`. */
  readonly isOld?: boolean;
}

/** The use of one key. */
export interface Use {
  /** Flows that hold a slot. */
  readonly running: number;
  /** Starts within the last period. */
  readonly recent: number;
  /** When the next start leaves the period, if `recent` is at its limit. */
  readonly freeAt: number | undefined;
}

/** Flows that start now, in order, and what is left of the rest. */
export interface Choice {
  readonly chosen: readonly Candidate[];
  readonly left: readonly Candidate[];
}

export const NO_USE: Use = { running: 0, recent: 0, freeAt: undefined };

/** How many flows of the queue may start now, over all keys. `here`: slots that this host holds. */
export function roomOf(limits: QueueLimits, use: Use, here: number): number {
  const { concurrency, perHost, rate } = limits;
  const inRate = (rate?.limit ?? Number.POSITIVE_INFINITY) - use.recent;
  return Math.max(0, Math.min(concurrency - use.running, perHost - here, inRate));
}

/** How many flows of one key may start now. */
export function keyRoomOf({ perKey, keyRate }: QueueLimits, use: Use): number {
  return Math.max(
    0,
    Math.min(perKey - use.running, (keyRate?.limit ?? Number.POSITIVE_INFINITY) - use.recent),
  );
}

/**
 * Chooses up to `room` flows. Ranks go in order. Within a rank the keys take turns, in the order of `candidates`; within a key, first
 * come, first served.
 *
 * @param candidates - by rank; within a rank, keys in the order of their turns, and flows of a key by number
 */
export function choose(
  limits: QueueLimits,
  candidates: readonly Candidate[],
  lanes: ReadonlyMap<string, Use>,
  room: number,
): Choice {
  const chosen = new Set<Candidate>();
  const taken = new Map<string, number>();
  for (const rank of byRank(candidates)) {
    let waiting = [...rank.values()];
    for (let turn = 0; waiting.length > 0 && chosen.size < room; turn++) {
      waiting = waiting.filter((lane) => {
        const next = lane[turn];
        if (next === undefined || chosen.size >= room) return false;
        const used = taken.get(next.lane) ?? 0;
        if (used >= keyRoomOf(limits, lanes.get(next.lane) ?? NO_USE)) return false;
        taken.set(next.lane, used + 1);
        chosen.add(next);
        return true;
      });
    }
  }
  return { chosen: [...chosen], left: candidates.filter((one) => !chosen.has(one)) };
}

/** The candidates by rank, then by key, in their order. */
function byRank(candidates: readonly Candidate[]): Iterable<Map<string, Candidate[]>> {
  const ranks = new Map<number, Map<string, Candidate[]>>();
  for (const one of candidates) {
    const lanes = ranks.get(one.rank) ?? new Map<string, Candidate[]>();
    ranks.set(one.rank, lanes.set(one.lane, [...(lanes.get(one.lane) ?? []), one]));
  }
  return ranks.values();
}
