// Two systems n1 and n2 and what lies between them: the one place where the replay of scenarios of two nodes knows how
// signals travel. The connection can be lost at one side before the other, and signals can be held on the way.

import { setImmediate as macrotask } from "node:timers/promises";
import { type RemoteNode, remoteNodes, System, type WireSignal } from "signalbox";
import { type FrameReceiver, Sessions } from "signalbox/nodes";
import type { NodeName } from "./trace.js";

/** What passes between the nodes: the signals themselves, or the frames of their sessions, as text. */
export type Carriage = "signals" | "frames";

/** One of the two systems, with what is under way from it to the other. */
interface Side<Load> {
  readonly system: System;
  readonly underWay: Load[];
  /** Nothing at this side knows of a loss of the connection. */
  isConnected: boolean;
  arrive(from: RemoteNode, load: Load): void;
  lost(other: RemoteNode): void;
  seen(other: RemoteNode): void;
}

/** Accepts what a side sends. False: the connection is lost. */
type Send<Load> = (load: Load) => boolean;

function signalSide(name: NodeName, send: Send<WireSignal>): Side<WireSignal> {
  const transport = remoteNodes({ send: (_to, signal) => send(signal) });
  const system = new System({ name, transport, report: false });
  return {
    system,
    underWay: [],
    isConnected: true,
    arrive: (_from, signal) => system.deliver(signal),
    lost: ({ id }) => system.nodeDown(id),
    seen: () => undefined,
  };
}

function frameSide(name: NodeName, send: Send<string>): Side<string> {
  const system = new System({ name, report: false });
  let receiver: FrameReceiver | undefined;
  new Sessions(system, {
    send: (_to, frame) => send(frame),
    open: (given) => {
      receiver = given;
    },
    close: () => undefined,
    notices: true,
  });
  return {
    system,
    underWay: [],
    isConnected: true,
    arrive: (from, frame) => receiver?.frame(from, frame),
    lost: (other) => receiver?.unreachable(other),
    seen: (other) => receiver?.seen(other),
  };
}

/** The two nodes, as a scenario needs them. */
export interface TwoNodes {
  system(name: NodeName): System;
  /** Neither side has seen a loss since the last `heal`. */
  readonly isConnected: boolean;
  /** From now on nothing that is sent arrives, until `release`. */
  hold(): void;
  /** Lets arrive what was held, in its order. If one side has lost the connection meanwhile, all of it is lost, and the other learns of that. */
  release(): void;
  /** `at` loses the connection; the other side learns of it at once, or when what is held is released. */
  cut(at: NodeName): void;
  heal(): void;
  /** Resolves when nothing moves in the systems nor between them, but for what is held. */
  settle(): Promise<void>;
}

export function twoNodes(carriage: Carriage): TwoNodes {
  return carriage === "signals" ? new Joined(signalSide) : new Joined(frameSide);
}

class Joined<Load> implements TwoNodes {
  readonly #sides: { readonly [name in NodeName]: Side<Load> };
  /** Signals or frames sent so far: while nothing moves it does not grow. */
  #sent = 0;
  #isHeld = false;

  constructor(side: (name: NodeName, send: Send<Load>) => Side<Load>) {
    this.#sides = {
      n1: side("n1", (load) => this.#send("n1", load)),
      n2: side("n2", (load) => this.#send("n2", load)),
    };
    this.heal();
  }

  system(name: NodeName): System {
    return this.#sides[name].system;
  }

  get isConnected(): boolean {
    return this.#sides.n1.isConnected && this.#sides.n2.isConnected;
  }

  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
    if (!this.isConnected) this.#lose();
    for (let left = this.#waiting; left > 0; left--) setImmediate(() => this.#carry());
  }

  cut(at: NodeName): void {
    this.#disconnect(at);
    if (!this.#isHeld) this.#lose();
  }

  heal(): void {
    const { n1, n2 } = this.#sides;
    n1.isConnected = true;
    n2.isConnected = true;
    n1.seen(n2.system.node);
    n2.seen(n1.system.node);
  }

  async settle(): Promise<void> {
    const { n1, n2 } = this.#sides;
    for (let before = -1; this.#sent !== before || (this.#waiting > 0 && !this.#isHeld); ) {
      before = this.#sent;
      await Promise.all([n1.system.idle(), n2.system.idle()]);
      await macrotask();
    }
  }

  /** Signals or frames that are under way. */
  get #waiting(): number {
    return this.#sides.n1.underWay.length + this.#sides.n2.underWay.length;
  }

  #send(from: NodeName, load: Load): boolean {
    const { underWay, isConnected } = this.#sides[from];
    this.#sent++;
    if (!isConnected) return false;
    underWay.push(load);
    setImmediate(() => this.#carry());
    return true;
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
    here.lost(there.system.node);
  }

  /** What is oldest in each direction arrives. */
  #carry(): void {
    if (this.#isHeld) return;
    const { n1, n2 } = this.#sides;
    for (const [from, to] of [
      [n1, n2],
      [n2, n1],
    ] as const) {
      const load = from.underWay.shift();
      if (load !== undefined) to.arrive(from.system.node, load);
    }
  }
}
