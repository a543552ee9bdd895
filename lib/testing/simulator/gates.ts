// Gates: the promises that code awaits, and behind which it goes on in a step of its own. The simulator settles those of the library
// and of its own devices. Awaits of other promises are held where the code is a user's, and ended in the step in which they began.

import type { Settler } from "../../process/interception.js";
import type { Pid } from "../../process/pid.js";
import type { Actor, Wait } from "./actor.js";
import { type Continue, SettledHere } from "./awaits.js";
import type { WorldCore } from "./core.js";
import { UNDECLARED } from "./footprints.js";
import { freeze } from "./freeze.js";
import { host } from "./host.js";
import type { Memory } from "./memory.js";
import type { Ending } from "./recorder.js";
import type { Time } from "./time.js";

export class Gates {
  readonly #core: WorldCore;
  readonly #time: Time;
  readonly #memory: Memory | undefined;

  constructor(core: WorldCore, time: Time, memory: Memory | undefined) {
    this.#core = core;
    this.#time = time;
    this.#memory = memory;
  }

  /** Lets code of `actor` continue in a step of its own, which calls `settle`. */
  resume(actor: Actor, what: string, settle: () => void, ending?: Ending): void {
    if (actor.lost) return;
    const { record, footprints, options, code, agenda } = this.#core;
    record.mark(actor.number);
    footprints.wrote(actor.mailbox);
    footprints.queued("r", actor.key, settle);
    options.recorder?.settled(actor, what, ending);
    options.progress?.sent(code.stepper.number, actor.number);
    actor.resume.push(what, settle);
    if (actor.resume.pending === 1) agenda.enable(actor.resume);
  }

  /** A promise that the simulator settles, awaited by the running code. */
  gated<T>(
    what: string,
    begin: (resolve: (value: T) => void, reject: (error: unknown) => void) => void,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const ends: Settler = { resolve, reject };
      this.gate(this.#core.code.current, what, ends);
      begin(ends.resolve as (value: T) => void, ends.reject as (error: unknown) => void);
    });
  }

  /** An actor awaits the promise that was made last, and whose ends these are: they settle it in a step of its own. */
  gate(actor: Actor, what: string, ends: Settler, about?: Pid): void {
    const { options, code, record } = this.#core;
    const { last } = host.promises;
    actor.gatedIn = record.steps;
    if (last !== undefined && !SettledHere.has(last)) new SettledHere(last);
    if (actor.lost) {
      ends.resolve = ends.reject = () => undefined;
      return;
    }
    const { recorder } = options;
    const place = recorder?.place();
    const wait: Wait = { what, of: ends, about, step: record.steps + 1, at: this.#time.now, place };
    const { resolve, reject } = ends;
    const settle = (fn: () => void, ended?: Ending["ended"]): void => {
      if (!actor.waits.delete(wait)) return;
      // A process that takes a message goes on within the same step.
      if (code.performing === actor.run && what === "a receive") fn();
      else this.resume(actor, what, fn, ended && { ended, place });
    };
    actor.waits.add(wait);
    ends.resolve = (value) => {
      if (options.freeze) freeze(value);
      this.#memory?.passed(code.current, actor, value);
      settle(() => resolve?.(value), recorder && { value });
    };
    ends.reject = (error) => settle(() => reject?.(error), recorder && { error });
  }

  /**
   * Code looks up the `constructor` of a promise. If it awaits the promise, and the promise ends within the same step, no step came
   * between: the code goes on in a step of its own. The keys that both steps share are unknown, so they share everything.
   */
  awaited(promise: object, isAwait: () => boolean): Continue | undefined {
    const { code, record, options, footprints } = this.#core;
    const actor = code.owner;
    if (actor === undefined || actor.done || SettledHere.has(promise) || this.#core.over) return undefined;
    const { steps } = record;
    // Code that stands between an open call and the code that awaits it would hide circles of calls.
    if (actor.gatedIn === steps && promise !== host.promises.lastSettled) return undefined;
    if (options.allowed(actor.path) || !isAwait()) return undefined;
    const { recorder } = options;
    const place = recorder?.place();
    return (goOn, ended) => {
      if (record.steps !== steps) {
        goOn();
        return;
      }
      const step = (): void => {
        footprints.wrote(UNDECLARED);
        goOn();
      };
      footprints.wrote(UNDECLARED);
      this.resume(actor, "an await", step, recorder && { ended, place });
    };
  }
}
