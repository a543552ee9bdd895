// An exploration on several cores: each thread runs every n-th schedule of a block. The explorer counts the outcomes in the order of
// the schedules, so that the result is the same as on one core.

import { ThreadError } from "../report/errors.js";
import { host, type SimulatorThread } from "../simulator/host.js";
import type { CrewPlan } from "./crew-plan.js";
import type { ScheduleOutcome } from "./share.js";
import { type Block, THREAD, type ThreadReport, type Work } from "./thread.js";

/** A thread that is silent for so long hangs. It gives a sign of life between two schedules, once a second. */
const SILENCE_MS = 60_000;

export class Crew {
  readonly #threads: readonly SimulatorThread[];
  /** Rejects when a thread fails or the exploration is aborted. */
  readonly #broken: Promise<never>;
  #fail: (error: unknown) => void = () => undefined;
  readonly #waiting = new Map<number, (outcomes: readonly ScheduleOutcome[]) => void>();
  /** For each thread that works, stops waiting for a sign of life. */
  readonly #watches = new Map<number, () => void>();
  readonly #signal: AbortSignal | undefined;
  readonly #aborted = (): void => this.#fail(this.#signal?.reason);

  constructor({ threads, ...work }: CrewPlan, signal: AbortSignal | undefined) {
    this.#broken = new Promise<never>((_, reject) => {
      this.#fail = reject;
    });
    // Handled where a block runs; between two blocks nothing awaits it, so it must not count as unhandled.
    this.#broken.catch(() => undefined);
    this.#signal = signal;
    signal?.addEventListener("abort", this.#aborted);
    this.#threads = Array.from({ length: threads }, (_, thread) =>
      host.thread(THREAD, { ...work, thread, threads } satisfies Work, {
        said: (report) => this.#said(thread, report as ThreadReport),
        ended: (why) => this.#fail(new ThreadError(why)),
      }),
    );
  }

  /** Runs the schedules of a block. Resolves with their outcomes in order: all up to the first failing one, if time suffices. */
  async run(block: Block): Promise<readonly ScheduleOutcome[]> {
    const shares = this.#threads.map(
      (thread, number) =>
        new Promise<readonly ScheduleOutcome[]>((resolve) => {
          this.#waiting.set(number, resolve);
          this.#watch(number);
          thread.tell(block);
        }),
    );
    const outcomes = (await Promise.race([Promise.all(shares), this.#broken])).flat();
    return outcomes.sort((a, b) => a.index - b.index);
  }

  /** Ends all threads. */
  async end(): Promise<void> {
    this.#signal?.removeEventListener("abort", this.#aborted);
    for (const unwatch of this.#watches.values()) unwatch();
    await Promise.all(this.#threads.map((thread) => thread.end()));
  }

  #said(thread: number, report: ThreadReport): void {
    this.#watches.get(thread)?.();
    if (report.type === "failed") this.#fail(new ThreadError(report.why));
    else if (report.type === "alive") this.#watch(thread);
    else this.#waiting.get(thread)?.(report.outcomes);
  }

  #watch(thread: number): void {
    const hangs = (): void => this.#fail(new ThreadError(`it has been silent for ${SILENCE_MS} ms`));
    this.#watches.set(thread, host.after(SILENCE_MS, hangs));
  }
}
