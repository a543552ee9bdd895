// The processes of each task, one after the other. The system task watches them, so that the tuples that a bolt held when it
// ended fail at once.

import type { Process } from "../../process/process.js";
import type { RunningTopology } from "./running-topology.js";
import { Incarnation, type TaskSlot } from "./task-slots.js";

export class Incarnations {
  /** Processes that are not known to have ended. */
  readonly running: Set<Incarnation> = new Set();
  /** The process of the system task. */
  #system: Process | undefined = undefined;
  #systemStarts = 0;
  readonly #run: RunningTopology;

  constructor(run: RunningTopology) {
    this.#run = run;
  }

  /** A process begins to start in a slot. One that fails to start counts as a restart, as it does for its supervisor. */
  starting(slot: TaskSlot): void {
    if (slot.starts++ > 0) slot.meter.restarts++;
  }

  /** A process has started in a slot. */
  started(slot: TaskSlot, process: Process): Incarnation {
    const { hooks } = this.#run;
    // The system task may not have been notified yet. The new process has to know what the old one has lost.
    if (slot.incarnation?.alive === false) this.ended(slot.incarnation);
    const incarnation = new Incarnation(slot, process);
    slot.incarnation = incarnation;
    slot.spout.done = false;
    slot.ticking = false;
    slot.buffer.back();
    hooks.slotChanged(slot);
    slot.component.backpressure.joined();
    this.running.add(incarnation);
    hooks.systemRead(this.#system);
    if (this.#system?.alive) this.#system.deliver(incarnation);
    return incarnation;
  }

  /** A process has ended. The tuples that a bolt had taken and not settled fail now. */
  ended(incarnation: Incarnation): void {
    if (!this.running.delete(incarnation)) return;
    const { tuples, process } = incarnation;
    for (const [lost, isInnocent] of tuples.abandon(process.exitReason?.type === "crash"))
      lost.channel.lost(lost, isInnocent);
    this.#run.settlements.notify();
  }

  /** There is a new process of the system task. */
  systemStarted(process: Process): void {
    this.#system = process;
    this.#systemStarts++;
    this.#run.hooks.systemChanged();
  }

  get systemProcess(): Process | undefined {
    return this.#system?.alive ? this.#system : undefined;
  }

  get systemRestarts(): number {
    return Math.max(0, this.#systemStarts - 1);
  }
}
