// The gates of an execution on one host: who may work. A worker passes them in one step, in this order, or waits and holds nothing:
//
//   global        permits of all workers together, at most `inFlight`
//   route         permits of the workers of one route, at most its concurrency
//   high water    no queue that the route publishes to is above its mark
//   fan-out       few enough children of the route are on their way to the ledger
//
// The first two are counted here. The last two belong to the route alone, so its processor looks at them in the step in which its worker
// is let in, and gives the permit back at once if one of them is closed (processor-machine.ts). So no worker waits for a gate while it
// holds a permit, and routes cannot lock each other.
//
// Where there are permits enough, one is kept for each route that has none, so that a slow route does not starve the others.
// The tables are changed in place: a state is used once.

import { InvariantError } from "../../process/errors.js";

/** The holder of a permit: a worker. */
export type Holder = object;

export interface GatesConfig {
  /** Most permits of all routes together. */
  readonly inFlight: number;
  /** Most permits of each route. */
  readonly routes: ReadonlyMap<string, number>;
}

export interface GatesState {
  readonly inFlight: number;
  readonly limits: Map<string, number>;
  /** Holders with a permit, and their route. */
  readonly holding: Map<Holder, string>;
  /** Those that wait, the first to come first. */
  readonly waiting: Map<Holder, string>;
  /** How many permits each route has. */
  readonly taken: Map<string, number>;
}

export type GatesEvent =
  | { readonly type: "enter"; readonly holder: Holder; readonly route: string }
  /** Gives a permit back, or stops waiting for one. Also when the holder has exited, with or without a permit. */
  | { readonly type: "leave"; readonly holder: Holder }
  /** A route may have so many permits from now on. Those that it has beyond that are returned when their holders leave. */
  | { readonly type: "limit"; readonly route: string; readonly limit: number };

/** The holder has a permit. */
export interface GatesEffect {
  readonly type: "entered";
  readonly holder: Holder;
}

export function initial({ inFlight, routes }: GatesConfig): GatesState {
  return {
    inFlight,
    limits: new Map(routes),
    holding: new Map(),
    waiting: new Map(),
    taken: new Map([...routes.keys()].map((route) => [route, 0])),
  };
}

const NONE: readonly GatesEffect[] = [];

export function decide(state: GatesState, event: GatesEvent): [GatesState, readonly GatesEffect[]] {
  switch (event.type) {
    case "enter": {
      const { holder, route } = event;
      if (state.holding.has(holder) || state.waiting.has(holder))
        throw new InvariantError("a worker asks for one permit at a time");
      state.waiting.set(holder, route);
      return [state, admit(state)];
    }
    case "leave": {
      const { holder } = event;
      if (state.waiting.delete(holder)) return [state, NONE];
      const route = state.holding.get(holder);
      if (route === undefined) return [state, NONE];
      state.holding.delete(holder);
      state.taken.set(route, takenBy(state, route) - 1);
      return [state, admit(state)];
    }
    case "limit":
      state.limits.set(event.route, event.limit);
      return [state, admit(state)];
    default:
      return event satisfies never;
  }
}

function takenBy({ taken }: GatesState, route: string): number {
  return taken.get(route) ?? 0;
}

/** Lets in the workers that may come in, in the order of arrival; one that its route stops does not stop the others. */
function admit(state: GatesState): readonly GatesEffect[] {
  const { waiting, holding, taken } = state;
  if (waiting.size === 0) return NONE;
  const effects: GatesEffect[] = [];
  for (const [holder, route] of waiting) {
    if (holding.size >= state.inFlight) break;
    if (!isOpen(state, route)) continue;
    waiting.delete(holder);
    holding.set(holder, route);
    taken.set(route, takenBy(state, route) + 1);
    effects.push({ type: "entered", holder });
  }
  return effects;
}

function isOpen(state: GatesState, route: string): boolean {
  const has = takenBy(state, route);
  if (has >= (state.limits.get(route) ?? 0)) return false;
  if (has === 0) return true;
  const { taken, inFlight, holding } = state;
  if (taken.size > inFlight) return true;
  let without = 0;
  for (const count of taken.values()) if (count === 0) without++;
  return inFlight - holding.size > without;
}
