// The link of two systems on a network: it executes what the connection machine decides.

import type { RemoteNode } from "../../process/pid.js";
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

/** A system on a network, and how it learns what becomes of its connections. */
export interface NetworkEnd {
  readonly system: System;
  /** A link with a node was made. */
  linked(node: RemoteNode): void;
  /** The connection to a node has ended. */
  lost(node: RemoteNode): void;
  /** There is a connection again. */
  found(node: RemoteNode): void;
  /** From now on the end of a connection is noticed, or it is not, because signals are held or a machine is paused. */
  relies(node: RemoteNode, isSure: boolean): void;
  /** Its machine is paused. */
  pause(): void;
  /** Its machine goes on. */
  resume(): void;
}

const SIDES: readonly SideIndex[] = [0, 1];

export class NetworkLink {
  readonly ends: readonly [NetworkEnd, NetworkEnd];
  /** No signal was sent yet. The first session begins at once, whatever the latency: as if the systems had met before. */
  isNew = true;
  /** Cancels the end of a cut that is a fault. */
  cancelEnd: (() => void) | undefined = undefined;
  readonly #world: World;
  readonly #channels: readonly [NetworkChannel, NetworkChannel];
  /** Virtual milliseconds until a side is notified of the end of the connection. */
  readonly #noticeMs: () => number;
  readonly #key: string;
  #connection: Connection = CONNECTED;
  /** Counts the connections that have ended. */
  #epoch = 0;
  /** The sides whose machines are paused. */
  readonly #paused: [boolean, boolean] = [false, false];
  /** The end of the connection is noticed by itself: nothing is held, and no side is paused. */
  #isSure = true;

  constructor(world: World, a: NetworkEnd, b: NetworkEnd, noticeMs: () => number) {
    this.#world = world;
    this.ends = [a, b];
    this.#noticeMs = noticeMs;
    this.#key = `net:${a.system.node.id} ${b.system.node.id}`;
    const [from, to] = [a, b].map(({ system }) => world.systems.rootOf(system.node) ?? world.actors.main);
    this.#channels = [
      new NetworkChannel(world, from ?? world.actors.main, to ?? world.actors.main),
      new NetworkChannel(world, to ?? world.actors.main, from ?? world.actors.main),
    ];
  }

  sideOf(system: System): SideIndex {
    return system === this.ends[0].system ? 0 : 1;
  }

  /** Nothing is on the way from a side, and nothing holds what it sends. */
  isClear(from: SideIndex): boolean {
    return this.#channels[from].isEmpty;
  }

  /** Neither side has ended, and no cut is in the way. */
  get whole(): boolean {
    this.#world.footprints.read(this.#key);
    const { ways, whole } = this.#connection;
    return whole && ways.every((way) => way === "open") && this.ends.every(({ system }) => !system.stopped);
  }

  /** The fate of what a side sends now. */
  fate(from: SideIndex): ReturnType<typeof fateOf> {
    this.#world.footprints.read(this.#key);
    return fateOf(this.#connection, from);
  }

  /** A step changes the sessions of this link, or depends on them. */
  touched(isChange: boolean): void {
    if (isChange) this.#world.footprints.wrote(this.#key);
    else this.#world.footprints.read(this.#key);
  }

  /** A side has stopped in order. It has not lost power. */
  get isLeft(): boolean {
    const { gone } = this.#connection;
    return SIDES.some((side) => this.ends[side].system.stopped && !gone[side]);
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
    const before = this.#connection;
    const [after, effects] = decide(before, event);
    this.#connection = after;
    this.#world.footprints.wrote(this.#key);
    if (before.whole && !after.whole) this.#epoch++;
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
    const isOther = this.#judge();
    for (const side of SIDES) {
      const node = this.ends[side === 0 ? 1 : 0].system.node;
      if (isOther) this.rely(side);
      const isBack = event.type === "heal" || before.sides[side] !== "up";
      if (isBack && after.sides[side] === "up") this.ends[side].found(node);
    }
  }

  /** The machine of a side is paused. */
  pause(side: SideIndex): void {
    this.#paused[side] = true;
    this.#world.footprints.wrote(this.#key);
    if (this.#judge()) for (const one of SIDES) this.rely(one);
  }

  /** The machine of a side goes on. That side is told in a step of its own, since its session may end then. */
  resume(side: SideIndex): void {
    this.#paused[side] = false;
    this.#world.footprints.wrote(this.#key);
    if (this.#judge()) this.rely(side === 0 ? 1 : 0);
  }

  /** Tells a side whether the end of the connection is noticed by itself. */
  rely(side: SideIndex): void {
    this.ends[side].relies(this.ends[side === 0 ? 1 : 0].system.node, this.#isSure);
  }

  /** Returns whether the end of the connection is noticed from now on, or is not any more. */
  #judge(): boolean {
    const before = this.#isSure;
    this.#isSure = !this.#connection.ways.includes("held") && !this.#paused.includes(true);
    return before !== this.#isSure;
  }

  /** The notice queues behind the signals in transit, and before those of the next connection. */
  #notify(side: SideIndex): void {
    const from = side === 0 ? 1 : 0;
    const arrive = (): void => {
      // The end comes first: a connection may be there again.
      this.ends[side].lost(this.ends[from].system.node);
      this.happen({ type: "notified", side });
    };
    this.#channels[from].post(new Packet("end of the connection", undefined, arrive), this.#noticeMs());
  }
}
