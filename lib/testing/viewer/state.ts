// The state after a step: what all steps up to it have changed. The page uses this file, too.

import type { Picture, ShownChange } from "./picture.js";

export interface State {
  /** The processes that have begun, by lane. */
  readonly processes: ReadonlyMap<number, ShownChange>;
  /** Values of `sim.state`. */
  readonly values: readonly string[];
}

/** @param step - index of the step; before the first step nothing has begun */
export function stateAfter({ steps }: Pick<Picture, "steps">, step: number): State {
  const processes = new Map<number, ShownChange>();
  let values: readonly string[] = [];
  for (const { changes, states } of steps.slice(0, step + 1)) {
    for (const change of changes) processes.set(change.lane, change);
    values = states ?? values;
  }
  return { processes, values };
}

/** Index of the next step that contains a text, from `step` on in one direction and around; undefined if there is none. */
export function nextMatch(
  { lanes, steps }: Pick<Picture, "lanes" | "steps">,
  text: string,
  step: number,
  direction: 1 | -1,
): number | undefined {
  const wanted = text.toLowerCase();
  const matches = (index: number): boolean => {
    const one = steps[index];
    if (one === undefined) return false;
    const all = [lanes[one.lane] ?? "", one.title, one.place, ...one.lines];
    return all.some((line) => line.toLowerCase().includes(wanted));
  };
  if (wanted === "") return undefined;
  for (let n = 1; n <= steps.length; n++) {
    const index = (((step + direction * n) % steps.length) + steps.length) % steps.length;
    if (matches(index)) return index;
  }
  return undefined;
}
