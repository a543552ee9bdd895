// Searches all schedules of a program, with and without reduction, and compares what the program can come to.

import { exhaustive, explore, randomWalk, type SearchStrategy } from "signalbox/testing";
import type { Operations, Program } from "./language.js";
import { Stage } from "./stage.js";

/** What one search has found. */
export interface Search {
  readonly outcomes: ReadonlySet<string>;
  readonly schedules: number;
  readonly redundant: number;
  readonly complete: boolean;
}

export interface Verdict {
  readonly reduced: Search;
  readonly plain: Search;
  /** Both searches were complete. */
  readonly full: boolean;
  /** Outcomes that the reduced search has missed though it says that it is complete. */
  readonly missing: readonly string[];
  /** Outcomes of the reduced search that a complete search without reduction does not know. */
  readonly strange: readonly string[];
  /** Instructions that were performed in one schedule or another. */
  readonly seen: ReadonlySet<string>;
}

async function search(
  program: Program,
  operations: Operations,
  seen: Set<string>,
  strategy: SearchStrategy,
  schedules: number,
): Promise<Search> {
  const outcomes = new Set<string>();
  const result = await explore(
    (sim) => {
      const stage = new Stage(sim, program, operations, seen);
      sim.finally("outcome", () => {
        outcomes.add(stage.outcome());
      });
      return stage.run();
    },
    { strategy, schedules, faults: program.faults, checks: false, maxSteps: 2_000, recheck: 0, shrink: 0 },
  );
  if (result.bounded > 0) throw new Error("a schedule of the program has no end");
  return { outcomes, schedules: result.schedules, redundant: result.redundant, complete: result.complete };
}

/** @param most - schedules of each search */
export async function judge(program: Program, operations: Operations, most: number): Promise<Verdict> {
  const seen = new Set<string>();
  const reduced = await search(program, operations, seen, exhaustive(), most);
  let plain = await search(program, operations, seen, exhaustive({ reduction: false }), most);
  if (reduced.complete && !plain.complete) {
    // The beginning of the tree is one corner of it; random schedules are anywhere.
    const walk = await search(program, operations, seen, randomWalk(), Math.ceil(most / 4));
    plain = { ...plain, outcomes: new Set([...plain.outcomes, ...walk.outcomes]) };
  }
  const full = reduced.complete && plain.complete;
  const lacking = (of: Search, from: Search): string[] =>
    [...from.outcomes].filter((one) => !of.outcomes.has(one));
  return {
    reduced,
    plain,
    full,
    missing: reduced.complete ? lacking(reduced, plain) : [],
    strange: plain.complete ? lacking(plain, reduced) : [],
    seen,
  };
}
