// The connection of two systems, as a pure function. Each side believes in the connection until it is notified of its end, and
// the two sides are notified at different times.
//
//                 cut, or the other side loses power           notified
//   side:    up ──────────────────────────────────────▶ broken ──────────▶ down
//            ▲                                             │ notified,       │ heal
//            │                                             │ after heal      │
//            └─────────────────────────────────────────────┴─────────────────┘
//
// A silent cut breaks nothing: messages in that direction are held until the cut is healed, as TCP does while it retransmits.

/** 0 or 1: one of the two systems, and the way from it to the other. */
export type SideIndex = 0 | 1;

type Side = "up" | "broken" | "down";

/** The way from a side to the other. `closed`: signals are lost. */
type Way = "open" | "held" | "closed";

export interface Connection {
  readonly sides: readonly [Side, Side];
  readonly ways: readonly [Way, Way];
  /** No cut breaks the connection at present. */
  readonly whole: boolean;
  /** The sides that have lost power. Such a side never comes back: the next boot makes another system. */
  readonly gone: readonly [boolean, boolean];
}

export type ConnectionEvent =
  /** Signals on these ways do not arrive any more. */
  | { readonly type: "cut"; readonly ways: readonly SideIndex[]; readonly silent: boolean }
  | { readonly type: "heal" }
  /** A side has lost power. */
  | { readonly type: "gone"; readonly side: SideIndex }
  /** A side is notified of the end of the connection. */
  | { readonly type: "notified"; readonly side: SideIndex };

export type ConnectionEffect =
  /** Signals in transit on this way are lost. */
  | { readonly type: "lose"; readonly way: SideIndex }
  /** Signals in transit on this way wait for `release`. */
  | { readonly type: "hold"; readonly way: SideIndex }
  | { readonly type: "release"; readonly way: SideIndex }
  /** The side has to be notified, before any later signal arrives there. */
  | { readonly type: "notify"; readonly side: SideIndex };

export const CONNECTED: Connection = {
  sides: ["up", "up"],
  ways: ["open", "open"],
  whole: true,
  gone: [false, false],
};

const SIDES: readonly SideIndex[] = [0, 1];

/** The fate of a signal that a side sends now. `refused`: the sender knows that there is no connection. */
export function fateOf({ sides, ways }: Connection, from: SideIndex): "sent" | "held" | "lost" | "refused" {
  if (sides[from] !== "up") return sides[from] === "down" ? "refused" : "lost";
  return ways[from] === "open" ? "sent" : ways[from] === "held" ? "held" : "lost";
}

/** Whether an old copy of a signal can still arrive that `from` once sent. */
export function admits({ ways, gone }: Connection, from: SideIndex): boolean {
  return ways[from] === "open" && gone[other(from)] === false;
}

export function decide(
  state: Connection,
  event: ConnectionEvent,
): readonly [Connection, readonly ConnectionEffect[]] {
  switch (event.type) {
    case "cut":
      return event.silent ? hold(state, event.ways) : sever(state, event.ways);
    case "heal":
      return heal(state);
    case "gone":
      return lose(state, event.side);
    case "notified":
      return [notified(state, event.side), []];
    default:
      return event satisfies never;
  }
}

function hold(
  state: Connection,
  cut: readonly SideIndex[],
): readonly [Connection, readonly ConnectionEffect[]] {
  const stopped = cut.filter((way) => state.ways[way] === "open");
  const ways = each((way) => (stopped.includes(way) ? "held" : state.ways[way]));
  return [{ ...state, ways }, stopped.map((way) => ({ type: "hold", way }))];
}

/** The connection breaks as a whole; on a way that is not cut, signals in transit still arrive. */
function sever(
  state: Connection,
  cut: readonly SideIndex[],
): readonly [Connection, readonly ConnectionEffect[]] {
  const lost = SIDES.filter((way) => cut.includes(way) || state.ways[way] === "held");
  const broken = SIDES.filter((side) => state.sides[side] === "up" && !state.gone[side]);
  return [
    {
      ...state,
      sides: each((side) => (broken.includes(side) ? "broken" : state.sides[side])),
      ways: ["closed", "closed"],
      whole: false,
    },
    [
      ...lost.map((way): ConnectionEffect => ({ type: "lose", way })),
      ...broken.map((side): ConnectionEffect => ({ type: "notify", side })),
    ],
  ];
}

function heal(state: Connection): readonly [Connection, readonly ConnectionEffect[]] {
  const released = SIDES.filter((way) => state.ways[way] === "held");
  return [
    {
      ...state,
      sides: each((side) => (state.sides[side] === "down" && !dead(state) ? "up" : state.sides[side])),
      ways: each((way) => (state.gone[other(way)] ? "closed" : "open")),
      whole: true,
    },
    released.map((way) => ({ type: "release", way })),
  ];
}

function lose(state: Connection, side: SideIndex): readonly [Connection, readonly ConnectionEffect[]] {
  const left = other(side);
  const gone = each((one) => one === side || state.gone[one]);
  const ways = each((way) => (way === left ? "closed" : state.ways[way]));
  const notify = state.sides[left] === "up" && !gone[left];
  const sides = each((one) => (one === left && notify ? "broken" : state.sides[one]));
  const effects: ConnectionEffect[] = [{ type: "lose", way: left }];
  if (notify) effects.push({ type: "notify", side: left });
  return [{ ...state, sides, ways, gone }, effects];
}

function notified(state: Connection, side: SideIndex): Connection {
  if (state.sides[side] !== "broken") return state;
  const now = state.whole && !dead(state) ? "up" : "down";
  return { ...state, sides: each((one) => (one === side ? now : state.sides[one])) };
}

function dead({ gone }: Connection): boolean {
  return gone[0] || gone[1];
}

function other(side: SideIndex): SideIndex {
  return side === 0 ? 1 : 0;
}

function each<T>(of: (side: SideIndex) => T): readonly [T, T] {
  return [of(0), of(1)];
}
