// What a running topology reports to a simulator: which shared state a step reads and changes. Without a simulator nothing
// is reported.

import type { Process } from "../../process/process.js";
import type { Access, SharedState } from "../../process/shared-state.js";
import { SYSTEM } from "./acker-plan.js";
import type { TaskSlot } from "./task-slots.js";

export class SimulatorHooks {
  private readonly topology: string;
  private readonly shared: SharedState | undefined;

  constructor(topology: string, shared: SharedState | undefined) {
    this.topology = topology;
    this.shared = shared;
  }

  /** Another process fills the slot, or the slot gets tuples that it did not, or no more. */
  slotChanged(slot: TaskSlot): void {
    this.shared?.of(`t:${this.topology}/${slot.id}`, "write");
  }

  /** A decision depends on the process that fills the slot. */
  slotRead(slot: TaskSlot): void {
    const { shared } = this;
    if (shared === undefined) return;
    shared.of(`t:${this.topology}/${slot.id}`, "read");
    shared.process(slot.pid, "write");
  }

  systemChanged(): void {
    this.shared?.of(`t:${this.topology}/${SYSTEM}`, "write");
  }

  /** A decision depends on the process of the system task. */
  systemRead(system: Process | undefined): void {
    const { shared } = this;
    if (shared === undefined) return;
    shared.of(`t:${this.topology}/${SYSTEM}`, "read");
    if (system !== undefined) shared.process(system.pid, "write");
  }

  /** A grouping chooses among tasks by whether they run, and by their loads. */
  chosenFrom(slots: readonly TaskSlot[]): void {
    if (this.shared === undefined) return;
    for (const slot of slots) {
      this.slotRead(slot);
      this.load(slot, "read");
    }
  }

  /** A task has one tuple more or less to work on. */
  loadChanged(slot: TaskSlot): void {
    if (this.shared !== undefined) this.load(slot, "write");
  }

  /** The load of an only task decides nothing. */
  private load(slot: TaskSlot, access: Access): void {
    if (slot.component.slots.length > 1) this.shared?.of(`l:${this.topology}/${slot.id}`, access);
  }

  /** Whether a component has to wait for others, or emits, changes or decides. */
  flow(component: string, access: Access): void {
    this.shared?.of(`t:${this.topology}/${component}`, access);
  }

  /** The ticks of the ackers so far. */
  beats(access: Access): void {
    this.shared?.of(`t:${this.topology}/beats`, access);
  }

  /** The trees that an acker knows. */
  ackedTrees(acker: TaskSlot, access: Access): void {
    this.shared?.of(`a:${this.topology}/${acker.id}`, access);
  }

  /** The trees of a spout's task, by the id of its slot, or the losses of a bolt, by its name. */
  trees(owner: string, access: Access): void {
    this.shared?.of(`t:${this.topology}/${owner}/trees`, access);
  }
}
