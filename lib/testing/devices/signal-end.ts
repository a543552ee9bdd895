// A system whose simulated network passes single signals, each in a step of its own, without sessions.

import { SignalCodec, type SignalCodecOptions, TRACES } from "../../node/codec/signal-codec.js";
import type { RemoteNode } from "../../process/pid.js";
import type { PidAddress, WireSignal } from "../../process/wire-signal.js";
import type { System } from "../../system.js";
import { contentOf, type Ends, Packet } from "../simulator/packet.js";
import type { World } from "../simulator/world.js";
import type { SideIndex } from "./connection-machine.js";
import type { NetworkEnd, NetworkLink } from "./network-link.js";

/** The part of a network that its ends need. */
export interface NetworkPort {
  readonly world: World;
  readonly codec: SignalCodecOptions;
  /** The system of this id, and the link with it. Undefined when it has not joined. */
  reach(from: NetworkEnd, id: string): Reached | undefined;
  linksOf(end: NetworkEnd): readonly NetworkLink[];
  /** Sends a packet with the latency and the faults of its link. */
  post(way: Reached, make: () => Packet, faults: PacketFaults): void;
  /** Sends a packet that no fault strikes, with the ordinary latency of its link. */
  postSafely(way: Reached, packet: Packet): void;
}

/** The way from one system to another. */
export interface Reached {
  readonly end: NetworkEnd;
  readonly link: NetworkLink;
  /** The side that sends. */
  readonly from: SideIndex;
}

/** The faults that may strike a packet: it is lost or out of order, or it arrives twice. */
export interface PacketFaults {
  readonly isLossy: boolean;
  readonly mayRepeat: boolean;
}

/** A system whose network passes single signals. */
export class SignalEnd implements NetworkEnd {
  readonly system: System;
  readonly #port: NetworkPort;
  readonly #codecs = new Map<string, SignalCodec>();

  constructor(port: NetworkPort, system: System) {
    this.#port = port;
    this.system = system;
  }

  send(node: RemoteNode, signal: WireSignal): boolean {
    const way = this.#port.reach(this, node.id);
    if (way === undefined) return false;
    const there = way.end as SignalEnd;
    // As on a real wire: what no text can hold is refused where it is sent, whatever becomes of it then.
    const text = this.#codec(node).encode(signal);
    // A system that stops in order takes its leave.
    const fate = way.link.isLeft ? "refused" : way.link.fate(way.from);
    if (fate === "refused" || fate === "lost") return fate === "lost";
    const faults = { isLossy: isLossy(signal), mayRepeat: isRequest(signal) };
    this.#port.post(way, () => there.#packet(this.system, text), faults);
    return true;
  }

  linked(): void {}

  lost({ id }: RemoteNode): void {
    this.system.nodeDown(id);
  }

  found(): void {}

  relies(): void {}

  pause(): void {}

  resume(): void {}

  #packet(from: System, text: string): Packet {
    const signal = this.#codec(from.node).decode(text);
    const arrive = (): void => this.system.deliver(signal);
    return new Packet(signal.type, contentOf(signal), arrive, () => endsOf(signal, from, this.system));
  }

  #codec(peer: RemoteNode): SignalCodec {
    const known = this.#codecs.get(peer.id);
    if (known !== undefined) return known;
    const codec = new SignalCodec(this.system.kernel, peer, this.#port.codec);
    codec.agreed([TRACES]);
    this.#codecs.set(peer.id, codec);
    return codec;
  }
}

/** A message or a call: a fault may have it arrive twice. */
function isRequest({ type }: WireSignal): boolean {
  return type === "message" || type === "call";
}

/** What a fault may lose, or take out of its order: also a reply. Signals of links, monitors and exits are safe, and so is the exit of a callee. */
function isLossy(signal: WireSignal): boolean {
  return isRequest(signal) || (signal.type === "reply" && "ok" in signal.outcome);
}

/** The processes at both ends of a signal. A message does not say where it comes from, and a reply goes to code. */
export function endsOf(signal: WireSignal, from: System, to: System): Ends {
  if (signal.type === "reply") return {};
  const isFromCode = isRequest(signal) || signal.type === "cancel";
  return {
    to: to.pidAt(signal.to),
    from: isFromCode ? undefined : from.pidAt((signal as { readonly from: PidAddress }).from),
  };
}
