// Two systems n1 and n2 and what lies between them: the one place where the replay of scenarios of two nodes knows how
// signals travel. The connection can be lost at one side before the other, and signals can be held on the way.

import { setImmediate as macrotask } from "node:timers/promises";
import { remoteNodes, System, type WireSignal } from "signalbox";
import type { NodeName } from "./trace.js";

/** One of the two systems, with what is under way from it to the other. */
class Side {
  readonly system: System;
  readonly underWay: WireSignal[] = [];
  /** This side does not know of a loss of the connection. */
  isConnected = true;

  constructor(name: NodeName, sent: () => void) {
    const send = (_to: unknown, signal: WireSignal): boolean => {
      if (this.isConnected) this.underWay.push(signal);
      sent();
      return this.isConnected;
    };
    this.system = new System({ name, transport: remoteNodes({ send }), report: false });
  }
}

export class TwoNodes {
  readonly #sides: { readonly [name in NodeName]: Side };
  /** Signals sent so far: while nothing moves it does not grow. */
  #sent = 0;
  #isHeld = false;

  constructor() {
    const sent = (): void => {
      this.#sent++;
      setImmediate(() => this.#carry());
    };
    this.#sides = { n1: new Side("n1", sent), n2: new Side("n2", sent) };
  }

  system(name: NodeName): System {
    return this.#sides[name].system;
  }

  /** Neither side has seen a loss since the last `heal`. */
  get isConnected(): boolean {
    return this.#sides.n1.isConnected && this.#sides.n2.isConnected;
  }

  /** From now on nothing that is sent arrives, until `release`. */
  hold(): void {
    this.#isHeld = true;
  }

  /** Lets arrive what was held, in its order. If one side has lost the connection meanwhile, all of it is lost, and the other learns of that. */
  release(): void {
    this.#isHeld = false;
    if (!this.isConnected) this.#lose();
    for (let left = this.#waiting(); left > 0; left--) setImmediate(() => this.#carry());
  }

  /** `at` loses the connection; the other side learns of it at once, or when what is held is released. */
  cut(at: NodeName): void {
    this.#disconnect(at);
    if (!this.#isHeld) this.#lose();
  }

  heal(): void {
    for (const side of Object.values(this.#sides)) side.isConnected = true;
  }

  /** Resolves when nothing moves in the systems nor between them, but for what is held. */
  async settle(): Promise<void> {
    for (let quiet = 0, before = -1; quiet < 3; quiet = this.#sent === before ? quiet + 1 : 0) {
      before = this.#sent;
      for (const { system } of Object.values(this.#sides)) await system.idle();
      await macrotask();
    }
  }

  #lose(): void {
    for (const name of ["n1", "n2"] as const) {
      this.#sides[name].underWay.length = 0;
      if (this.#sides[name].isConnected) this.#disconnect(name);
    }
  }

  #disconnect(at: NodeName): void {
    const { n1, n2 } = this.#sides;
    const [here, there] = at === "n1" ? [n1, n2] : [n2, n1];
    here.isConnected = false;
    here.system.nodeDown(there.system.node.id);
  }

  #waiting(): number {
    return this.#sides.n1.underWay.length + this.#sides.n2.underWay.length;
  }

  /** Delivers the oldest signal of each direction. */
  #carry(): void {
    if (this.#isHeld) return;
    const { n1, n2 } = this.#sides;
    for (const [from, to] of [
      [n1, n2],
      [n2, n1],
    ] as const) {
      const signal = from.underWay.shift();
      if (signal !== undefined) to.system.deliver(signal);
    }
  }
}
