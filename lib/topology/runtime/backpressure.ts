// Backpressure. A spout pauses, and a bolt takes no next tuple, while a bolt that its tuples reach has no buffer space: when
// every task that can take them is full or does not run.

import { invariant } from "../../process/invariant.js";
import type { Process } from "../../process/process.js";
import type { Blueprint } from "../definition/blueprint.js";
import { type Outflow, outflowsOf, targetsOf } from "../definition/downstream.js";
import { BufferWait } from "./buffer-wait.js";
import type { SimulatorHooks } from "./simulator-hooks.js";
import type { ComponentRun } from "./task-slots.js";

/** A bolt that the tuples of a component reach. */
interface Reached {
  readonly to: Backpressure;
  /** As in {@link Outflow.anyTask}. */
  readonly anyTask: boolean;
}

/** The backpressure of one component: the bolts that it waits for, and the components that wait for it. */
export class Backpressure {
  readonly component: ComponentRun;
  /** Of a spout: the bolts that its tuples reach, directly or through others. Of a bolt: those that it waits for. */
  reaches: readonly Reached[] = [];
  /** The spouts whose tuples may reach this component. */
  private spouts: readonly Backpressure[] = [];
  /** The bolts that wait for this one when it has no buffer space. */
  private feeders: readonly Backpressure[] = [];
  /** Of a bolt: full tasks of all bolts that it waits for. */
  private pressed = 0;
  /** Tasks that are full, and tasks that a tuple came for while they did not run. */
  private full = 0;
  private missed = 0;
  /** The topology ends: tasks do not wait any more. */
  private released = false;
  private readonly waits = new Set<BufferWait>();
  private readonly hooks: SimulatorHooks;

  constructor(component: ComponentRun, hooks: SimulatorHooks) {
    this.component = component;
    this.hooks = hooks;
  }

  /** Of a spout: whether one of its tuples may reach a bolt in which no task that can take it has buffer space. */
  get isBlocked(): boolean {
    this.hooks.flow(this.component.name, "read");
    for (const { to, anyTask } of this.reaches)
      if (to.full + to.missed > 0 && !(anyTask && to.hasSpace)) return true;
    return false;
  }

  /** Of a bolt: a promise while a bolt that it emits to has no buffer space. */
  wait(process: Process): Promise<void> | undefined {
    this.hooks.flow(this.component.name, "read");
    return this.isHeldUp && process.alive ? new BufferWait(process, this.waits).promise : undefined;
  }

  private get isHeldUp(): boolean {
    if (this.pressed === 0 || this.released) return false;
    for (const { to, anyTask } of this.reaches) if (to.full > 0 && !(anyTask && to.hasSpace)) return true;
    return false;
  }

  private get hasSpace(): boolean {
    for (const slot of this.component.slots)
      if (slot.reach() !== undefined && !slot.buffer.isFull) return true;
    return false;
  }

  /** A task is full, or has buffer space again: bolts and spouts upstream may have to wait, or can go on. */
  fill(by: 1 | -1): void {
    this.full += by;
    invariant(this.full >= 0, "a task has buffer space again only after it was full");
    for (const feeder of this.feeders) {
      this.hooks.flow(feeder.component.name, "write");
      feeder.pressed += by;
    }
    this.changed(by);
  }

  /** A tuple came for a task that did not run, or the task runs again. */
  miss(by: 1 | -1): void {
    this.missed += by;
    invariant(this.missed >= 0, "a task is back only after it was missed");
    this.changed(by);
  }

  private changed(by: 1 | -1): void {
    for (const spout of this.spouts) this.hooks.flow(spout.component.name, "write");
    if (by < 0) this.eased();
  }

  /** A task runs that did not run before. It may have buffer space when others have none. */
  joined(): void {
    if (this.full + this.missed > 0) this.eased();
  }

  /** There may be buffer space where there was none. */
  private eased(): void {
    for (const spout of this.spouts) if (!spout.isBlocked) spout.component.order("go");
    for (const feeder of this.feeders) feeder.goOn();
  }

  private goOn(): void {
    if (this.waits.size === 0 || this.isHeldUp) return;
    for (const wait of [...this.waits]) wait.end();
  }

  /** The topology ends: no task waits for buffer space any more. */
  release(): void {
    this.released = true;
    this.goOn();
  }

  /** Tells each component which bolts its tuples reach. */
  static connect(components: readonly ComponentRun[], blueprint: Blueprint): void {
    const known = ({ to, anyTask }: Outflow): Reached => ({
      to: (components.find(({ name }) => name === to) as ComponentRun).backpressure,
      anyTask,
    });
    for (const { plan, name, backpressure } of components)
      if (plan.kind === "spout") {
        backpressure.reaches = outflowsOf(name, blueprint).map(known);
        for (const { to } of backpressure.reaches) to.spouts = [...to.spouts, backpressure];
      } else {
        backpressure.reaches = targetsOf(name, blueprint).map(known);
        for (const { to } of backpressure.reaches) to.feeders = [...to.feeders, backpressure];
      }
  }
}
