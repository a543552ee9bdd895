// Decides which node watches which. The nodes of a cluster form a ring by their ids. Every second one asks the next whether it is there,
// and so shows the next that it is there itself. A killed node is noticed soon, at a cost for each node that does not grow with their number.

/** The nodes that a node watches. */
export interface Watch {
  /** The node that it asks periodically. */
  readonly asks: string | undefined;
  /** The node that asks it periodically. When that node is silent, the node asks back. */
  readonly hears: string | undefined;
}

export function watchOf(here: string, others: Iterable<string>): Watch {
  let position = 0;
  let count = 1;
  let next: string | undefined;
  let previous: string | undefined;
  let least: string | undefined;
  let greatest: string | undefined;
  for (const id of others) {
    if (id === here) continue;
    count++;
    if (least === undefined || id < least) least = id;
    if (greatest === undefined || id > greatest) greatest = id;
    if (id < here) {
      position++;
      if (previous === undefined || id > previous) previous = id;
    } else if (next === undefined || id < next) next = id;
  }
  // With an odd number of nodes, the last one and the first one both ask.
  const positionBefore = position === 0 ? count - 1 : position - 1;
  return {
    asks: position % 2 === 0 ? (next ?? least) : undefined,
    hears: positionBefore % 2 === 0 ? (previous ?? greatest) : undefined,
  };
}
