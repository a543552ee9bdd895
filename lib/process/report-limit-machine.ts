// How many reports are printed: so many within a second, and one line for the rest of that second. A flood from one place
// hides no other place: the first report of each is printed. Pure.

/** The place to which a report belongs, such as a supervisor by its id. */
export type ReportSource = number | string;

export interface State {
  readonly perSecond: number;
  /** When the second under way began. */
  readonly since: number;
  /** Reports within it that were printed, up to the limit … */
  readonly count: number;
  /** … and those that were not. */
  readonly left: number;
  /** Where the reports within it came from: so many places at most. */
  readonly places: ReadonlySet<ReportSource>;
}

/** `over`: the time that `wake` asked for has come, or the system stops. */
export type Event =
  | { readonly type: "report"; readonly at: number; readonly place: ReportSource }
  | { readonly type: "over"; readonly at: number };

export type Effect =
  /** The report of this event is printed. */
  | { readonly type: "print" }
  /** So many were left out. */
  | { readonly type: "summary"; readonly count: number }
  /** `over` is due then, in place of any that was due before. */
  | { readonly type: "wake"; readonly at: number };

const SECOND_MS = 1_000;
/** Most places whose first report within a second is printed beyond the limit. */
export const PLACES = 64;
const NONE: ReadonlySet<ReportSource> = new Set();

export function initial(perSecond: number): State {
  return { perSecond, since: Number.NEGATIVE_INFINITY, count: 0, left: 0, places: NONE };
}

export function decide(state: State, event: Event): readonly [State, readonly Effect[]] {
  const { at } = event;
  const isOver = event.type === "over" || at - state.since >= SECOND_MS;
  const effects: Effect[] = [];
  if (isOver && state.left > 0) effects.push({ type: "summary", count: state.left });
  if (event.type === "over") return [initial(state.perSecond), effects];
  const second = isOver ? { ...initial(state.perSecond), since: at } : state;
  const { count, left } = second;
  const isNew = !second.places.has(event.place) && second.places.size < PLACES;
  const places = isNew ? new Set(second.places).add(event.place) : second.places;
  if (count < second.perSecond)
    return [{ ...second, count: count + 1, places }, [...effects, { type: "print" }]];
  if (isNew) return [{ ...second, places }, [...effects, { type: "print" }]];
  if (left === 0) effects.push({ type: "wake", at: second.since + SECOND_MS });
  return [{ ...second, left: left + 1 }, effects];
}
