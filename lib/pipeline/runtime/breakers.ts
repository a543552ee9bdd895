// The circuit breakers of a route on one system: one for each adapter, shared by the executions there, since they share the services
// behind the adapters. While one of them admits no call, the route's workers get no work and its messages wait.

import type { Kernel } from "../../process/kernel.js";
import { type Admission, BreakerCore } from "../../service/protection/breaker-core.js";
import type { BreakerRoom, Verdict } from "../../service/protection/breaker-machine.js";
import type { BreakerSettings } from "../../service/protection/breaker-options.js";

/** A call that a breaker has admitted. Settled once. */
export interface AdmittedCall {
  /** @param verdict - what its end says about the service */
  settle(verdict: Verdict): void;
}

export class RouteBreakers {
  readonly #kernel: Kernel;
  readonly #cores: ReadonlyMap<string, BreakerCore>;
  readonly #listeners = new Set<() => void>();

  /** @param adapters - the names of the adapters, each with its settings */
  constructor(kernel: Kernel, adapters: ReadonlyMap<string, BreakerSettings>) {
    this.#kernel = kernel;
    this.#cores = new Map(
      [...adapters].map(([name, settings]) => [name, new BreakerCore(kernel, settings, undefined)]),
    );
  }

  /** Calls `changed` when the room of the route may be another one. Returns the call that ends that. */
  watch(changed: () => void): () => void {
    this.#kernel.shared?.object(this.#listeners, "write");
    this.#listeners.add(changed);
    return () => {
      this.#kernel.shared?.object(this.#listeners, "write");
      this.#listeners.delete(changed);
    };
  }

  /** Asks for one call of an adapter. @throws CircuitOpenError */
  ask(adapter: string): AdmittedCall {
    const core = this.#cores.get(adapter) as BreakerCore;
    const before = core.state;
    let admission: Admission | undefined;
    try {
      admission = core.ask();
    } finally {
      this.#note(core, before);
    }
    const { env } = this.#kernel;
    const beganMs = env.now();
    return {
      settle: (verdict) => {
        const by = admission;
        if (by === undefined) return;
        admission = undefined;
        const at = core.state;
        core.settled(by, verdict, env.now() - beganMs);
        this.#note(core, at);
      },
    };
  }

  /** How many calls all breakers together would admit now. */
  room(): BreakerRoom {
    let [calls, againMs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    for (const core of this.#cores.values()) {
      const room = core.room();
      calls = Math.min(calls, room.calls);
      againMs = Math.min(againMs, room.againMs ?? Number.POSITIVE_INFINITY);
    }
    return { calls, againMs: againMs < Number.POSITIVE_INFINITY ? againMs : undefined };
  }

  /** The adapters whose breaker is not closed. */
  get broken(): readonly string[] {
    return [...this.#cores].flatMap(([name, core]) => (core.state === "closed" ? [] : [name]));
  }

  /** The state of each breaker, by adapter. */
  get states(): readonly { readonly name: string; readonly state: BreakerCore["state"] }[] {
    return [...this.#cores].map(([name, { state }]) => ({ name, state }));
  }

  #note(core: BreakerCore, before: BreakerCore["state"]): void {
    if (before === "closed" && core.state === "closed") return;
    this.#kernel.shared?.object(this.#listeners, "read");
    for (const changed of [...this.#listeners]) changed();
  }
}
