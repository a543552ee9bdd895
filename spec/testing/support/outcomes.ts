// Every outcome of a scenario: what the schedules of an exhaustive search end in.

import { exhaustive, explore, type Simulation } from "signalbox/testing";
import { expect } from "vitest";
import type { ExhaustiveOptions } from "../../../lib/testing/strategies/exhaustive.js";
import { Undeclared } from "./undeclared.js";

/** A scenario that writes down what its code saw: one entry for each process, so that no order shows that no code sees. */
export type Observed = (sim: Simulation, seen: Record<string, unknown>) => void | Promise<void>;

/** The outcomes of all schedules, sorted. */
export async function outcomesOf(
  scenario: Observed,
  search: ExhaustiveOptions = {},
  undeclared?: Undeclared,
): Promise<string[]> {
  const outcomes = new Set<string>();
  const result = await explore(
    async (sim) => {
      undeclared?.watch(sim);
      const seen: Record<string, unknown> = {};
      sim.finally("the outcome is noted", () => {
        const entries = Object.entries(seen).sort(([a], [b]) => (a < b ? -1 : 1));
        outcomes.add(entries.map(([who, what]) => `${who}: ${String(what)}`).join("; "));
      });
      await scenario(sim, seen);
      await sim.sleep(100);
    },
    { strategy: exhaustive(search), schedules: 200_000, recheck: 0, checks: false },
  );
  expect({ complete: result.complete, bounded: result.bounded }).toEqual({ complete: true, bounded: 0 });
  return [...outcomes].sort();
}

/**
 * Expects the search with reduction to see what the search of all orders sees: these outcomes, if they are given. No step may use
 * what it does not declare.
 */
export async function expectAllOutcomes(scenario: Observed, expected?: readonly string[]): Promise<void> {
  const all = await outcomesOf(scenario, { reduction: false });
  const undeclared = new Undeclared();
  expect(await undeclared.during(() => outcomesOf(scenario, {}, undeclared))).toEqual(all);
  expect([...undeclared.found.values()]).toEqual([]);
  if (expected !== undefined) expect(all).toEqual(expected);
  else expect(all.length).toBeGreaterThan(1);
}
