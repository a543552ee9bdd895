// Which tasks are active. Bolts are activated before spouts and deactivated after them: no tuple reaches a bolt that is not active.

import type { Registry } from "./registry.js";
import type { SimulatorHooks } from "./simulator-hooks.js";

export class Switches {
  /** Bolts are active. */
  running = false;
  /** Spouts are active. Not while the topology is paused, and not while it stops. */
  flowing = false;
  /** The topology stops, and finishes what is in flight. */
  draining = false;
  /** The topology ends. Unsettled tuples are given up. */
  ending = false;
  /** The topology stops at once: bolts get no time. */
  hasty = false;
  /** The topology is paused: bolts and spouts are not active. */
  paused = false;
  readonly #registry: Registry;
  readonly #hooks: SimulatorHooks;

  constructor(registry: Registry, hooks: SimulatorHooks) {
    this.#registry = registry;
    this.#hooks = hooks;
  }

  /** All tasks have started. @param paused - the topology is to be paused at once */
  activate(paused: boolean): void {
    this.running = true;
    if (paused) {
      this.paused = true;
      for (const spout of this.#registry.spouts) spout.order("go");
    } else this.resume();
  }

  pause(): void {
    this.paused = true;
    this.#setFlowing(false);
    for (const bolt of this.#registry.bolts) bolt.order("deactivate");
  }

  resume(): void {
    this.paused = false;
    for (const bolt of this.#registry.bolts) bolt.order("activate");
    this.#setFlowing(true);
  }

  drain(): void {
    this.draining = true;
    this.#setFlowing(false);
  }

  /** The tasks have ended, and will start again. */
  restart(): void {
    this.running = false;
    this.#setFlowing(false);
  }

  /** The tasks end now. */
  end(): void {
    this.running = false;
    this.flowing = false;
    this.ending = true;
    for (const { backpressure } of this.#registry.components) backpressure.release();
  }

  #setFlowing(flowing: boolean): void {
    this.flowing = flowing;
    for (const spout of this.#registry.spouts) {
      this.#hooks.flow(spout.name, "write");
      spout.order(flowing ? "activate" : "deactivate");
    }
  }
}
