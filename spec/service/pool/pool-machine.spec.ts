// What holds of a pool whatever happens to its jobs and workers, in whatever order; and who goes first.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Config,
  countsOf,
  decide,
  type Effect,
  type Event,
  initial,
  type State,
  type Terms,
} from "../../../lib/service/pool/pool-machine.js";

interface Job extends Terms {
  readonly id: number;
}
type Fx = Effect<Job>;

const BROKEN = { type: "crash", error: new Error("broken") } as const;
const DEFAULTS: Config = {
  size: 2,
  minSize: 2,
  concurrency: 1,
  maxQueue: 100,
  maxJobs: Number.POSITIVE_INFINITY,
  drain: "running",
  intensity: 3,
  periodMs: 5_000,
  backoff: undefined,
};

/** A pool with what its process would keep: which jobs run where, and how each has ended. */
class Pool {
  readonly config: Config;
  state: State<Job>;
  readonly fates = new Map<Job, string>();
  readonly submitted: Job[] = [];
  readonly withdrawn = new Set<Job>();
  readonly posted = new Map<Job, number[]>();
  readonly running = new Map<Job, number>();
  /** Workers by what they were told last. */
  readonly workers = new Map<number, "start" | "up" | "end" | "kill">();
  readonly over: string[] = [];

  constructor(config: Partial<Config> = {}) {
    this.config = { ...DEFAULTS, ...config };
    this.state = initial(this.config);
    this.tell({ type: "boot" });
  }

  static running(config: Partial<Config> = {}): Pool {
    const pool = new Pool(config);
    for (const worker of [...pool.workers.keys()]) pool.tell({ type: "started", worker });
    return pool;
  }

  job(terms: Partial<Terms> = {}): Job {
    const job: Job = {
      id: this.submitted.length + 1,
      maxAttempts: 1,
      killOnAbort: false,
      whenFull: "reject",
      ...terms,
    };
    this.submitted.push(job);
    return job;
  }

  submit(terms: Partial<Terms> = {}): Job {
    const job = this.job(terms);
    this.tell({ type: "submit", job });
    return job;
  }

  answer(job: Job, worn = false): readonly Fx[] {
    const worker = this.running.get(job) as number;
    this.running.delete(job);
    this.fates.set(job, "answered");
    return this.tell({ type: "answered", worker, job, worn });
  }

  exit(worker: number, at = 0): readonly Fx[] {
    this.workers.delete(worker);
    return this.tell({ type: "exited", worker, reason: BROKEN, at });
  }

  tell(event: Event<Job>): readonly Fx[] {
    if (event.type === "started") this.workers.set(event.worker, "up");
    if (event.type === "withdraw") this.withdrawn.add(event.job);
    const [state, effects] = decide(this.state, event);
    this.state = state;
    for (const effect of effects) this.perform(effect);
    return effects;
  }

  private perform(effect: Fx): void {
    switch (effect.type) {
      case "start":
        this.workers.set(effect.worker, "start");
        break;
      case "kill":
      case "end":
        this.workers.set(effect.worker, effect.type);
        break;
      case "post":
        if (this.fates.has(effect.job)) throw new Error("a job that is over is posted");
        if (this.workers.get(effect.worker) !== "up") throw new Error("posted to a worker that is not up");
        this.running.set(effect.job, effect.worker);
        this.posted.set(effect.job, [...(this.posted.get(effect.job) ?? []), effect.worker]);
        break;
      case "release":
        if (!this.running.delete(effect.job)) throw new Error("released without a run");
        break;
      case "refuse":
      case "fail":
        if (this.fates.has(effect.job)) throw new Error("a job ends twice");
        this.fates.set(effect.job, effect.type === "refuse" ? effect.why : `lost: ${effect.why}`);
        this.running.delete(effect.job);
        break;
      case "stopped":
      case "give-up":
        this.over.push(effect.type);
        break;
      default:
        break;
    }
  }

  get load(): number[] {
    const load = new Map<number, number>();
    for (const worker of this.running.values()) load.set(worker, (load.get(worker) ?? 0) + 1);
    return [...load.values()];
  }
}

const config = fc.record({
  size: fc.integer({ min: 1, max: 3 }),
  minSize: fc.nat({ max: 3 }),
  concurrency: fc.integer({ min: 1, max: 2 }),
  maxQueue: fc.nat({ max: 3 }),
  maxJobs: fc.constantFrom(1, 2, Number.POSITIVE_INFINITY),
  drain: fc.constantFrom("running" as const, "all" as const),
  intensity: fc.nat({ max: 4 }),
});
const terms = fc.record({
  maxAttempts: fc.integer({ min: 1, max: 3 }),
  killOnAbort: fc.boolean(),
  whenFull: fc.constantFrom("reject" as const, "wait" as const),
});
const what = fc.constantFrom(
  ...(["submit", "submit", "submit", "answer", "answer", "start", "start", "withdraw"] as const),
  ...(["deadline", "exit", "idle", "wear"] as const),
);
const moves = fc.array(fc.record({ what, pick: fc.nat({ max: 99 }), terms }), { maxLength: 60 });

/** Does one thing that can happen now. */
function move(pool: Pool, { what, pick, terms }: { what: string; pick: number; terms: Terms }): void {
  const one = <T>(of: Iterable<T>): T | undefined => {
    const all = [...of];
    return all[pick % Math.max(1, all.length)];
  };
  const worker = (...told: string[]): number | undefined =>
    one([...pool.workers].flatMap(([id, last]) => (told.includes(last) ? [id] : [])));
  const job = one(pool.running.keys());
  const waiting = one(pool.submitted.filter((each) => !pool.fates.has(each) && !pool.withdrawn.has(each)));
  if (what === "submit") pool.submit(terms);
  else if ((what === "answer" || what === "wear") && job !== undefined) pool.answer(job, what === "wear");
  else if (what === "deadline" && job !== undefined) pool.tell({ type: "deadline", job });
  else if (what === "withdraw" && waiting !== undefined) pool.tell({ type: "withdraw", job: waiting });
  else {
    const kinds = what === "start" ? ["start"] : what === "idle" ? ["up"] : ["start", "up", "end", "kill"];
    const id = worker(...kinds);
    if (id === undefined) return;
    if (what === "start") pool.tell({ type: "started", worker: id });
    else if (what === "idle") pool.tell({ type: "idle", worker: id });
    else if (what === "exit") pool.exit(id, pick * 100);
  }
}

function check(pool: Pool): void {
  const { size, concurrency, maxQueue } = pool.config;
  if (pool.over.length > 0) return;
  const counts = countsOf(pool.state);
  expect(pool.workers.size).toBeLessThanOrEqual(size);
  expect(counts.workers).toBe(pool.workers.size);
  for (const jobs of pool.load) expect(jobs).toBeLessThanOrEqual(concurrency);
  for (const [job, workers] of pool.posted) expect(workers.length).toBeLessThanOrEqual(job.maxAttempts);
  const open = pool.submitted.filter((job) => !pool.fates.has(job) && !pool.withdrawn.has(job));
  const patient = open.some((job) => job.whenFull === "wait" || job.maxAttempts > 1);
  if (!patient) expect(counts.queued).toBeLessThanOrEqual(maxQueue + size * concurrency);
  // Nobody waits while a worker is free.
  const free = [...pool.state.workers.values()].some(
    ({ phase, jobs, done }) =>
      phase === "ready" && jobs.size < Math.min(concurrency, pool.config.maxJobs - done),
  );
  if (counts.queued > 0 && pool.state.phase !== "booting") expect(free).toBe(false);
}

describe("a pool, whatever happens", () => {
  it("keeps its bounds, and ends every job once [W1]", () => {
    fc.assert(
      fc.property(config, moves, (options, all) => {
        const pool = new Pool({ ...options, minSize: Math.min(options.minSize, options.size) });
        for (const one of all) {
          move(pool, one);
          check(pool);
        }
      }),
      { numRuns: 500 },
    );
  });

  it("leaves no job without an end: a stop ends all that are left, and all workers [W2]", () => {
    fc.assert(
      fc.property(config, moves, fc.boolean(), (options, all, killed) => {
        const pool = new Pool({ ...options, minSize: Math.min(options.minSize, options.size) });
        for (const one of all) move(pool, one);
        pool.tell({ type: "stop" });
        for (let n = 0; n < 1_000 && pool.over.length === 0; n++) {
          const [job] = pool.running.keys();
          const [worker, told] = [...pool.workers].find(([, last]) => last !== "up") ?? [];
          if (worker !== undefined && told === "start") pool.tell({ type: "started", worker });
          else if (worker !== undefined) pool.exit(worker);
          else if (job !== undefined && killed) pool.tell({ type: "deadline", job });
          else if (job !== undefined) pool.answer(job);
        }
        expect(pool.over).toHaveLength(1);
        for (const job of pool.submitted)
          expect(pool.fates.has(job) || pool.withdrawn.has(job), `job ${job.id}`).toBe(true);
        if (pool.over[0] === "stopped") expect(pool.workers.size).toBe(0);
      }),
      { numRuns: 500 },
    );
  });
});

describe("a job", () => {
  it("runs at once if a worker is free, else in the order of arrival", () => {
    const pool = Pool.running({ size: 1, minSize: 1 });
    const [first, second, third] = [pool.submit(), pool.submit(), pool.submit()];
    expect([...pool.running.keys()]).toEqual([first]);
    pool.answer(first);
    expect([...pool.running.keys()]).toEqual([second]);
    pool.answer(second);
    expect([...pool.running.keys()]).toEqual([third]);
  });

  it("is refused when the queue is full, unless it waits for a place", () => {
    const pool = Pool.running({ size: 1, minSize: 1, maxQueue: 1 });
    pool.submit();
    pool.submit();
    expect(pool.fates.get(pool.submit())).toBe("full");
    const patient = pool.submit({ whenFull: "wait" });
    expect(pool.fates.has(patient)).toBe(false);
    expect(countsOf(pool.state)).toMatchObject({ queued: 2, room: 0, demand: 0 });
  });

  it("that lost its worker runs again before those that wait, as often as it may", () => {
    const pool = Pool.running({ size: 1, minSize: 1 });
    const job = pool.submit({ maxAttempts: 2 });
    const waiting = pool.submit();
    pool.tell({ type: "deadline", job });
    pool.exit(1);
    pool.tell({ type: "started", worker: 2 });
    expect([...pool.running.keys()]).toEqual([job]);
    pool.exit(2);
    expect(pool.fates.get(job)).toBe("lost: exited");
    pool.tell({ type: "started", worker: 3 });
    expect([...pool.running.keys()]).toEqual([waiting]);
  });

  it("that was withdrawn keeps its worker until it ends, or has it killed", () => {
    const pool = Pool.running({ size: 2, minSize: 2 });
    const [mild, harsh] = [pool.submit(), pool.submit({ killOnAbort: true })];
    expect(pool.tell({ type: "withdraw", job: mild })).toEqual([{ type: "abort", worker: 1, job: mild }]);
    expect(pool.tell({ type: "withdraw", job: harsh })).toEqual([{ type: "kill", worker: 2 }]);
  });
});

describe("the workers", () => {
  it("are as many as jobs need, and as few as are kept", () => {
    const pool = Pool.running({ size: 3, minSize: 0 });
    expect(pool.workers.size).toBe(1);
    const [first, second] = [pool.submit(), pool.submit()];
    expect(pool.workers.size).toBe(2);
    pool.answer(first);
    expect([...pool.running]).toEqual([[second, 1]]);
    pool.tell({ type: "started", worker: 2 });
    pool.tell({ type: "idle", worker: 2 });
    expect(pool.workers.get(2)).toBe("end");
    pool.tell({ type: "idle", worker: 1 });
    expect(pool.workers.get(1)).toBe("up");
  });

  it("are replaced after so many jobs, or when one is worn", () => {
    const pool = Pool.running({ size: 1, minSize: 1, maxJobs: 2 });
    pool.answer(pool.submit());
    expect(pool.workers.get(1)).toBe("up");
    pool.answer(pool.submit());
    expect(pool.workers.get(1)).toBe("end");
    pool.exit(1);
    pool.tell({ type: "started", worker: 2 });
    pool.answer(pool.submit(), true);
    expect(pool.workers.get(2)).toBe("end");
  });

  it("that end without a job to blame count against the intensity; those that end under a job do not", () => {
    const pool = Pool.running({ size: 1, minSize: 1, intensity: 1 });
    for (let worker = 1; worker <= 5; worker++) {
      pool.submit();
      pool.exit(worker);
      pool.tell({ type: "started", worker: worker + 1 });
    }
    expect(pool.over).toEqual([]);
    pool.exit(6);
    pool.exit(7);
    expect(pool.over).toEqual(["give-up"]);
  });

  it("are not started again while the pool starts: the first one that fails ends it", () => {
    const pool = new Pool({ size: 2 });
    const job = pool.submit();
    pool.tell({ type: "started", worker: 2 });
    pool.answer(job);
    pool.exit(2);
    expect([...pool.workers.keys()]).toEqual([1, 3]);
    pool.submit();
    const last = pool.submit();
    pool.exit(1);
    expect(pool.over).toEqual(["give-up"]);
    expect(pool.fates.get(last)).toBe("lost: exited");
  });
});

describe("a stop", () => {
  it("refuses the jobs that wait and lets those that run end, or runs all", () => {
    for (const drain of ["running", "all"] as const) {
      const pool = Pool.running({ size: 1, minSize: 1, drain });
      const [first, second] = [pool.submit(), pool.submit()];
      pool.tell({ type: "stop" });
      expect(pool.fates.get(second)).toBe(drain === "running" ? "stopping" : undefined);
      expect(pool.fates.get(pool.submit())).toBe("stopping");
      pool.answer(first);
      if (drain === "all") pool.answer(second);
      expect(pool.workers.get(1)).toBe("end");
      pool.exit(1);
      expect(pool.over).toEqual(["stopped"]);
    }
  });
});
