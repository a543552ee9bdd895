// A wire between systems of one thread, which a test may cut.

import { remoteNodes, System, type Transport, type WireSignal } from "signalbox";
import { macrotask } from "./host.js";

/** Carries signals between systems of one thread in the order of their sending, unless the wire is cut. */
export class Wire {
  cut = false;
  /** Signals stay on the wire until `release`. */
  held = false;
  readonly log: WireSignal[] = [];
  private readonly systems: System[] = [];
  private readonly underWay: (() => void)[] = [];

  readonly transport: Transport = {
    send: (node, signal) => {
      const to = this.systems.find((system) => system.node.id === node.id);
      if (this.cut || to === undefined) return false;
      this.log.push(signal);
      this.underWay.push(() => to.deliver(signal));
      if (!this.held) setImmediate(() => this.underWay.shift()?.());
      return true;
    },
  };

  /** Loses the signals that were held. */
  drop(): void {
    this.held = false;
    this.underWay.length = 0;
  }

  /** Lets the signals arrive that were held. */
  release(): void {
    this.held = false;
    for (const arrive of this.underWay.splice(0)) setImmediate(arrive);
  }

  join(name: string): System {
    const system = new System({ name, transport: remoteNodes(this.transport), report: false });
    this.systems.push(system);
    return system;
  }

  /** Resolves when nothing moves on the wire or in the systems. */
  async settle(): Promise<void> {
    for (let quiet = 0, before = -1; quiet < 3; quiet = this.log.length === before ? quiet + 1 : 0) {
      before = this.log.length;
      for (const system of this.systems) await system.idle();
      await macrotask();
    }
  }
}
