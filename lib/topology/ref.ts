// The handle of a running topology: stop, pause, resume, scale and inspect it.

import { unwatchAbort, watchAbort } from "../process/abort.js";
import { checkCallOptions } from "../process/calls.js";
import { CalleeExitedError, NoProcessError, OptionError } from "../process/errors.js";
import type { Settler } from "../process/interception.js";
import type { Kernel } from "../process/kernel.js";
import { only } from "../process/known-options.js";
import { delay } from "../process/options.js";
import { Pid } from "../process/pid.js";
import type { Process } from "../process/process.js";
import type { CallOptions, ReplyTo } from "../process/request.js";
import { TopologyPhaseError } from "./definition/errors.js";
import { Director, type DirectorMessage, type StopReport } from "./lifecycle/director.js";
import type { Phase } from "./lifecycle/lifecycle-machine.js";
import { SYSTEM } from "./runtime/acker-plan.js";
import type { MetricsWatchOptions, TopologyMetrics } from "./runtime/metrics.js";
import type { RunningTopology } from "./runtime/running-topology.js";
import { metricsOf, type TaskInfo, taskInfos } from "./runtime/task-info.js";
import { renderSummary } from "./views/view.js";

/** Options of {@link TopologyRef.stop}. */
export interface StopOptions extends CallOptions {
  /** How long the stop waits for tuples in flight; 0: not at all. Default: `drainMs` of the configuration. */
  readonly drainMs?: number;
}

/**
 * A handle of a running topology. `stop`, `finished`, `pause`, `resume` and `scale` are requests: without `timeoutMs` they
 * have no time limit, and they reject with CalleeExitedError when the topology ends before it has answered. `phase`,
 * `tasks`, `metrics` and `summary` read the state at once.
 */
export class TopologyRef {
  /** Name of the topology. */
  readonly name: string;
  readonly #kernel: Kernel;
  readonly #address: Pid<never> | string;
  /** The director that was found last. Its figures can be read after its end. */
  #director: Director | undefined;

  /** @internal */
  constructor(kernel: Kernel, address: Pid<never> | string, name: string) {
    this.#kernel = kernel;
    this.#address = address;
    this.name = name;
    this.#find();
  }

  /** The process of the topology. @throws NoProcessError when no process has the name that was given */
  get pid(): Pid<DirectorMessage> {
    const address = this.#address;
    if (address instanceof Pid) return address as Pid<never> as Pid<DirectorMessage>;
    return this.#kernel.locate(address).pid as Pid<unknown> as Pid<DirectorMessage>;
  }

  /** The phase of the topology's life. */
  get phase(): Phase {
    const { phase } = this.#find();
    return this.#process === undefined ? "ended" : phase;
  }

  /**
   * Stops the topology. The spouts stop first; then the topology drains: the bolts settle the tuples that are in flight;
   * then all tasks end. Reliable tuples that are not settled when the time to drain is over fail, and the `fail` of their
   * spouts is called. When the topology has ended before, the promise resolves with the report of that end.
   */
  async stop(options: StopOptions = {}): Promise<StopReport> {
    only("", options, ["drainMs", "timeoutMs", "signal", "withdraw"]);
    const { drainMs, ...call } = options;
    if (drainMs !== undefined) delay("drainMs", drainMs, 0, true);
    const director = this.#find();
    if (this.phase === "ended") return director.report;
    try {
      return await this.#ask((replyTo) => ({ type: "stop", drainMs, replyTo }), call);
    } catch (error) {
      // The topology has ended just before the request came.
      if (error instanceof CalleeExitedError && error.reason.type === "noproc") return director.report;
      throw error;
    }
  }

  /**
   * Waits until every spout has called `done` and every tuple is settled. Bolts that hold tuples are flushed. The topology
   * goes on running after that: stop it.
   */
  async finished(options?: CallOptions): Promise<void> {
    await this.#ask((replyTo) => ({ type: "finished", replyTo }), options);
  }

  /** Pauses the spouts. Tuples in flight are still worked on. @throws TopologyPhaseError when the topology does not run */
  async pause(options?: CallOptions): Promise<void> {
    this.#checkRunning("pause");
    await this.#ask((replyTo) => ({ type: "pause", replyTo }), options);
  }

  /** Goes on after a pause. @throws TopologyPhaseError when the topology does not run */
  async resume(options?: CallOptions): Promise<void> {
    this.#checkRunning("resume");
    await this.#ask((replyTo) => ({ type: "resume", replyTo }), options);
  }

  /**
   * Changes the number of a component's tasks. New tasks get their share of the tuples at once. Tasks that are taken out
   * finish their tuples first.
   *
   * @throws OptionError, TopologyPhaseError when the topology does not run or is being scaled
   */
  async scale(component: string, tasks: number, options?: CallOptions): Promise<void> {
    this.#checkRunning("scale");
    await this.#ask((replyTo) => ({ type: "scale", component, tasks, replyTo }), options);
  }

  /** The tasks of a component, or of all; the ackers are `__acker`, the system task is `__system`. @throws OptionError */
  tasks(component?: string): readonly TaskInfo[] {
    const run = this.#run();
    const names = [...run.registry.components.map(({ name }) => name), SYSTEM];
    if (component !== undefined && !names.includes(component))
      throw new OptionError("component", component, `one of ${names.join(", ")}`);
    return taskInfos(run).filter((task) => component === undefined || task.component === component);
  }

  /** The figures of all components at this moment. They can be read after the end, too. */
  metrics(): TopologyMetrics {
    const run = this.#run();
    const now = run.kernel.env.now();
    return {
      name: this.name,
      phase: this.phase,
      uptimeMs: now - run.startedAt,
      restarts: run.restarts,
      components: run.registry.components.map((component) => metricsOf(component, now)),
    };
  }

  /** {@link TopologyRef.metrics} as a table for people. */
  summary(): string {
    return renderSummary(this.metrics());
  }

  /**
   * Yields metrics at once and then once in every `everyMs`, until the topology has ended. The last are those of its end.
   *
   * @example for await (const metrics of running.watch({ everyMs: 500 })) console.log(renderSummary(metrics));
   */
  async *watch(options: MetricsWatchOptions = {}): AsyncGenerator<TopologyMetrics, void, undefined> {
    only("", options, ["everyMs", "signal"]);
    const { everyMs = 1_000, signal } = options;
    delay("everyMs", everyMs, 1);
    for (;;) {
      if (signal?.aborted) return;
      const metrics = this.metrics();
      yield metrics;
      if (metrics.phase === "ended" || this.#kernel.stopped) return;
      await this.#sleep(everyMs, signal);
    }
  }

  /** @internal The log's lines go there, and no more to the report, until this is called with undefined. */
  printAbove(print: ((text: string) => void) | undefined): void {
    this.#find().above.print = print;
  }

  /** The word `topology`, the name of the topology, and its pid or its registered name. */
  toString(): string {
    return `topology ${this.name} ${this.#address}`;
  }

  /** Stops the topology with a drain, unless it has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Waits until the time is over, the signal is aborted or the topology ends. */
  #sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const { endings } = this.#run();
    return new Promise((resolve, reject) => {
      const ends: Settler = { resolve, reject };
      this.#kernel.interception?.gate(undefined, "a watch", ends);
      const over = (): void => {
        this.#kernel.cancelTimer(timer);
        if (signal !== undefined) unwatchAbort(signal, waiter);
        endings.delete(over);
        ends.resolve?.(undefined as never);
      };
      const waiter = { aborted: over };
      const timer = this.#kernel.addTimer(ms, { fire: over });
      if (signal !== undefined) watchAbort(signal, waiter);
      endings.add(over);
    });
  }

  get #process(): Process | undefined {
    const address = this.#address;
    return address instanceof Pid ? address.process : this.#kernel.names.find(address);
  }

  #find(): Director {
    const address = this.#address;
    const process = this.#process;
    if (process?.behaviour instanceof Director) this.#director = process.behaviour;
    if (this.#director === undefined) throw new NoProcessError(String(address), this.#kernel.node.name);
    return this.#director;
  }

  #run(): RunningTopology {
    return this.#find().run as RunningTopology;
  }

  #checkRunning(asked: string): void {
    if (this.phase === "ended") throw new TopologyPhaseError(this.name, "ended", asked);
  }

  #ask<R>(build: (replyTo: ReplyTo<R>) => DirectorMessage, options: CallOptions | undefined): Promise<R> {
    checkCallOptions(options);
    const { timeoutMs = Number.POSITIVE_INFINITY, signal } = options ?? {};
    return this.#kernel.calls.call(undefined, this.pid, build, {
      timeoutMs,
      ...(signal === undefined ? {} : { signal }),
    });
  }
}
