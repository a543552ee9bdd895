// How many traces begin in a second. A busy system makes more than anybody can look at, and would push each trace out of the ring before it is
// seen. A name that is rare is kept beside one that is frequent.

/** New traces in a second, all names together, and of one name. */
export const ROOTS_PER_S = { all: 500, ofOneName: 50 } as const;

export interface RootBudget {
  /** The begin of the second, by the clock. */
  readonly from: number;
  readonly all: number;
  readonly byName: ReadonlyMap<string, number>;
}

export const FULL_BUDGET: RootBudget = { from: Number.NEGATIVE_INFINITY, all: 0, byName: new Map() };

/** Whether a trace with this name may begin now, and what is left after that. */
export function spend(budget: RootBudget, name: string, at: number): readonly [RootBudget, boolean] {
  const isOver = at - budget.from >= 1_000 || at < budget.from;
  const { from, all, byName } = isOver ? { ...FULL_BUDGET, from: at } : budget;
  const ofName = byName.get(name) ?? 0;
  if (all >= ROOTS_PER_S.all || ofName >= ROOTS_PER_S.ofOneName)
    return [isOver ? { from, all, byName } : budget, false];
  return [{ from, all: all + 1, byName: new Map(byName).set(name, ofName + 1) }, true];
}
