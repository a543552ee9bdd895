// The host's part of a step: microtasks that the step caused, worker files that are being loaded, and real work of code that may use
// the host.

import { origin } from "../../process/origin.js";
import { placeOf } from "../../process/own-code.js";
import { EndlessStepError, UncontrolledAwaitError } from "../report/errors.js";
import type { WorldCore } from "./core.js";
import { realWork } from "./diagnosis.js";
import { host } from "./host.js";

/** Promises that one step may make and settle. Code that makes so many awaits in a loop without an end. */
const MOST_PROMISES = 1_000_000;

export class HostWork {
  /** Worker files of pools that are being loaded: no step is made meanwhile. */
  readonly loading: Set<Promise<unknown>> = new Set();
  private readonly core: WorldCore;
  /** The host has been idle since the last step. */
  drained = true;
  /** Promises made and settled before the present step. */
  private made = 0;

  constructor(core: WorldCore) {
    this.core = core;
  }

  /** A step that makes too many promises is stopped, and fails the schedule. */
  limitPromises(): void {
    this.begin();
    host.promises.endless = () => {
      const { code, actors, record } = this.core;
      const who = code.current === actors.main ? "the scenario" : code.current.path;
      const error = new EndlessStepError(who, record.steps + 1, placeOf(host.stack()));
      this.core.fail(error);
      return error.message;
    };
  }

  /** A step begins. */
  begin(): void {
    const { promises } = host;
    this.made = promises.count;
    promises.limit = promises.count + MOST_PROMISES;
  }

  /** Whether the step has made or settled promises, so that microtasks may be pending. */
  get isPending(): boolean {
    return host.promises.count !== this.made;
  }

  /** Lets the host finish everything that the last step caused and that needs no I/O. */
  async settle(): Promise<void> {
    const { code } = this.core;
    code.endTurn();
    // A turn of the event loop could hide that code waits for the host: the code is looked at before.
    const { batched } = host;
    await (batched ? host.drain() : host.microtasks());
    if (this.core.failure?.error instanceof EndlessStepError) {
      // The code was stopped in the middle.
      origin.current = undefined;
      origin.over();
      this.drained = true;
      return;
    }
    const kind = code.performing?.kind;
    const adrift = kind !== "deliver" && kind !== "timer" && code.stepper.adrift;
    if (adrift) await this.settleReal();
    const loads = this.loading.size > 0;
    while (this.loading.size > 0) await Promise.allSettled(this.loading);
    if (adrift || loads || !batched) await host.drain();
    this.drained = true;
  }

  /** Handles an await that the simulator does not control: waits in real time where that is allowed, else fails the schedule. */
  private async settleReal(): Promise<void> {
    const { options, code } = this.core;
    const actor = code.stepper;
    if (!options.allowed(actor.path)) {
      const obstacle = await realWork(actor);
      if (obstacle !== undefined) this.core.fail(obstacle);
    } else if (!(await host.until(() => !actor.adrift, options.patienceMs))) {
      const patience = `more than ${options.patienceMs} ms of real time`;
      this.core.fail(new UncontrolledAwaitError(actor.path, actor.place, [patience]));
    }
  }
}
