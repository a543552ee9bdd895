// The property of the random programs, and how often each of their instructions occurred.

import fc from "fast-check";
import { type Exploration, explore } from "signalbox/testing";
import { judge } from "./judge.js";
import { type Program, programs, type Theme } from "./language.js";
import { Stage } from "./stage.js";

export interface Tally {
  /** Programs whose outcomes were compared in full. */
  full: number;
  /** Programs that are too large for the search without reduction: its outcomes were looked up among those of the other. */
  partly: number;
  /** Schedules of the programs that were compared in full. */
  plain: number;
  reduced: number;
  redundant: number;
}

/**
 * Judges programs of a theme until so many were compared in full.
 *
 * @throws Error with the smallest program whose outcomes differ
 */
export async function compare(theme: Theme, count: number, seed = 1): Promise<Tally> {
  const tally: Tally = { full: 0, partly: 0, plain: 0, reduced: 0, redundant: 0 };
  const same = fc.asyncProperty(programs(theme), async (program) => {
    const { reduced, plain, full, missing, strange } = await judge(
      program,
      theme.operations,
      theme.schedules,
    );
    if (missing.length > 0 || strange.length > 0) {
      const [found, by] = missing.length > 0 ? [missing[0], "without"] : [strange[0], "with"];
      throw new Error(`only the search ${by} reduction finds this outcome:\n${found}`);
    }
    if (full) {
      tally.full++;
      tally.plain += plain.schedules;
      tally.reduced += reduced.schedules;
      tally.redundant += reduced.redundant;
    } else if (reduced.complete) tally.partly++;
    fc.pre(full);
  });
  await fc.assert(same, { numRuns: count, seed, maxSkipsPerRun: 10 });
  return tally;
}

/** Runs each of some random programs under a few schedules. Returns how many of them performed each instruction. */
export async function occurrences(theme: Theme, count: number): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const program of fc.sample(programs(theme), { numRuns: count, seed: 1 })) {
    const seen = new Set<string>();
    await wander(program, theme, seen);
    for (const op of seen) counts.set(op, (counts.get(op) ?? 0) + 1);
  }
  return counts;
}

function wander(program: Program, { operations }: Theme, seen: Set<string>): Promise<Exploration> {
  return explore((sim) => new Stage(sim, program, operations, seen).run(), {
    schedules: 2,
    faults: program.faults,
    checks: false,
    recheck: 0,
  });
}
