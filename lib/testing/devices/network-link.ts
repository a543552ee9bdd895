// The link of two systems on a network: it executes what the connection machine decides.

import type { Timer } from "../../process/timer-queue.js";
import type { System } from "../../system.js";
import { Packet } from "../simulator/packet.js";
import type { World } from "../simulator/world.js";
import {
  admits,
  CONNECTED,
  type Connection,
  type ConnectionEvent,
  decide,
  fateOf,
  type SideIndex,
} from "./connection-machine.js";
import { NetworkChannel } from "./network-channel.js";

export class NetworkLink {
  readonly systems: readonly [System, System];
  /** Ends a cut that is a fault. */
  end: Timer | undefined = undefined;
  readonly #world: World;
  readonly #channels: readonly [NetworkChannel, NetworkChannel];
  /** Virtual milliseconds until a side is notified of the end of the connection. */
  readonly #noticeMs: () => number;
  readonly #key: string;
  #connection: Connection = CONNECTED;
  /** Counts the connections that have ended. */
  #epoch = 0;

  constructor(world: World, a: System, b: System, noticeMs: () => number) {
    this.#world = world;
    this.systems = [a, b];
    this.#noticeMs = noticeMs;
    this.#key = `net:${a.node.id} ${b.node.id}`;
    const [from, to] = [a, b].map((system) => world.systems.rootOf(system.node) ?? world.actors.main);
    this.#channels = [
      new NetworkChannel(world, from ?? world.actors.main, to ?? world.actors.main),
      new NetworkChannel(world, to ?? world.actors.main, from ?? world.actors.main),
    ];
  }

  sideOf(system: System): SideIndex {
    return system === this.systems[0] ? 0 : 1;
  }

  /** Neither side has ended, and no cut is in the way. */
  get whole(): boolean {
    this.#world.footprints.read(this.#key);
    const { ways, whole } = this.#connection;
    return whole && ways.every((way) => way === "open") && this.systems.every((system) => !system.stopped);
  }

  /** The fate of a signal that a side sends now. */
  fate(from: SideIndex): ReturnType<typeof fateOf> {
    this.#world.footprints.read(this.#key);
    const { gone } = this.#connection;
    // A system that stops in order takes its leave.
    const stopped = this.systems.some((system, side) => system.stopped && !gone[side as SideIndex]);
    return stopped ? "refused" : fateOf(this.#connection, from);
  }

  post(from: SideIndex, packet: Packet, latencyMs: number): void {
    this.#channels[from].post(packet, latencyMs);
  }

  /** Sends a signal that other signals may overtake. It does not survive its connection. */
  postApart(from: SideIndex, packet: Packet, latencyMs: number): void {
    const epoch = this.#epoch;
    this.#apart(from, packet, latencyMs, () => epoch === this.#epoch);
  }

  /** Sends another copy of a signal, which may arrive when the connection is a new one. */
  postStale(from: SideIndex, packet: Packet, latencyMs: number): void {
    this.#apart(from, packet, latencyMs, () => true);
  }

  #apart(from: SideIndex, packet: Packet, latencyMs: number, fits: () => boolean): void {
    const arrive = (): void => {
      this.#world.footprints.read(this.#key);
      if (fits() && admits(this.#connection, from)) packet.arrive();
    };
    const { kind, content, ends } = packet;
    this.#channels[from].postApart(new Packet(kind, content, arrive, ends), latencyMs);
  }

  happen(event: ConnectionEvent): void {
    const { whole } = this.#connection;
    const [after, effects] = decide(this.#connection, event);
    this.#connection = after;
    this.#world.footprints.wrote(this.#key);
    if (whole && !after.whole) this.#epoch++;
    for (const effect of effects) {
      switch (effect.type) {
        case "lose":
          this.#channels[effect.way].lose();
          break;
        case "hold":
          this.#channels[effect.way].hold();
          break;
        case "release":
          this.#channels[effect.way].release();
          break;
        case "notify":
          this.#notify(effect.side);
          break;
        default:
          effect satisfies never;
      }
    }
  }

  /** The notice queues behind the signals in transit, and before those of the next connection. */
  #notify(side: SideIndex): void {
    const from = side === 0 ? 1 : 0;
    const [system, other] = [this.systems[side], this.systems[from]];
    const arrive = (): void => {
      this.happen({ type: "notified", side });
      for (const pid of system.processes()) this.#world.interceptor.met(pid);
      system.nodeDown(other.node.id);
    };
    this.#channels[from].post(new Packet("end of the connection", undefined, arrive), this.#noticeMs());
  }
}
