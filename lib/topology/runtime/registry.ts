// The components of a running topology and the slots of their tasks: the present tasks, and those that scaling adds or removes.

import type { Kernel } from "../../process/kernel.js";
import type { Blueprint, ComponentPlan } from "../definition/blueprint.js";
import { capacityFor } from "../definition/check.js";
import type { Tuple } from "../definition/tuple.js";
import { ackerPlan } from "./acker-plan.js";
import { Backpressure } from "./backpressure.js";
import type { SimulatorHooks } from "./simulator-hooks.js";
import { ComponentRun, ExecutorRun, TaskSlot } from "./task-slots.js";

export class Registry {
  readonly blueprint: Blueprint;
  /** The ackers, then the bolts, then the spouts. */
  readonly components: readonly ComponentRun[];
  readonly ackers: ComponentRun;
  readonly bolts: readonly ComponentRun[];
  readonly spouts: readonly ComponentRun[];
  /** The id of the system task. */
  readonly systemNumber: number;
  readonly #kernel: Kernel;
  readonly #hooks: SimulatorHooks;
  #lastTask = 0;

  constructor(blueprint: Blueprint, kernel: Kernel, hooks: SimulatorHooks) {
    this.blueprint = blueprint;
    this.#kernel = kernel;
    this.#hooks = hooks;
    const ofKind = (kind: ComponentPlan["kind"]): ComponentPlan[] =>
      blueprint.components.filter((plan) => plan.kind === kind);
    this.ackers = this.#add(ackerPlan(blueprint));
    this.bolts = ofKind("bolt").map((plan) => this.#add(plan));
    this.spouts = ofKind("spout").map((plan) => this.#add(plan));
    this.components = [this.ackers, ...this.bolts, ...this.spouts];
    this.systemNumber = ++this.#lastTask;
    Backpressure.connect(this.components, blueprint);
  }

  component(name: string): ComponentRun {
    return this.components.find((one) => one.name === name) as ComponentRun;
  }

  /** Tells a task of a bolt to settle what it holds back. */
  flush(task: number): void {
    const slot = this.bolts.flatMap((bolt) => bolt.allSlots).find((one) => one.task === task);
    const incarnation = slot?.incarnation;
    if (incarnation?.alive !== true) return;
    incarnation.tuples.flushing = true;
    incarnation.process.deliver("flush");
  }

  // ── scaling ───────────────────────────────────────────────────────────────────────────────────────────────────

  /** Makes a slot for one more task, which gets no tuples yet. Executors get their tasks in turn. */
  addSlot(component: ComponentRun): TaskSlot {
    const wanted = Math.min(component.plan.executors, component.slots.length + 1);
    if (component.executors.length < wanted)
      component.executors.push(new ExecutorRun(component, component.executors.length));
    const index = component.slots.length;
    const executor = component.executors[index % component.executors.length] as ExecutorRun;
    const slot = new TaskSlot(++this.#lastTask, index, executor, this.#kernel, this.#hooks);
    executor.slots = [...executor.slots, slot];
    return slot;
  }

  /** The task of the slot gets its share of the tuples from now on. */
  open(slot: TaskSlot): void {
    const { component } = slot;
    component.slots = [...component.slots, slot];
    this.#hooks.slotChanged(slot);
    component.backpressure.joined();
  }

  /** The last task of the component gets no more tuples. */
  retire(component: ComponentRun): TaskSlot {
    const slot = component.slots.at(-1) as TaskSlot;
    slot.retired = true;
    component.slots = component.slots.slice(0, -1);
    component.retired = [...component.retired, slot];
    this.#hooks.slotChanged(slot);
    return slot;
  }

  /** A task that was taken out has ended. */
  remove(slot: TaskSlot): void {
    slot.component.retired = slot.component.retired.filter((one) => one !== slot);
    slot.executor.slots = slot.executor.slots.filter((one) => one !== slot);
    slot.buffer.back();
    slot.meter.pending = 0;
    slot.meter.waiting = 0;
  }

  #add(plan: ComponentPlan): ComponentRun {
    const component = new ComponentRun(plan, this.#kernel, this.#hooks);
    for (let task = 0; task < plan.tasks; task++) this.open(this.addSlot(component));
    return component;
  }

  // ── what there is to do ───────────────────────────────────────────────────────────────────────────────────────

  /** Reliable tuples that are not settled. */
  get pending(): number {
    return this.#sum(this.spouts, ({ spout }) => spout.pending.size);
  }

  /** Trees that are in flight. */
  get inFlight(): number {
    return this.#sum(this.spouts, ({ spout }) => spout.inFlight);
  }

  /** Tuples that bolts have taken and hold back. */
  get held(): readonly Tuple[] {
    return this.bolts.flatMap((bolt) =>
      bolt.allSlots.flatMap(({ incarnation }) => [...(incarnation?.tuples.held ?? [])]),
    );
  }

  /** The bolt with the most tuples in the mailboxes of its tasks. */
  get busiest(): { readonly name: string; readonly queued: number } {
    let busiest = { name: "", queued: -1 };
    for (const bolt of this.bolts) {
      const queued = this.#sum([bolt], ({ buffer }) => buffer.queued);
      if (queued > busiest.queued) busiest = { name: bolt.name, queued };
    }
    return busiest;
  }

  /** The capacity of each acker: enough for all that the spouts of this moment may have pending. */
  get ackerCapacity(): number {
    const { ackerCapacity } = this.blueprint.config;
    if (ackerCapacity !== undefined) return ackerCapacity;
    return capacityFor(this.spouts.map((spout) => spout.allSlots.length * spout.plan.config.maxPending));
  }

  #sum(components: readonly ComponentRun[], of: (slot: TaskSlot) => number): number {
    let sum = 0;
    for (const component of components) for (const slot of component.allSlots) sum += of(slot);
    return sum;
  }
}
