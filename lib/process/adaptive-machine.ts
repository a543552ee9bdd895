// Adaptive concurrency as a pure machine: how many calls at once keep their latency near a target. Routes of pipelines and transactions of
// stores use it. Additive increase, multiplicative decrease (D. Chiu, R. Jain, 1989), decided on the median of a window of calls:
//
//   median < 0.8 target    one worker more, if the route used all that it had
//   median > target        a tenth fewer, at least one fewer
//   between                nothing: the dead band, so that the limit does not swing
//   a timeout              a tenth fewer, at once, and once in a window
//
// Before the first decrease the limit doubles instead, and that first decrease halves it. A change of the limit begins a new epoch: calls
// that began in an earlier one were measured under another limit, and do not count. Calls that failed do not either: a quick failure says
// nothing about the load. A window has as many calls as there are workers at least, else the quickest of them would fill it.
// The samples are changed in place: a state is used once.

export interface AdaptiveConfig {
  /** The latency to keep below, in milliseconds. */
  readonly targetMs: number;
  /** Least calls of a window. */
  readonly window: number;
  /** The limit is never above this. */
  readonly most: number;
  /** The first limit. Default 1. */
  readonly first?: number;
}

export interface AdaptiveState {
  readonly config: AdaptiveConfig;
  readonly limit: number;
  /** Counts the changes of the limit. */
  readonly epoch: number;
  /** The latencies of the calls of this window. */
  readonly samples: number[];
  /** How many of them ended while the route used its whole limit. */
  readonly full: number;
  /** A timeout has lowered the limit at the beginning of this window. */
  readonly isSpared: boolean;
  /** The limit has never been lowered. */
  readonly isRising: boolean;
  /** The median of the last window. */
  readonly medianMs: number | undefined;
}

export type AdaptiveEvent =
  /** A call has succeeded. */
  | {
      readonly type: "ended";
      /** The epoch in which it began. */
      readonly epoch: number;
      readonly tookMs: number;
      /** As many calls were in work as the limit allows. */
      readonly isFull: boolean;
    }
  /** A call took longer than it may. */
  | { readonly type: "timed out"; readonly epoch: number };

/** The route may have so many workers from now on. */
export interface AdaptiveEffect {
  readonly type: "limit";
  readonly limit: number;
  readonly because: "fast" | "slow" | "timeout";
}

/** Below this share of the target the limit may grow. */
const GROW_BELOW = 0.8;
/** A decrease leaves this share of the limit. */
const DECREASE = 0.9;
/** The first limit, unless the configuration says otherwise. */
const FIRST = 1;

export function initial(config: AdaptiveConfig): AdaptiveState {
  return {
    config,
    limit: Math.min(config.first ?? FIRST, config.most),
    epoch: 0,
    isSpared: false,
    isRising: true,
    samples: [],
    full: 0,
    medianMs: undefined,
  };
}

type Decision = readonly [AdaptiveState, readonly AdaptiveEffect[]];

const NONE: readonly AdaptiveEffect[] = [];

export function decide(state: AdaptiveState, event: AdaptiveEvent): Decision {
  if (event.epoch !== state.epoch) return [state, NONE];
  switch (event.type) {
    case "ended":
      return sampled(state, event.tookMs, event.isFull);
    case "timed out":
      if (state.isSpared) return sampled(state, Number.POSITIVE_INFINITY, false);
      return changed({ ...state, isSpared: true }, lowered(state), "timeout");
    default:
      return event satisfies never;
  }
}

function sampled(state: AdaptiveState, tookMs: number, isFull: boolean): Decision {
  const { config, samples } = state;
  samples.push(tookMs);
  const full = state.full + (isFull ? 1 : 0);
  const size = Math.max(config.window, state.limit);
  if (samples.length < size) return [{ ...state, full }, NONE];
  const medianMs = medianOf(samples);
  const judged = { ...state, medianMs, isSpared: false };
  if (medianMs > config.targetMs) return changed(judged, lowered(state), "slow");
  if (medianMs >= config.targetMs * GROW_BELOW)
    return changed({ ...judged, isRising: false }, state.limit, "fast");
  return changed(judged, full * 2 >= size ? raised(state) : state.limit, "fast");
}

function medianOf(samples: readonly number[]): number {
  const sorted = Float64Array.from(samples).sort();
  return sorted[(sorted.length - 1) >> 1] as number;
}

function raised({ limit, isRising, config }: AdaptiveState): number {
  return Math.min(config.most, isRising ? limit * 2 : limit + 1);
}

function lowered({ limit, isRising }: AdaptiveState): number {
  return Math.max(1, Math.min(limit - 1, Math.floor(limit * (isRising ? 0.5 : DECREASE))));
}

/** Begins a new window, and a new epoch if the limit is another one. */
function changed(state: AdaptiveState, limit: number, because: AdaptiveEffect["because"]): Decision {
  const isRising = state.isRising && because === "fast";
  const next: AdaptiveState = { ...state, limit, isRising, samples: [], full: 0 };
  if (limit === state.limit) return [next, NONE];
  return [{ ...next, epoch: state.epoch + 1 }, [{ type: "limit", limit, because }]];
}
