// A running topology seen from outside: stop, pause, resume, scale, look at it.

import { unwatchAbort, watchAbort } from "../process/abort.js";
import { CalleeExitedError, NoProcessError, OptionError } from "../process/errors.js";
import type { Settler } from "../process/interception.js";
import type { Kernel } from "../process/kernel.js";
import { delay } from "../process/options.js";
import { Pid } from "../process/pid.js";
import type { Process } from "../process/process.js";
import type { CallOptions, ReplyTo } from "../process/request.js";
import { TopologyPhaseError } from "./definition/errors.js";
import { Director, type DirectorMessage, type StopReport } from "./lifecycle/director.js";
import type { Phase } from "./lifecycle/lifecycle-machine.js";
import { ACKERS, SYSTEM } from "./runtime/acker-plan.js";
import { componentMetrics, type MetricsWatchOptions, type TopologyMetrics } from "./runtime/metrics.js";
import type { RunningTopology } from "./runtime/running-topology.js";
import { type TaskInfo, taskInfos } from "./runtime/task-info.js";
import { renderSummary } from "./views/view.js";

export interface StopOptions extends CallOptions {
  /** Milliseconds that what is under way gets; 0 for none. Default: `drainMs` of the configuration. */
  readonly drainMs?: number;
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
    return this.#process === undefined ? "ended" : phase;
  }

  /**
   * Stops it: the spouts first; then what is under way comes to its end, within the time to drain; then everything
   * else. What is not done by then has failed, and the spouts are told. One that has ended before says how that was.
   */
  async stop(options: StopOptions = {}): Promise<StopReport> {
    const { drainMs } = options;
    if (drainMs !== undefined) delay("drainMs", drainMs, 0, true);
    const director = this.#find();
    if (this.phase === "ended") return director.report;
    try {
      return await this.#ask((replyTo) => ({ type: "stop", drainMs, replyTo }), options);
    } catch (error) {
      // It has ended just before the request came.
      if (error instanceof CalleeExitedError && error.reason.type === "noproc") return director.report;
      throw error;
    }
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
    this.#checkRunning("pause");
    await this.#ask((replyTo) => ({ type: "pause", replyTo }), options);
  }

  /** Goes on after a pause. @throws TopologyPhaseError when it does not run */
  async resume(options?: CallOptions): Promise<void> {
    this.#checkRunning("resume");
    await this.#ask((replyTo) => ({ type: "resume", replyTo }), options);
  }

  /**
   * Brings a component to so many tasks. New ones get their share from now on; those that are taken out finish what
   * they have first.
   *
   * @throws OptionError, TopologyPhaseError when it does not run or is being scaled
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

  /** What its components have done and are doing, at this moment. Also after its end. */
  metrics(): TopologyMetrics {
    const run = this.#run();
    const now = run.kernel.env.now();
    return {
      name: this.name,
      phase: this.phase,
      uptimeMs: now - run.startedAt,
      restarts: run.restarts,
      components: run.registry.components.map((component) => {
        for (const slot of run.registry.slotsOf(component)) {
          slot.meter.pending = slot.pending;
          slot.meter.waiting = slot.queued;
        }
        const { name, plan, executors } = component;
        const kind = name === ACKERS ? "acker" : plan.kind;
        return componentMetrics(
          { name, kind, tasks: component.slots.length, executors: executors.length },
          component.meters,
          now,
        );
      }),
    };
  }

  /** {@link TopologyRef.metrics} as a table for people. */
  summary(): string {
    return renderSummary(this.metrics());
  }

  /**
   * Metrics again and again, at once and then every so often, until the topology has ended: the last are of its end.
   *
   * @example for await (const metrics of running.watch({ everyMs: 500 })) console.log(renderSummary(metrics));
   */
  async *watch({
    everyMs = 1_000,
    signal,
  }: MetricsWatchOptions = {}): AsyncGenerator<TopologyMetrics, void, undefined> {
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

  toString(): string {
    return `topology ${this.name} ${this.#address}`;
  }

  /** Stops it, draining, unless it has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Until the time is over, the signal is aborted or the topology ends, whichever is first. */
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
    const { timeoutMs = Number.POSITIVE_INFINITY, signal } = options ?? {};
    return this.#kernel.calls.call(undefined, this.pid, build, {
      timeoutMs,
      ...(signal === undefined ? {} : { signal }),
    });
  }
}
