// A wire between systems of one thread, which a test may cut.

import { type Environment, remoteNodes, System, type Transport, type WireSignal } from "signalbox";
import { SignalCodec } from "../../lib/node/codec/signal-codec.js";
import { macrotask } from "./host.js";

/** A signal on the wire. */
interface UnderWay {
  readonly from: System;
  readonly to: System;
  readonly signal: WireSignal;
  arrive(): void;
}

/** How signals of one system to another fare: they arrive, are lost unnoticed, or are not accepted. */
export type Passage = "open" | "silent" | "out";

/** Carries signals between systems of one thread in the order of their sending, unless the wire is cut. */
export class Wire {
  cut = false;
  /** Signals stay on the wire until `release`. */
  held = false;
  readonly log: WireSignal[] = [];
  /** What becomes of signals from one system to another. A test may replace it. */
  passage: (from: System, to: System) => Passage = () => "open";
  private readonly systems: System[] = [];
  private readonly underWay: UnderWay[] = [];

  private readonly copies: boolean;

  /** @param copies - signals travel as text, as over a network. Otherwise what a signal has in it is passed by reference */
  constructor({ copies = false }: { readonly copies?: boolean } = {}) {
    this.copies = copies;
  }

  /** The way of signals from one system. */
  private transport(from: () => System): Transport {
    return {
      send: (node, signal) => {
        const to = this.systems.find((system) => system.node.id === node.id);
        if (this.cut || to === undefined) return false;
        const passage = this.passage(from(), to);
        if (passage === "out") return false;
        this.log.push(signal);
        if (passage === "silent") return true;
        const there = this.copies ? carried(signal, from(), to) : () => signal;
        this.underWay.push({ from: from(), to, signal, arrive: () => to.deliver(there()) });
        if (!this.held) setImmediate(() => this.underWay.shift()?.arrive());
        return true;
      },
    };
  }

  /** How many of the signals were of this type. */
  count(type: WireSignal["type"]): number {
    return this.log.filter((signal) => signal.type === type).length;
  }

  /** Loses the signals that were held. */
  drop(): void {
    this.held = false;
    this.underWay.length = 0;
  }

  /** Lets the signals arrive that were held. */
  release(): void {
    this.held = false;
    for (const { arrive } of this.underWay.splice(0)) setImmediate(arrive);
  }

  /** The signals from one system to another that are held, the oldest first. */
  waiting(from: System, to: System): WireSignal[] {
    return this.underWay.filter((held) => held.from === from && held.to === to).map(({ signal }) => signal);
  }

  /** Lets the oldest of the signals from one system to another arrive that are held. */
  deliver(from: System, to: System): void {
    const index = this.underWay.findIndex((held) => held.from === from && held.to === to);
    if (index >= 0) this.underWay.splice(index, 1)[0]?.arrive();
  }

  /** Loses the signals from one system to another that are held. */
  lose(from: System, to: System): void {
    const others = this.underWay.filter((held) => held.from !== from || held.to !== to);
    this.underWay.splice(0, this.underWay.length, ...others);
  }

  join(name: string, options: { readonly environment?: Environment } = {}): System {
    const transport = remoteNodes(this.transport(() => system));
    const system: System = new System({ ...options, name, transport, report: false });
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

/** The signal as text, which its receiver reads as it arrives. */
function carried(signal: WireSignal, from: System, to: System): () => WireSignal {
  const text = new SignalCodec(from.kernel, to.node).encode(signal);
  return () => new SignalCodec(to.kernel, from.node).decode(text);
}
