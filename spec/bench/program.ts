// A benchmark program: a piece of work that counts what it did, and is timed only if the count is right.

import { System, type SystemOptions } from "signalbox";

/** What one run of a program gave. */
export interface Run {
  /** What the program counted or summed up, as it happened. */
  readonly counted: number;
  /** Figures that the program took itself; without them the run's time is turned into a rate. */
  readonly figures?: Figures;
  /** Ends what still runs, outside the time taken. */
  end?(): Promise<void>;
}

/**
 * Named figures of a run: `perSecond`, `bytes`, `ns`, `cpuMs`, `ms`, `times`, `medianUs`, `p99Us`; and, where the figure is a speed, the same by the
 * time of the processor: `perCpuSecond`, `cpuNs`. All threads of the process count, the collector's too.
 */
export type Figures = Readonly<Record<string, number>>;

export interface Program {
  /** Operations in one run, for the rate. */
  readonly operations: number;
  /** What a right run counts. */
  readonly expected: number;
  /** One run is enough, and needs no warm-up: the figure is no time. */
  readonly once?: boolean;
  run(): Promise<Run>;
}

/** A program did something else than it should: its speed would mean nothing. */
export class WrongCountError extends Error {
  readonly code = "BENCH_WRONG_COUNT";
  constructor(counted: number, expected: number) {
    super(`the program counted ${counted} instead of ${expected}`);
  }
}

/** Runs a program once. @throws WrongCountError */
export async function runOnce(program: Program): Promise<Figures> {
  const watch = new Stopwatch();
  const run = await program.run();
  const { wallMs, cpuMs } = watch.read();
  await run.end?.();
  if (run.counted !== program.expected) throw new WrongCountError(run.counted, program.expected);
  const { operations } = program;
  return (
    run.figures ?? { perSecond: (operations * 1_000) / wallMs, perCpuSecond: (operations * 1_000) / cpuMs }
  );
}

/** Reads the clock on the wall and the time that this process has had of the processors. */
export class Stopwatch {
  readonly #started = performance.now();
  readonly #used = process.cpuUsage();

  read(): { readonly wallMs: number; readonly cpuMs: number } {
    const { user, system } = process.cpuUsage(this.#used);
    return { wallMs: performance.now() - this.#started, cpuMs: (user + system) / 1_000 };
  }
}

/** Runs until V8 has compiled what is hot: OTP compiles all of it before it starts. */
const WARM_UP = 5;

/** Runs a program `rounds` times after the warm-up, and gives the figures of each round. */
export async function runRounds(program: Program, rounds: number): Promise<Figures[]> {
  if (program.once) return [await runOnce(program)];
  const figures: Figures[] = [];
  for (let round = -WARM_UP; round < rounds; round++) {
    // Each run begins with an empty nursery: what the one before left there is not charged to it.
    (globalThis.gc as ((options: { readonly type: "minor" }) => void) | undefined)?.({ type: "minor" });
    const figure = await runOnce(program);
    if (round >= 0) figures.push(figure);
  }
  return figures;
}

/**
 * A program on a system of its own. A crash that nobody observes fails the run: a program that waits for the message
 * of a dead process would wait for ever.
 */
export function onSystem(
  operations: number,
  expected: number,
  work: (system: System, done: (counted: number) => void) => void,
  options?: SystemOptions,
): Program {
  return {
    operations,
    expected,
    run: async () => {
      const system = new System({ report: false, ...options });
      const counted = await new Promise<number>((resolve, reject) => {
        system.events.on("crash", ({ text }) => reject(new Error(text)));
        work(system, resolve);
      });
      return { counted, end: () => system.stop() };
    },
  };
}

/** The middle of the values; of two middles their mean. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? Number.NaN) + upper) / 2;
}
