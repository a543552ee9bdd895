// A system on a clock that the test moves, and the components of most tests here: a source that emits what the test
// puts in, a bolt that notes what it is given, and one that settles its tuples when the test says so.

import { type Pid, System, type SystemOptions } from "signalbox";
import { type TestClock, testClock } from "signalbox/testing";
import {
  type BoltContext,
  type BoltDefinition,
  bolt,
  type DeadStream,
  type Failure,
  field,
  type RunOptions,
  type SpoutContext,
  type SpoutDefinition,
  spout,
  type Topology,
  type TopologyRef,
  type Tuple,
} from "signalbox/topology";

export const N: { readonly n: typeof field.number } = { n: field.number };
export type N = typeof N;
type Numbers = { readonly numbers: N };

/** A system in virtual time. What crashes in it is told to the test, not printed. */
export class Stage {
  readonly clock: TestClock = testClock();
  readonly reports: string[] = [];
  readonly system: System;

  constructor(options: Pick<SystemOptions, "context"> = {}) {
    this.system = new System({
      ...options,
      name: "stage",
      environment: this.clock.environment,
      report: (text) => this.reports.push(text),
    });
  }

  /** Starts a topology and lets it run until it waits for something. */
  async start(topology: Topology, options?: RunOptions): Promise<TopologyRef> {
    const running = await this.system.start(topology, options);
    await this.clock.settle();
    return running;
  }

  settle(): Promise<void> {
    return this.clock.settle();
  }

  advance(ms: number): Promise<void> {
    return this.clock.advance(ms);
  }

  until<T>(promise: Promise<T>): Promise<T> {
    return this.clock.until(promise);
  }

  /** Kills a task of a component; what follows at once has happened when this resolves. */
  async kill(running: TopologyRef, component: string, index = 0): Promise<void> {
    this.strike(running, component, index);
    await this.settle();
  }

  /** Kills a task, and lets nothing run yet. */
  strike(running: TopologyRef, component: string, index = 0): void {
    const pid = running.tasks(component)[index]?.pid;
    if (pid === undefined) throw new Error(`${component} has no task ${index} that runs`);
    this.system.exit(pid as Pid<never>, "kill");
  }

  private sleeper: Pid<{ readonly ms: number; readonly wake: () => void }> | undefined = undefined;

  /** Resolves so many virtual milliseconds later: the work of an asynchronous `execute`. */
  sleep(ms: number): Promise<void> {
    this.sleeper ??= this.system.spawn<{ readonly ms: number; readonly wake: () => void }>({
      handle: (ctx, one) => void ctx.runAfter(one.ms, one.wake),
    });
    const sleeper = this.sleeper;
    return new Promise((wake) => this.system.send(sleeper, { ms, wake }));
  }

  /** The first process of this label: for those that no handle knows. */
  processOf(label: string): Pid<never> {
    const found = this.system.processes().find((pid) => pid.label === label);
    if (found === undefined) throw new Error(`no process is called ${label}`);
    return found as Pid<never>;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.clock.until(this.system.stop());
  }
}

/** Pids of all tasks but those of these components. */
export function pidsOf(running: TopologyRef, ...except: readonly string[]): readonly (Pid | undefined)[] {
  return running
    .tasks()
    .filter(({ component }) => !except.includes(component))
    .map(({ pid }) => pid);
}

/** How a number of a source ended. */
export type Outcome = readonly [n: number, outcome: "acked" | Failure["type"], attempts?: number];

/** A spout that emits the numbers it is given, each with itself as its id. They outlive its tasks. */
export class Source {
  readonly outcomes: Outcome[] = [];
  readonly failures: Failure[] = [];
  readonly spout: SpoutDefinition<Numbers & DeadStream>;
  /** Calls of `next`. */
  asked = 0;
  private readonly queue: number[];
  private readonly awake = new Set<() => void>();

  constructor(
    numbers: readonly number[] = [],
    reliable = true,
    each?: (n: number, ctx: SpoutContext<Numbers, undefined, number>) => void,
  ) {
    this.queue = [...numbers];
    this.spout = spout<Numbers, undefined, number>({
      streams: { numbers: N },
      next: (ctx) => {
        this.asked++;
        this.awake.add(ctx.wake);
        const n = this.queue.shift();
        if (n === undefined) return;
        if (each !== undefined) each(n, ctx);
        else ctx.emit.numbers({ n }, reliable ? { id: n } : {});
      },
      ack: (n) => void this.outcomes.push([n, "acked"]),
      fail: (n, _ctx, failure) => {
        this.outcomes.push([n, failure.type, failure.attempts]);
        this.failures.push(failure);
      },
    });
  }

  put(...numbers: readonly number[]): void {
    this.queue.push(...numbers);
    for (const wake of this.awake) wake();
  }

  /** Numbers it was not asked for yet. */
  get left(): number {
    return this.queue.length;
  }

  /** The numbers that were acked, in order. */
  get acked(): readonly number[] {
    return this.outcomes.filter(([, outcome]) => outcome === "acked").map(([n]) => n);
  }
}

/** A bolt that notes the numbers that it acks, all its tasks together. */
export class Sink {
  readonly seen: number[] = [];
  /** The numbers by the index of the task that was given them. */
  readonly byTask: number[][] = [];
  readonly bolt: BoltDefinition<{ readonly "*": N }, Record<never, never>>;

  constructor(each?: (n: number) => unknown) {
    this.bolt = bolt({
      input: N,
      execute: ({ values: { n } }, { index }) => {
        this.seen.push(n);
        let own = this.byTask[index];
        if (own === undefined) this.byTask[index] = own = [];
        own.push(n);
        return each?.(n);
      },
    });
  }
}

export interface Held {
  readonly n: number;
  /** The task that has it, by its index. */
  readonly index: number;
  readonly tuple: Tuple<{ readonly n: number }>;
  ack(): void;
  fail(): void;
  /** Emits it again, anchored to this one. */
  pass(n?: number): void;
}

/** A bolt of mode `manual`: the test settles what it holds. */
export class Keeper {
  /** All that it was given, in order. */
  readonly got: Held[] = [];
  readonly bolt: BoltDefinition<{ readonly "*": N }, { readonly passed: N }>;

  constructor() {
    this.bolt = bolt({
      input: N,
      streams: { passed: N },
      mode: "manual",
      execute: (tuple, ctx: BoltContext<{ readonly passed: N }, undefined>) => {
        this.got.push({
          n: tuple.values.n,
          index: ctx.index,
          tuple,
          ack: () => ctx.ack(tuple),
          fail: () => ctx.fail(tuple),
          pass: (n = tuple.values.n) => ctx.emit.passed({ n }, { anchors: tuple }),
        });
      },
    });
  }

  get numbers(): readonly number[] {
    return this.got.map(({ n }) => n);
  }

  /** The one it was given last. */
  get last(): Held {
    const last = this.got.at(-1);
    if (last === undefined) throw new Error("nothing has come yet");
    return last;
  }
}

/** The whole numbers from 1. */
export function upTo(last: number): number[] {
  return Array.from({ length: last }, (_, i) => i + 1);
}
