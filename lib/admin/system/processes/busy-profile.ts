// Which processes the thread is busy with, by samples. The scheduler reads the clock once for many activations. This profile takes
// these times. Time and again it has a few activations timed one by one, which stand for those before them. The distance to the next
// ones is random: of processes that run in the same order again and again, the same would always be met, and others never.
//
// Not seen: code that goes on after an await of the host, which runs outside of turns.

import type { Runnable, TurnProfile } from "../../../process/environment.js";

/** Activations are timed one by one after about so many milliseconds of work. */
const BETWEEN_MS = 0.25;
/** So many timed activations stand for those that were not timed. */
const CLUSTER = 16;
/** Most activations between two of these clusters, on average. */
const MOST_BETWEEN = 16_384;
/** How much a new cluster counts for the estimate of how long activations take. */
const NEW = 0.1;
/** One tick for each millisecond of work. */
const TICK_MS = 1;
/** Ticks of these last milliseconds count. */
const WINDOW_MS = 5_000;
/** No share is given before this many milliseconds have been seen. */
const LEAST_MS = 500;
/** Ticks that are kept, about twice as many as are in the window, and most for one activation. */
const TICKS = 8_192;
const MOST_AT_ONCE = 4_096;

export class BusyProfile implements TurnProfile {
  readonly #begun: number;
  readonly #random: () => number;
  /** All milliseconds of work so far. */
  #worked = 0;
  /** Activations since the last cluster that were not timed, and their time. */
  #pooled = 0;
  #pool = 0;
  /** Activations between two clusters, on average. 0: before the first one. */
  #between = 0;
  readonly #clusterIds = new Float64Array(CLUSTER);
  readonly #clusterMs = new Float64Array(CLUSTER);
  #clustered = 0;
  /** What is left of attributed time below one tick. It goes on to the next process, so no work is too short to be seen. */
  #rest = 0;
  readonly #tickIds = new Float64Array(TICKS);
  readonly #tickTimes = new Float64Array(TICKS);
  /** What had been worked in all before each tick. */
  readonly #tickWorked = new Float64Array(TICKS);
  #ticks = 0;

  /**
   * @param now - monotonic milliseconds
   * @param random - numbers in [0, 1)
   */
  constructor(now: number, random: () => number) {
    this.#begun = now;
    this.#random = random;
  }

  ran(one: Runnable | undefined, activations: number, ms: number, now: number, isClose: boolean): number {
    if (one === undefined) return this.#unknown(activations, ms);
    return this.#timed(numberOf(one), ms, now, isClose);
  }

  wentOn(owners: readonly Runnable[], unseen: number, ms: number, now: number, isClose: boolean): number {
    if (unseen > 0 || owners.length === 0) return this.#unknown(unseen, ms);
    let lead = 0;
    for (const owner of owners)
      lead = Math.max(lead, this.#timed(numberOf(owner), ms / owners.length, now, isClose));
    return lead;
  }

  /** The shares of processes, for a reader that asks for falling numbers. Undefined: too little has been seen. */
  reader(now: number): ((id: number) => number) | undefined {
    const seen = Math.min(WINDOW_MS, now - this.#begun);
    if (seen < LEAST_MS) return undefined;
    const { ids, workedMs } = this.#recent(now - seen);
    // The ticks say how the work is shared, and the clock how much it was.
    const share = Math.min(1, workedMs / seen) / ids.length;
    let at = ids.length - 1;
    return (id) => {
      while (at >= 0 && (ids[at] as number) > id) at--;
      const first = at;
      while (at >= 0 && ids[at] === id) at--;
      return first === at ? 0 : (first - at) * share;
    };
  }

  /** The numbers of the processes at the ticks since then, in rising order, and the work since then. */
  #recent(since: number): { readonly ids: Float64Array; readonly workedMs: number } {
    const kept = Math.min(this.#ticks, TICKS);
    const ids = new Float64Array(kept);
    let count = 0;
    let before = this.#worked;
    for (let i = this.#ticks - 1; i >= this.#ticks - kept; i--) {
      if ((this.#tickTimes[i % TICKS] as number) < since) break;
      ids[count++] = this.#tickIds[i % TICKS] as number;
      before = this.#tickWorked[i % TICKS] as number;
    }
    return { ids: ids.subarray(0, count).sort(), workedMs: this.#worked - before };
  }

  #unknown(activations: number, ms: number): number {
    this.#worked += ms;
    this.#pool += ms;
    this.#pooled += activations;
    if (this.#between > 0) return 0;
    this.#between = CLUSTER;
    return this.#lead();
  }

  #timed(id: number, ms: number, now: number, isClose: boolean): number {
    if (!isClose) {
      this.#charge(id, ms, now);
      this.#worked += ms;
      return 0;
    }
    this.#worked += ms;
    this.#clusterIds[this.#clustered] = id;
    this.#clusterMs[this.#clustered] = ms;
    if (++this.#clustered < CLUSTER) return 0;
    this.#share(now);
    return this.#lead();
  }

  /** Activations until the next cluster. */
  #lead(): number {
    return 1 + Math.floor(this.#random() * 2 * this.#between);
  }

  /**
   * Each that was timed stands for as many others as were not. To share out the time of these instead would favour what is cheap: it
   * would get the time of a dear one whenever that is not among the timed.
   */
  #share(now: number): void {
    const scale = 1 + this.#pooled / CLUSTER;
    let timed = 0;
    for (let i = 0; i < CLUSTER; i++) {
      const ms = this.#clusterMs[i] as number;
      timed += ms;
      this.#charge(this.#clusterIds[i] as number, ms * scale, now);
    }
    const eachMs = (this.#pool + timed) / (this.#pooled + CLUSTER);
    const between = eachMs > 0 ? Math.min(BETWEEN_MS / eachMs, MOST_BETWEEN) : MOST_BETWEEN;
    this.#between = Math.max(CLUSTER, this.#between + (between - this.#between) * NEW);
    this.#pool = 0;
    this.#pooled = 0;
    this.#clustered = 0;
  }

  #charge(id: number, ms: number, now: number): void {
    this.#rest += ms;
    const ticks = Math.floor(this.#rest / TICK_MS);
    this.#rest -= ticks * TICK_MS;
    for (let left = Math.min(ticks, MOST_AT_ONCE); left > 0; left--) {
      const place = this.#ticks++ % TICKS;
      this.#tickIds[place] = id;
      this.#tickTimes[place] = now;
      this.#tickWorked[place] = this.#worked;
    }
  }
}

/** The number of the process that runs. 0: it is none. */
const numberOf = (one: Runnable): number => (one.pid as { readonly id: number } | undefined)?.id ?? 0;
