// A thread of an exploration on several cores. It loads the module of the scenario and runs its share of each block. A thread is
// started with the module that holds this code, and begins to work as soon as the module is loaded.

import { Fingerprints } from "../kit/fingerprints.js";
import type { ScenarioSource } from "../report/failure-file.js";
import { host } from "../simulator/host.js";
import { strategyOf } from "../strategies/recipe.js";
import type { SearchHistory } from "../strategies/strategy.js";
import type { CrewPlan } from "./crew-plan.js";
import { exclusively } from "./exclusive.js";
import { planExploration } from "./options.js";
import { Runs } from "./runs.js";
import type { Scenario } from "./schedule.js";
import { runShare, type ScheduleOutcome } from "./share.js";

/** The module that a thread is started with. */
export const THREAD: string = import.meta.url;

/** Real milliseconds between two signs of life. */
const ALIVE_MS = 1_000;

/** What a thread is started with. */
export interface Work extends CrewPlan {
  /** Number of the thread, from 0. */
  readonly thread: number;
}

/** The schedules of a block, with what strategies know at its beginning. */
export interface Block {
  readonly first: number;
  readonly last: number;
  readonly history: SearchHistory;
  /** Real milliseconds after which no further schedule begins. */
  readonly budgetMs: number;
}

/** What a thread says. */
export type ThreadReport =
  | { readonly type: "alive" }
  | { readonly type: "done"; readonly outcomes: readonly ScheduleOutcome[] }
  | { readonly type: "failed"; readonly why: string };

const say = (report: ThreadReport): void => host.work?.say(report);

async function serve({ source, options, strategy, thread, threads }: Work): Promise<void> {
  const scenario = await scenarioOf(source);
  const runs = new Runs(scenario, planExploration({ ...options, strategy: strategyOf(strategy) }));
  const seen = new Fingerprints();
  host.work?.hear((told) => {
    const block = told as Block;
    const shares = { ...block, seen, of: threads, at: thread, deadline: host.now() + block.budgetMs };
    exclusively(async () => {
      const outcomes: ScheduleOutcome[] = [];
      const begin = host.now();
      let spoke = begin;
      for await (const outcome of runShare(runs, shares)) {
        outcomes.push(portable(outcome));
        if (outcome.failed || outcome.second !== undefined || host.now() - begin > block.budgetMs) break;
        if (host.now() - spoke < ALIVE_MS) continue;
        spoke = host.now();
        say({ type: "alive" });
      }
      return outcomes;
    }).then((outcomes) => say({ type: "done", outcomes }), failed);
  });
}

async function scenarioOf({ module, export: name }: ScenarioSource): Promise<Scenario> {
  const exports = (await import(module)) as object;
  const scenario: unknown = Reflect.get(exports, name);
  if (typeof scenario === "function") return scenario as Scenario;
  throw new Error(
    `${module} exports no function ${name}, only: ${Object.keys(exports).join(", ") || "nothing"}`,
  );
}

/** Without what no other thread can use, or needs. */
function portable(outcome: ScheduleOutcome): ScheduleOutcome {
  const { result, second, failed } = outcome;
  const isCompared = failed || second !== undefined;
  return {
    ...outcome,
    result: { ...result, failure: undefined, cycle: undefined, digests: isCompared ? result.digests : [] },
    second: second === undefined ? undefined : { ...second, failure: undefined, cycle: undefined },
  };
}

function failed(error: unknown): void {
  say({ type: "failed", why: error instanceof Error ? error.message : String(error) });
}

if (host.work !== undefined) serve(host.work.data as Work).catch(failed);
