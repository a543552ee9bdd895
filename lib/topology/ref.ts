// A running topology seen from outside: stop, pause, resume, scale, look at it.

import type { CallOptions, ReplyTo } from "../process/call.js";
import { NoProcessError, OptionError } from "../process/errors.js";
import type { Settler } from "../process/interception.js";
import type { Kernel } from "../process/kernel.js";
import { delay } from "../process/options.js";
import { Pid } from "../process/pid.js";
import { Director, type DirectorMessage, type StopReport } from "./director.js";
import type { Phase } from "./lifecycle.js";
import { componentMetrics, type TopologyMetrics } from "./metrics.js";
import { ACKERS, type Run } from "./run.js";
import { summary } from "./view.js";

/** A task of a running topology. */
export interface TaskInfo {
  readonly component: string;
  readonly task: number;
  /** Its process; undefined while it is being restarted. */
  readonly pid: Pid | undefined;
  /** Tuples in front of it. */
  readonly waiting: number;
  readonly restarts: number;
}

export interface StopOptions extends CallOptions {
  /** Milliseconds that what is under way gets; 0 for none. Default: `drain` of the configuration. */
  readonly drain?: number;
}

export interface WatchOptions {
  /** Milliseconds from one snapshot to the next. Default 1,000. */
  readonly every?: number;
  /** Ends the watch. */
  readonly signal?: AbortSignal;
}

/**
 * A handle of a running topology. Requests wait as long as they take unless a timeout is given, and reject with
 * CalleeExitedError when the topology ends meanwhile.
 */
export class TopologyRef {
  readonly name: string;
  readonly #kernel: Kernel;
  readonly #address: Pid<never> | string;
  /** The last one found: its figures can be read when it has ended. */
  #director: Director | undefined;

  /** @internal */
  constructor(kernel: Kernel, address: Pid<never> | string, name: string) {
    this.#kernel = kernel;
    this.#address = address;
    this.name = name;
    this.#find();
  }

  /** Its process. @throws NoProcessError when it was addressed by a name that nobody holds */
  get pid(): Pid<DirectorMessage> {
    const address = this.#address;
    if (address instanceof Pid) return address as Pid<never> as Pid<DirectorMessage>;
    return this.#kernel.locate(address).pid as Pid<unknown> as Pid<DirectorMessage>;
  }

  /** Where it is in its life. */
  get phase(): Phase {
    const { phase } = this.#find();
    return this.pid.process === undefined ? "ended" : phase;
  }

  /**
   * Stops it: the spouts first; then what is under way comes to its end, within the time to drain; then everything
   * else. What is not done by then has failed, and the spouts are told.
   */
  async stop(options: StopOptions = {}): Promise<StopReport> {
    const { drain: drainMs } = options;
    if (drainMs !== undefined) delay("drain", drainMs, 0, true);
    return this.#ask((replyTo) => ({ type: "stop", drainMs, replyTo }), options);
  }

  /**
   * Waits until every spout has said that there is no more to come, and all that came is done. Bolts that hold tuples
   * back are told to settle them. It goes on running: stop it then.
   */
  async finished(options?: CallOptions): Promise<void> {
    await this.#ask((replyTo) => ({ type: "finished", replyTo }), options);
  }

  /** Spouts are asked for nothing more; what is under way goes on. @throws TopologyPhaseError when it does not run */
  async pause(options?: CallOptions): Promise<void> {
    await this.#ask((replyTo) => ({ type: "pause", replyTo }), options);
  }

  /** Goes on after a pause. @throws TopologyPhaseError when it does not run */
  async resume(options?: CallOptions): Promise<void> {
    await this.#ask((replyTo) => ({ type: "resume", replyTo }), options);
  }

  /**
   * Brings a component to so many tasks. New ones get their share from now on; those that are taken out finish what
   * they have first.
   *
   * @throws OptionError, TopologyPhaseError when it does not run or is being scaled
   */
  async scale(component: string, tasks: number, options?: CallOptions): Promise<void> {
    await this.#ask((replyTo) => ({ type: "scale", component, tasks, replyTo }), options);
  }

  /** The tasks of a component, or of all. @throws OptionError */
  tasks(component?: string): readonly TaskInfo[] {
    const run = this.#run();
    if (component !== undefined && !run.components.some(({ name }) => name === component)) {
      const known = run.blueprint.components.map(({ name }) => name).join(", ");
      throw new OptionError("component", component, `one of ${known}`);
    }
    return run.components
      .filter(({ name }) => component === undefined || name === component)
      .flatMap((one) => run.slotsOf(one))
      .map(({ component: { name }, task, process, waiting, meter }) => ({
        component: name,
        task,
        pid: process?.pid,
        waiting,
        restarts: meter.restarts,
      }));
  }

  /** What its components have done and are doing, at this moment. Also after its end. */
  metrics(): TopologyMetrics {
    const run = this.#run();
    const now = run.kernel.env.now();
    return {
      name: this.name,
      phase: this.phase,
      uptimeMs: now - run.startedAt,
      components: run.components.map((component) => {
        const slots = run.slotsOf(component);
        for (const slot of slots) {
          slot.meter.pending = slot.pending;
          slot.meter.waiting = slot.waiting;
        }
        const { name, plan, executors } = component;
        const kind = name === ACKERS ? "acker" : plan.kind;
        return componentMetrics(
          { name, kind, tasks: component.slots.length, executors: executors.length },
          slots.map(({ meter }) => meter),
          now,
        );
      }),
    };
  }

  /** {@link TopologyRef.metrics} as a table for people. */
  summary(): string {
    return summary(this.metrics());
  }

  /**
   * Metrics again and again, at once and then every so often, until the topology has ended: the last are of its end.
   *
   * @example for await (const metrics of running.watch({ every: 500 })) console.log(summary(metrics));
   */
  async *watch({
    every = 1_000,
    signal,
  }: WatchOptions = {}): AsyncGenerator<TopologyMetrics, void, undefined> {
    delay("every", every, 1);
    for (;;) {
      signal?.throwIfAborted();
      const metrics = this.metrics();
      yield metrics;
      if (metrics.phase === "ended" || this.#kernel.stopped) return;
      await this.#sleep(every, signal);
    }
  }

  toString(): string {
    return `topology ${this.name} ${this.#address}`;
  }

  /** Stops it, draining, unless it has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.phase !== "ended") await this.stop();
  }

  #sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const ends: Settler = { resolve, reject };
      this.#kernel.interception?.gate(undefined, "a watch", ends);
      const onAbort = (): void => {
        this.#kernel.cancelTimer(timer);
        ends.reject?.(signal?.reason);
      };
      const timer = this.#kernel.addTimer(ms, {
        fire: () => {
          signal?.removeEventListener("abort", onAbort);
          ends.resolve?.(undefined as never);
        },
      });
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  #find(): Director {
    const address = this.#address;
    const process = address instanceof Pid ? address.process : this.#kernel.names.find(address)?.pid.process;
    if (process?.behaviour instanceof Director) this.#director = process.behaviour;
    if (this.#director === undefined) throw new NoProcessError(String(address), this.#kernel.node.name);
    return this.#director;
  }

  #run(): Run {
    return this.#find().run as Run;
  }

  #ask<R>(build: (replyTo: ReplyTo<R>) => DirectorMessage, options: CallOptions | undefined): Promise<R> {
    const { timeout = Number.POSITIVE_INFINITY, signal } = options ?? {};
    return this.#kernel.calls.call(undefined, this.pid, build, {
      timeout,
      ...(signal === undefined ? {} : { signal }),
    });
  }
}
