// The search: one schedule after another, until one fails or there is nothing left to do.

import { Fingerprints } from "../kit/fingerprints.js";
import { Random } from "../kit/random.js";
import { NeverReachedError, ReplayOutdatedError } from "../report/errors.js";
import { ScheduleFailedError } from "../report/failure.js";
import { decodeToken, scenarioHash } from "../report/token.js";
import { host } from "../simulator/host.js";
import { ORDINARY, Script } from "../simulator/oracle.js";
import { Recorder } from "../simulator/recorder.js";
import type { Chooser, SearchHistory } from "../strategies/strategy.js";
import { divergence, failed, failureOf } from "./failing.js";
import { type Exploration, type ExplorationEnd, Findings, KEPT } from "./findings.js";
import type { ExplorePlan } from "./options.js";
import { alike, Runs } from "./runs.js";
import type { Scenario, ScheduleResult } from "./schedule.js";

/** Schedules in the first blocks, and in every later one. */
const FIRST_BLOCKS = [1, 7, 8, 16, 32, 64, 128] as const;
const BLOCK = 256;

/**
 * The sizes of the blocks of an exploration. What strategies know of earlier schedules changes only between two blocks, so the
 * schedules of one block do not depend on each other.
 */
function* blocks(): Generator<number, never> {
  yield* FIRST_BLOCKS;
  for (;;) yield BLOCK;
}

export class Explorer {
  private readonly plan: ExplorePlan;
  private readonly runs: Runs;
  private readonly findings: Findings;
  private readonly seen = new Fingerprints();

  constructor(scenario: Scenario, plan: ExplorePlan) {
    this.plan = plan;
    this.runs = new Runs(scenario, plan);
    this.findings = new Findings(plan.strategy.name, plan.sometimes);
  }

  async explore(): Promise<Exploration> {
    const { findings, plan } = this;
    await this.runKept();
    const ended = await this.search().catch((error: unknown) => {
      if (error instanceof ScheduleFailedError) plan.kept?.add(error.token);
      throw error;
    });
    if (findings.unreached.length > 0) throw new NeverReachedError(findings.unreached, findings.schedules);
    return findings.summary(ended, plan.kept?.outdated);
  }

  /** Runs the schedules that failed in earlier explorations. */
  private async runKept(): Promise<void> {
    const { kept } = this.plan;
    if (kept === undefined) return;
    try {
      for (const token of kept.tokens()) {
        this.plan.signal?.throwIfAborted();
        await this.play(token, KEPT).catch((error: unknown) => {
          if (!(error instanceof ReplayOutdatedError)) throw error;
          kept.drop(token, error);
        });
      }
    } finally {
      kept.warn();
    }
  }

  async replay(token: string): Promise<Exploration> {
    await this.play(token, "replay");
    return this.findings.summary("schedules");
  }

  /** Runs the schedule of a token, and counts it. @throws ScheduleFailedError; ReplayOutdatedError */
  private async play(token: string, by: string): Promise<void> {
    const { runs, findings, plan } = this;
    const { choices, sizes, scenario } = decodeToken(token);
    if (scenario !== scenarioHash(plan.title)) throw new ReplayOutdatedError(-1, plan.title, 0, 0);
    const recorder = new Recorder();
    const result = await runs.under(new Script(choices, sizes), { recorder });
    findings.count(result, by);
    if (result.failure !== undefined)
      throw failed(runs, result, recorder, {
        schedule: findings.schedules,
        strategy: by,
        steps: result.steps,
        tried: 0,
        others: [],
      });
  }

  async one(choices: readonly number[]): Promise<Exploration> {
    const result = await this.runs.of(choices);
    await this.counted(result, "simulate");
    return this.findings.summary("schedules");
  }

  private async search(): Promise<ExplorationEnd> {
    const { schedules, budgetMs, plateau, signal } = this.plan;
    const { findings } = this;
    const deadline = host.now() + budgetMs;
    const sizes = blocks();
    let [history, left] = [findings.history, sizes.next().value];
    for (let index = 0; index < schedules; index++, left--) {
      signal?.throwIfAborted();
      if (index > 0 && host.now() > deadline) return "time";
      if (left === 0) [history, left] = [findings.history, sizes.next().value];
      const chooser = this.chooser(index, history);
      if (chooser === undefined) return "complete";
      const observe = this.plan.strategy.observes === true && chooser.ran !== undefined;
      const result = await this.runs.under(chooser, { seen: this.seen, observe });
      await this.counted(result, chooser.by ?? this.plan.strategy.name);
      if (this.isRechecked(index) && !result.redundant) await this.recheck(result);
      if (findings.schedules - findings.lastNew >= plateau) return "plateau";
    }
    return "schedules";
  }

  /** The chooser of a schedule; undefined when the search is complete. */
  private chooser(index: number, history: SearchHistory): Chooser | undefined {
    const { strategy, seed } = this.plan;
    if (strategy.enumerates === true) return strategy.begin(index, new Random(seed, index), history);
    return index === 0 ? ORDINARY : strategy.begin(index - 1, new Random(seed, index), history);
  }

  private async counted(result: ScheduleResult, by: string): Promise<void> {
    this.findings.count(result, by);
    if (result.failure !== undefined) throw await failureOf(this.runs, result, this.findings.schedules);
  }

  private isRechecked(index: number): boolean {
    const { recheck } = this.plan;
    return recheck > 0 && index % recheck === 0;
  }

  /** Runs a schedule again: the result must be the same. */
  private async recheck(result: ScheduleResult): Promise<void> {
    const second = await this.runs.of(result.choices);
    if (!alike(result, second)) throw await divergence(this.runs, result, second);
  }
}
