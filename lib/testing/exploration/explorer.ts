// The search: one schedule after another, until one fails or there is nothing left to do.

import { Fingerprints } from "../kit/fingerprints.js";
import { NeverReachedError, ReplayOutdatedError, UnmatchedRuleError } from "../report/errors.js";
import { ScheduleFailedError } from "../report/failure.js";
import { decodeToken, scenarioHash } from "../report/token.js";
import { host } from "../simulator/host.js";
import { Script } from "../simulator/oracle.js";
import { Recorder } from "../simulator/recorder.js";
import { Crew } from "./crew.js";
import { divergence, failed, failureOf } from "./failing.js";
import { type Exploration, type ExplorationEnd, Findings, KEPT } from "./findings.js";
import type { ExplorePlan } from "./options.js";
import { Runs } from "./runs.js";
import type { Scenario } from "./schedule.js";
import { runShare, type ScheduleOutcome } from "./share.js";

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
  readonly #plan: ExplorePlan;
  readonly #runs: Runs;
  readonly #findings: Findings;
  readonly #seen = new Fingerprints();

  constructor(scenario: Scenario, plan: ExplorePlan) {
    this.#plan = plan;
    this.#runs = new Runs(scenario, plan);
    this.#findings = new Findings(plan.strategy, plan.sometimes);
  }

  async explore(): Promise<Exploration> {
    const plan = this.#plan;
    const findings = this.#findings;
    await this.#runKept();
    const ended = await this.#search().catch((error: unknown) => {
      if (error instanceof ScheduleFailedError) plan.kept?.add(error.token);
      throw error;
    });
    if (findings.idleRules.length > 0)
      throw new UnmatchedRuleError(findings.idleRules, [...findings.paths], findings.schedules);
    if (findings.unreached.length > 0) throw new NeverReachedError(findings.unreached, findings.schedules);
    return findings.summary(ended, plan.kept?.outdated);
  }

  /** Runs the schedules that failed in earlier explorations. */
  async #runKept(): Promise<void> {
    const { kept } = this.#plan;
    if (kept === undefined) return;
    try {
      for (const token of kept.tokens()) {
        this.#plan.signal?.throwIfAborted();
        await this.#play(token, KEPT).catch((error: unknown) => {
          if (!(error instanceof ReplayOutdatedError)) throw error;
          kept.drop(token, error);
        });
      }
    } finally {
      kept.warn();
    }
  }

  async replay(token: string): Promise<Exploration> {
    await this.#play(token, "replay");
    return this.#findings.summary("schedules");
  }

  /** Runs the schedule of a token, and counts it. @throws ScheduleFailedError; ReplayOutdatedError */
  async #play(token: string, by: string): Promise<void> {
    const plan = this.#plan;
    const runs = this.#runs;
    const findings = this.#findings;
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
    const result = await this.#runs.of(choices);
    const failed = result.failure !== undefined;
    await this.#counted({ index: 0, by: "simulate", result, failed, second: undefined });
    return this.#findings.summary("schedules");
  }

  async #search(): Promise<ExplorationEnd> {
    const { crew: plan, signal } = this.#plan;
    if (plan === undefined) return this.#searchBlocks(undefined);
    const crew = new Crew(plan, signal);
    try {
      return await this.#searchBlocks(crew);
    } finally {
      await crew.end();
    }
  }

  async #searchBlocks(crew: Crew | undefined): Promise<ExplorationEnd> {
    const { schedules, budgetMs, plateau, signal } = this.#plan;
    const findings = this.#findings;
    const deadline = host.now() + budgetMs;
    let index = 0;
    for (const size of blocks()) {
      signal?.throwIfAborted();
      const block = {
        first: index,
        last: Math.min(schedules, index + size),
        history: findings.history,
        budgetMs: deadline - host.now(),
      };
      const outcomes =
        crew === undefined
          ? runShare(this.#runs, { ...block, seen: this.#seen, deadline })
          : await crew.run(block);
      for await (const outcome of outcomes) {
        // A thread whose time was over has left gaps behind it.
        if (outcome.index !== index) return "time";
        await this.#counted(crew === undefined ? outcome : this.#merged(outcome));
        index++;
        signal?.throwIfAborted();
        if (findings.schedules - findings.lastNew >= plateau) return "plateau";
        if (host.now() > deadline && index < schedules && crew === undefined) return "time";
      }
      if (index === schedules) return "schedules";
      if (host.now() > deadline) return "time";
      if (index < block.last) return "complete";
    }
    return "schedules";
  }

  /** An outcome of another thread, which does not know what the others have seen. */
  #merged(outcome: ScheduleOutcome): ScheduleOutcome {
    const fresh = outcome.result.fresh.filter((state) => this.#seen.add(state));
    return { ...outcome, result: { ...outcome.result, fresh } };
  }

  async #counted({ result, by, failed, second }: ScheduleOutcome): Promise<void> {
    const runs = this.#runs;
    const findings = this.#findings;
    findings.count(result, by);
    if (second !== undefined) throw await divergence(runs, result, second);
    if (!failed) return;
    // The failure of another thread stays there.
    const here = result.failure === undefined ? await runs.of(result.choices) : result;
    throw here.failure === undefined
      ? await divergence(runs, result, here)
      : await failureOf(runs, here, findings.schedules);
  }
}
