// The permits of an execution on one host, for the processes that use them. A permit belongs to a worker: the worker's exit gives it back.

import type { Kernel } from "../../process/kernel.js";
import type { ExitWatch } from "../../process/monitor.js";
import type { Pid } from "../../process/pid.js";
import { decide, type GatesConfig, type GatesEvent, type GatesState, initial } from "./gates-machine.js";

/** Called when a worker that had to wait may begin. Never in the turn of its `enter`. */
export type Entered = () => void;

interface PermitHolder {
  readonly watch: ExitWatch;
  /** Present while the worker waits. */
  entered: Entered | undefined;
}

export class Permits {
  readonly #kernel: Kernel;
  readonly #state: GatesState;
  readonly #workers = new Map<object, PermitHolder>();

  constructor(kernel: Kernel, config: GatesConfig) {
    this.#kernel = kernel;
    this.#state = initial(config);
  }

  /** How many permits are out, and how many workers wait. */
  get counts(): { readonly holding: number; readonly waiting: number } {
    this.#kernel.shared?.object(this, "read");
    return { holding: this.#state.holding.size, waiting: this.#state.waiting.size };
  }

  /** Whether all permits are out. */
  get isFull(): boolean {
    return this.counts.holding >= this.#state.inFlight;
  }

  /** Asks for a permit. True: the worker has one at once; `entered` is not called then. A worker that has exited gets none. */
  enter(worker: Pid<never>, route: string, entered: Entered): boolean {
    this.#kernel.shared?.process(worker, "read");
    if (worker.process === undefined) return false;
    this.#known(worker).entered = entered;
    const { holding } = this.#state;
    this.#decide({ type: "enter", holder: worker, route }, worker);
    return holding.has(worker);
  }

  /** Gives a worker's permit back. */
  leave(worker: Pid<never>): void {
    this.#decide({ type: "leave", holder: worker }, undefined);
  }

  /** Changes how many permits a route may have. */
  limit(route: string, limit: number): void {
    this.#decide({ type: "limit", route, limit }, undefined);
  }

  #known(worker: Pid<never>): PermitHolder {
    const known = this.#workers.get(worker);
    if (known !== undefined) return known;
    const gone = (): void => {
      this.#workers.delete(worker);
      this.#decide({ type: "leave", holder: worker }, undefined);
    };
    const made: PermitHolder = { watch: this.#kernel.links.watch(worker, gone, gone), entered: undefined };
    this.#workers.set(worker, made);
    return made;
  }

  /** @param asking - the worker that is answered by a return rather than by a call */
  #decide(event: GatesEvent, asking: object | undefined): void {
    this.#kernel.shared?.object(this, "write");
    for (const { holder } of decide(this.#state, event)[1]) {
      const worker = this.#workers.get(holder);
      const entered = worker?.entered;
      if (worker !== undefined) worker.entered = undefined;
      if (holder !== asking) entered?.();
    }
  }
}
