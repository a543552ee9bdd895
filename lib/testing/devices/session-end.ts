// A system whose sessions send frames over a simulated network. A frame with signals arrives in a step of its own, and so does the end of
// a session. Hellos and heartbeats are no steps: no process learns of them, and a search would take their orders for other schedules.
//
// While nothing is held, the network notices the end of each connection, and heartbeats could only say that all is well. They are left
// out, so that a simulation without work ends. They go, by virtual time, while a cut holds what is sent.

import { SignalCodec } from "../../node/codec/signal-codec.js";
import type { FrameCarrier, FrameReceiver, SessionPace, SessionTimer } from "../../node/session/carrier.js";
import { decodeFrame } from "../../node/session/frame-text.js";
import type { RemoteNode } from "../../process/pid.js";
import type { System } from "../../system.js";
import { contentOf, Packet, type PacketKind } from "../simulator/packet.js";
import type { SimulatedTimers } from "../simulator/timers.js";
import type { NetworkEnd } from "./network-link.js";
import { endsOf, type NetworkPort, type PacketFaults, type Reached } from "./signal-end.js";

/** A timer of a session, by the clock of its system. */
interface EndTimer {
  readonly deadline: number;
  readonly due: () => void;
  cancel: () => void;
}

const FRAME: PacketFaults = { isLossy: true, mayRepeat: true };

export class SessionEnd implements FrameCarrier, NetworkEnd {
  readonly system: System;
  readonly notices = true;
  readonly pace: SessionPace;
  readonly #port: NetworkPort;
  /** The nodes that learn that it has joined, when it is a node of a cluster. */
  readonly #others: readonly NetworkEnd[] | undefined;
  #receiver: FrameReceiver | undefined = undefined;
  readonly #timers = new Set<EndTimer>();
  #isPaused = false;
  /** It is paused, or its sessions have not been told that it goes on: anything that arrives may end one. */
  #isWaking = false;

  constructor(port: NetworkPort, system: System, others?: readonly NetworkEnd[]) {
    this.#port = port;
    this.#others = others;
    this.system = system;
    this.pace = {
      // Jitter spreads the load of many sessions. Here it would make schedules differ in nothing but time.
      random: () => 0.5,
      after: (ms, fire, isEnd) => this.#after(ms, fire, isEnd),
      // Each signal goes in a frame of its own, so that steps of processes can come between any two.
      endOfTurn: (fire) => fire(),
    };
  }

  open(receiver: FrameReceiver): void {
    this.#receiver = receiver;
    for (const other of this.#others ?? []) this.#meet(other as SessionEnd);
  }

  close(): void {
    this.#receiver = undefined;
    for (const link of this.#port.linksOf(this)) link.touched(true);
  }

  send({ id }: RemoteNode, text: string): boolean {
    const way = this.#port.reach(this, id);
    if (way === undefined) return false;
    const there = way.end as SessionEnd;
    const isHello = text.startsWith("S");
    way.link.touched(text.startsWith("E"));
    // The last word of one that has left is on its way.
    if (there.#receiver === undefined || there.system.stopped) return !isHello;
    const fate = way.link.fate(way.from);
    if (fate === "refused" || fate === "lost") return fate === "lost";
    const isData = text.startsWith("D") || text.startsWith("P");
    if (isData) this.#port.post(way, () => there.#packet(this, way, text), FRAME);
    else this.#port.postSafely(way, there.#packet(this, way, text));
    return true;
  }

  /** Tells another node that this one has joined: the other one begins a session. */
  #meet(other: SessionEnd): void {
    const way = this.#port.reach(this, other.system.node.id) as Reached;
    if (way.link.fate(way.from) !== "sent") return;
    const arrive = (): void => other.#receiver?.seen(this.system.node);
    this.#port.postSafely(way, new Packet("join", undefined, arrive));
  }

  /** Systems of one network have met before the scenario begins; the nodes of a cluster meet when they join. */
  linked(node: RemoteNode): void {
    if (this.#others === undefined) this.found(node);
  }

  lost(node: RemoteNode): void {
    this.#receiver?.unreachable(node);
  }

  found(node: RemoteNode): void {
    this.#receiver?.seen(node);
  }

  relies(node: RemoteNode, isSure: boolean): void {
    this.#receiver?.notices(node, isSure);
  }

  #packet(from: SessionEnd, { link }: Reached, text: string): Packet {
    const kind = KINDS[text.charAt(0)] ?? "signals";
    const { world } = this.#port;
    const { node } = from.system;
    const arrive = (): void => {
      link.touched(kind === "end of the session");
      this.#receiver?.frame(node, text);
    };
    if (kind === "hello" || kind === "heartbeat") {
      const isQuiet = (): boolean =>
        !this.#isWaking && (kind === "heartbeat" || this.#receiver?.isUp(node) !== true);
      const apart = (): void => world.code.apart(world.systems.rootOf(this.system.node), arrive);
      return new Packet(kind, undefined, apart, undefined, isQuiet);
    }
    if (kind !== "signals" || world.options.recorder === undefined)
      return new Packet(kind, undefined, arrive);
    return this.#told(from.system, text, arrive);
  }

  /** A packet that says what is in it, for a report. */
  #told(from: System, text: string, arrive: () => void): Packet {
    const frame = decodeFrame(text);
    const codec = new SignalCodec(this.system.kernel, from.node, this.#port.codec);
    const signals = frame?.type === "data" ? codec.decodeAll(frame.body) : [];
    const [first] = signals;
    if (first === undefined || signals.length > 1)
      return new Packet("signals", signals.map(contentOf), arrive);
    return new Packet(first.type, contentOf(first), arrive, () => endsOf(first, from, this.system));
  }

  /** From now on nothing of it runs. The first step after the pause tells the sessions, unless something else comes before it. */
  pause(): void {
    this.#isPaused = this.#isWaking = true;
    for (const timer of this.#timers) timer.cancel();
    this.#step("end of the pause", () => {
      this.#isWaking = false;
      if (this.system.stopped) return;
      for (const link of this.#port.linksOf(this)) {
        link.touched(true);
        link.rely(link.sideOf(this.system));
      }
    });
  }

  /** All that is due is due at once. */
  resume(): void {
    this.#isPaused = false;
    for (const timer of this.#timers) this.#wait(timer);
  }

  /** A timer of a session. It is a step only when a session ends by it. */
  #after(ms: number, fire: () => void, isEnd: () => boolean): SessionTimer {
    let isCancelled = false;
    const run = (): void => {
      if (!isCancelled && !this.system.stopped) fire();
    };
    const due = (): void => {
      this.#timers.delete(timer);
      if (!isEnd()) run();
      else if (!this.system.stopped) this.#step("end of the session", run);
    };
    const timer: EndTimer = { deadline: this.#clock.now() + ms, due, cancel: () => undefined };
    this.#timers.add(timer);
    if (!this.#isPaused) this.#wait(timer);
    return {
      cancel: () => {
        isCancelled = true;
        this.#timers.delete(timer);
        timer.cancel();
      },
    };
  }

  #wait(timer: EndTimer): void {
    const at = this.#clock.trueTime(timer.deadline);
    timer.cancel = this.#port.world.time.silently(at, { fire: timer.due });
  }

  get #clock(): { now(): number; trueTime(local: number): number } {
    const { time } = this.#port.world;
    return (
      (this.system.kernel.timers as SimulatedTimers).clock ?? { now: () => time.now, trueTime: (at) => at }
    );
  }

  #step(kind: PacketKind, run: () => void): void {
    const { agenda, actors, systems } = this.#port.world;
    const root = systems.rootOf(this.system.node) ?? actors.main;
    const task = agenda.channel(root, root, (packet) => (packet as Packet).arrive());
    agenda.post(task, new Packet(kind, undefined, run));
  }
}

const KINDS: Readonly<Record<string, PacketKind>> = {
  S: "hello",
  V: "hello",
  B: "heartbeat",
  E: "end of the session",
  P: "part of a large signal",
};
