// Quiet moments: nothing can run unless time passes. Code can wait for one.

import type { WorldCore } from "./core.js";
import type { Gates } from "./gates.js";
import type { Time } from "./time.js";

export class Quiet {
  readonly #core: WorldCore;
  readonly #time: Time;
  readonly #gates: Gates;
  readonly #waiting: (() => void)[] = [];
  readonly #patient: { readonly fn: () => void; readonly since: number }[] = [];

  constructor(core: WorldCore, time: Time, gates: Gates) {
    this.#core = core;
    this.#time = time;
    this.#gates = gates;
  }

  /** Resolves at the next quiet moment. */
  reached(what: string): Promise<void> {
    this.#core.footprints.wrote("quiet");
    return this.#gates.gated<void>(what, (resolve) => this.#waiting.push(resolve));
  }

  /** Calls `fn` at the next quiet moment after another step, or when no further step is possible. */
  afterChange(fn: () => void): void {
    const { record, code } = this.#core;
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
    const { record } = this.#core;
    const hopeless = this.#time.next === undefined;
    const woken = this.#patient.filter(({ since }) => hopeless || since < record.steps);
    for (const one of woken) {
      this.#patient.splice(this.#patient.indexOf(one), 1);
      one.fn();
    }
    return woken.length > 0;
  }
}
