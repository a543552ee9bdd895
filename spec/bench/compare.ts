// `npm run bench -- --compare REV`: every program on two revisions in turn, and the ratios.

import type { Entry } from "./catalogue.js";
import { type Compared, compare, figureOf, onlyNow, type Pair } from "./comparison.js";
import { HERE, measure } from "./measure.js";
import type { Revision } from "./revision.js";

const TURNS = 7;
const QUICK_TURNS = 3;
const ROUNDS = 3;

/** The two revisions take turns, so that a machine that grows faster or slower meanwhile favours neither. */
export function compareEntry(entry: Entry, revision: Revision, quick: boolean): Compared {
  const { name, unit } = entry;
  const turn = (bench: URL): number => figureOf(unit, measure(bench, "ours", name, ROUNDS));
  const older = runnable(revision, turn);
  if (older === undefined) return onlyNow(name, unit, turn(HERE));
  const pairs: Pair[] = [];
  const turns = entry.long ? 1 : quick ? QUICK_TURNS : TURNS;
  for (let n = 0; n < turns; n++) {
    // Whoever comes first in one turn comes second in the next.
    if (n % 2 === 0) {
      const now = turn(HERE);
      pairs.push({ now, before: turn(older) });
    } else {
      const before = turn(older);
      pairs.push({ now: turn(HERE), before });
    }
  }
  return compare(name, unit, pairs);
}

/** Today's program where it runs on the older library, else the program of that time. */
function runnable(revision: Revision, turn: (bench: URL) => number): URL | undefined {
  for (const bench of [revision.bench, revision.ownBench]) {
    if (bench === undefined) continue;
    try {
      turn(bench);
      return bench;
    } catch {
      // The library of that time lacks something that the program needs.
    }
  }
  return undefined;
}
