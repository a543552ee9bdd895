// How many reports are printed: so many within a second, and one line for the rest of that second. Pure.

export interface State {
  readonly perSecond: number;
  /** When the second under way began. */
  readonly since: number;
  /** Reports within it. */
  readonly count: number;
}

/** `over`: the time that `wake` asked for has come, or the system stops. */
export type Event =
  | { readonly type: "report"; readonly at: number }
  | { readonly type: "over"; readonly at: number };

export type Effect =
  /** The report of this event is printed. */
  | { readonly type: "print" }
  /** So many were left out. */
  | { readonly type: "summary"; readonly count: number }
  /** `over` is due then, in place of any that was due before. */
  | { readonly type: "wake"; readonly at: number };

const SECOND_MS = 1_000;

export function initial(perSecond: number): State {
  return { perSecond, since: Number.NEGATIVE_INFINITY, count: 0 };
}

export function decide(state: State, { type, at }: Event): readonly [State, readonly Effect[]] {
  const { perSecond } = state;
  const isOver = type === "over" || at - state.since >= SECOND_MS;
  const effects: Effect[] = [];
  if (isOver && state.count > perSecond) effects.push({ type: "summary", count: state.count - perSecond });
  const second = isOver ? { perSecond, since: at, count: 0 } : state;
  if (type === "over") return [{ ...second, since: Number.NEGATIVE_INFINITY }, effects];
  const count = second.count + 1;
  if (count <= perSecond) effects.push({ type: "print" });
  else if (count === perSecond + 1) effects.push({ type: "wake", at: second.since + SECOND_MS });
  return [{ ...second, count }, effects];
}
