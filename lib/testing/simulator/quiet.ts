// Quiet moments: nothing can run unless time passes. Code can wait for one.

import type { World } from "./world.js";

export class Quiet {
  readonly #world: World;
  readonly #waiting: (() => void)[] = [];
  readonly #patient: { readonly fn: () => void; readonly since: number }[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  /** Resolves at the next quiet moment. */
  reached(what: string): Promise<void> {
    this.#world.footprints.wrote("quiet");
    return this.#world.gates.gated<void>(what, (resolve) => this.#waiting.push(resolve));
  }

  /** Calls `fn` at the next quiet moment after another step, or when no further step is possible. */
  afterChange(fn: () => void): void {
    const { record, code } = this.#world;
    // The present step belongs to the caller, and changes nothing for it.
    this.#patient.push({ fn, since: record.steps + (code.performing === undefined ? 0 : 1) });
  }

  /** It is quiet. Returns whether that lets code go on. */
  wake(): boolean {
    const waiter = this.#waiting.shift();
    if (waiter === undefined) return this.#wakePatient();
    waiter();
    return true;
  }

  #wakePatient(): boolean {
    const { time, record } = this.#world;
    const hopeless = time.next === undefined;
    const woken = this.#patient.filter(({ since }) => hopeless || since < record.steps);
    for (const one of woken) {
      this.#patient.splice(this.#patient.indexOf(one), 1);
      one.fn();
    }
    return woken.length > 0;
  }
}
