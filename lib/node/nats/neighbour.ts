// Decides which node watches which. The nodes of a cluster form a ring by their ids, and each one watches the next. So a killed node is
// noticed soon, at a cost for each node that does not grow with their number.

/** The node that a node watches: the one with the next id, or the least. Undefined when there is no other node. */
export function neighbourOf(here: string, others: Iterable<string>): string | undefined {
  let next: string | undefined;
  let least: string | undefined;
  for (const id of others) {
    if (id === here) continue;
    if (least === undefined || id < least) least = id;
    if (id > here && (next === undefined || id < next)) next = id;
  }
  return next ?? least;
}
