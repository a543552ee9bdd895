// Flows in the store whose definitions a host does not have. They are never touched: another host may have the definition, as in a
// deployment step by step.

import type { Store } from "../../store/index.js";
import { flowsIn } from "../journal/rows.js";
import { flows } from "../journal/tables.js";
import type { UnknownFlows } from "./events.js";

const ACTIVE = ["pending", "running", "waiting", "paused", "hospitalized"] as const;
const PAGE = 1_000;
/** Most flows of one name whose versions are counted. */
const MAX_COUNTED = 10_000;

/**
 * Counts the flows that have not ended and whose definition is not among those given, by name and version.
 *
 * @param definitions - those that the host has
 */
export async function countUnknown(
  store: Store,
  definitions: readonly { readonly name: string; readonly version: number }[],
): Promise<UnknownFlows[]> {
  const known = new Set(definitions.map(({ name, version }) => `${name}/${version}`));
  const unknown: UnknownFlows[] = [];
  for (let after: string | undefined; ; ) {
    const [first] = await store.scan(flows, {
      index: "name",
      ...(after === undefined ? {} : { after }),
      limit: 1,
    });
    if (first === undefined) return unknown;
    after = first.name;
    for (const [version, count] of await versionsOf(store, after))
      if (!known.has(`${after}/${version}`)) unknown.push({ name: after, version, count });
  }
}

/** How many flows of a name there are that have not ended, by version. */
async function versionsOf(store: Store, name: string): Promise<Map<number, number>> {
  const counts = new Map<number, number>();
  for (const status of ACTIVE) {
    let counted = 0;
    for await (const { version } of flowsIn(store, { index: "name", prefix: [name, status] }, PAGE)) {
      counts.set(version, (counts.get(version) ?? 0) + 1);
      if (++counted === MAX_COUNTED) break;
    }
  }
  return counts;
}
