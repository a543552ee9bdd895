// The history of a system as a machine: rings of incidents, one for each kind, so that a flood of one kind hides no other. The same thing
// again within a second is folded into the incident that there is; a kind begins so many incidents a second, and folds what is beyond into one
// more. Texts are built for new incidents alone: `describe` asks for them.
//
// The state is changed in place, as dead letters come 100,000 a second. Nobody holds a state from before, and the same events lead to the
// same state.

import { Causes } from "./causes.js";
import type { Incident, IncidentKind } from "./operations.js";
import { ownText } from "./own-text.js";
import { Ring } from "./ring.js";
import { Tally } from "./tally.js";

export const KINDS: readonly IncidentKind[] = [
  ...(["crash", "restart", "gaveUp", "deadLetter", "discardedReply", "highWater", "longTurn"] as const),
  ...(["lateError", "reroute", "undeliverable", "deadTuple", "topologyRestart", "breaker"] as const),
  ...(["hospital", "stranded", "storeOutage", "nodeUp", "nodeDown", "nodeRefused", "application"] as const),
  "action",
];

/** The limits of a history. */
export interface HistoryLimits {
  /** Incidents that are kept of one kind. */
  readonly kept: number;
  /** The same of crashes and restarts. */
  readonly keptOfCrashes: number;
  /** Incidents that begin within a second: one in so many of those that are kept. */
  readonly begunShare: number;
  /** The same thing again within this time is folded, in milliseconds … */
  readonly foldMs: number;
  /** … but an incident ends after this time, so that one which goes on is seen again. */
  readonly longestMs: number;
  /** Names under which later incidents find their cause. */
  readonly causes: number;
}

export const HISTORY_LIMITS: HistoryLimits = {
  kept: 512,
  keptOfCrashes: 1_024,
  begunShare: 8,
  foldMs: 1_000,
  longestMs: 60_000,
  causes: 4_096,
};

/** What a shell says of an incident, when the machine asks. */
export type Detail = Omit<Incident, "number" | "at" | "kind" | "count" | "lastAt" | "cause" | "linked">;

export type Event =
  /**
   * Something happened. `key`: what is the same within its kind. `as`: names under which later incidents find this one as their cause.
   * `from`: the name of its cause. `uses`: the same for a name that nothing else comes from.
   */
  | {
      readonly type: "happened";
      readonly kind: IncidentKind;
      readonly key: string;
      readonly at: number;
      readonly as?: readonly string[] | undefined;
      readonly from?: string | undefined;
      readonly uses?: string | undefined;
      readonly cause?: number | undefined;
    }
  /** A process ended with the one of this incident, along links. */
  | { readonly type: "linked"; readonly number: number; readonly as: readonly string[] }
  | {
      readonly type: "described";
      readonly kind: IncidentKind;
      readonly number: number;
      readonly detail: Detail;
    }
  /** Nobody looks any more: everything is forgotten, but that numbers go on. */
  | { readonly type: "forget" };

export type Effect =
  /** A new incident: `described` says what it is. */
  | { readonly type: "describe"; readonly number: number }
  /** It belongs to this incident. */
  | { readonly type: "folded"; readonly number: number };

/** An incident in its ring. */
export interface RecordedIncident extends Mutable<Omit<Incident, keyof Detail>> {
  readonly key: string;
  detail: Detail;
}

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

export interface State {
  readonly limits: HistoryLimits;
  readonly rings: Map<IncidentKind, OfKind>;
  readonly causes: Causes;
  lastNumber: number;
}

/** What is kept of one kind. */
interface OfKind {
  readonly ring: Ring<RecordedIncident>;
  /** By key, the incident into which the same thing is folded. */
  readonly open: Map<string, RecordedIncident>;
  readonly tally: Tally;
  total: number;
  /** The second under way, and how many incidents have begun in it. */
  second: number;
  begun: number;
}

const UNKNOWN: Detail = { text: "" };
/** The key of what is folded because too many incidents begin. No other key is empty. */
const BEYOND = "";

export function initial(limits: HistoryLimits = HISTORY_LIMITS): State {
  return { limits, rings: new Map(), causes: new Causes(limits.causes), lastNumber: 0 };
}

export function decide(state: State, event: Event): readonly [State, readonly Effect[]] {
  switch (event.type) {
    case "happened":
      return [state, [happened(state, event)]];
    case "linked": {
      const crash = find(state, "crash", event.number);
      if (crash !== undefined) crash.linked = (crash.linked ?? 0) + 1;
      remember(state, event.as, event.number);
      return [state, []];
    }
    case "described": {
      const incident = find(state, event.kind, event.number);
      if (incident !== undefined) incident.detail = event.detail;
      return [state, []];
    }
    case "forget":
      state.rings.clear();
      state.causes.clear();
      return [state, []];
    default:
      return event satisfies never;
  }
}

function happened(state: State, event: Extract<Event, { readonly type: "happened" }>): Effect {
  const { kind, at } = event;
  const of = kindOf(state, kind);
  of.total++;
  of.tally.add(at);
  const same = of.open.get(event.key);
  if (same !== undefined && isSame(state.limits, same, at)) return folded(state, same, event);
  const perSecond = of.ring.capacity / state.limits.begunShare;
  if (!mayBegin(of, at, perSecond)) {
    const beyond = of.open.get(BEYOND);
    if (beyond !== undefined && isSame(state.limits, beyond, at)) return folded(state, beyond, event);
    const text = `more of this kind: no more than ${perSecond} within a second stand by themselves`;
    const begun = begin(state, of, {
      ...event,
      key: BEYOND,
      from: undefined,
      uses: undefined,
      cause: undefined,
    });
    begun.detail = { text };
    return { type: "folded", number: begun.number };
  }
  return { type: "describe", number: begin(state, of, event).number };
}

function isSame({ foldMs, longestMs }: HistoryLimits, incident: RecordedIncident, at: number): boolean {
  // The clock on the wall may go back.
  return at >= incident.at && at - incident.lastAt < foldMs && at - incident.at < longestMs;
}

function folded(
  state: State,
  incident: RecordedIncident,
  event: Extract<Event, { readonly type: "happened" }>,
): Effect {
  incident.count++;
  incident.lastAt = Math.max(incident.lastAt, event.at);
  if (event.uses !== undefined) state.causes.delete(event.uses);
  if (event.as !== undefined) remember(state, event.as, incident.number);
  return { type: "folded", number: incident.number };
}

function begin(
  state: State,
  of: OfKind,
  event: Extract<Event, { readonly type: "happened" }>,
): RecordedIncident {
  const { kind, at, as, from, uses } = event;
  const key = ownText(event.key);
  const named = from ?? uses;
  const cause = event.cause ?? (named === undefined ? undefined : state.causes.get(named));
  if (uses !== undefined) state.causes.delete(uses);
  const number = ++state.lastNumber;
  const incident: RecordedIncident = {
    number,
    at,
    kind,
    count: 1,
    lastAt: at,
    cause,
    key,
    linked: undefined,
    detail: UNKNOWN,
  };
  const oldest = of.ring.add(incident);
  if (oldest !== undefined && of.open.get(oldest.key) === oldest) of.open.delete(oldest.key);
  of.open.set(key, incident);
  if (as !== undefined) remember(state, as, number);
  return incident;
}

/** Whether one more incident may begin within the second. */
function mayBegin(of: OfKind, at: number, perSecond: number): boolean {
  const second = Math.floor(at / 1_000);
  if (of.second !== second) {
    of.second = second;
    of.begun = 0;
  }
  return ++of.begun <= perSecond;
}

function kindOf(state: State, kind: IncidentKind): OfKind {
  const known = state.rings.get(kind);
  if (known !== undefined) return known;
  const { kept, keptOfCrashes } = state.limits;
  const ring = new Ring<RecordedIncident>(kind === "crash" || kind === "restart" ? keptOfCrashes : kept);
  const made: OfKind = { ring, open: new Map(), tally: new Tally(), total: 0, second: -1, begun: 0 };
  state.rings.set(kind, made);
  return made;
}

function remember({ causes }: State, names: readonly string[], number: number): void {
  for (const name of names) causes.set(name, number);
}

function find(state: State, kind: IncidentKind, number: number): RecordedIncident | undefined {
  const ring = state.rings.get(kind)?.ring;
  const found = ring?.at(ring.firstBehind(number - 1));
  return found?.number === number ? found : undefined;
}
