// One direction between two systems of a network: packets with their latencies, in the order in which they were sent.

import type { Actor } from "../simulator/actor.js";
import { Packet } from "../simulator/packet.js";
import type { DeliverTask } from "../simulator/tasks.js";
import type { World } from "../simulator/world.js";

export class NetworkChannel {
  readonly #world: World;
  readonly #from: Actor;
  readonly #to: Actor;
  readonly #task: DeliverTask;
  /** No packet arrives before this time, so that latencies keep the order. */
  #earliest = 0;
  /** Packets whose latency is not over, in their order, each with the call that cancels its timer. */
  readonly #travelling = new Map<Packet, () => void>();
  /** Packets that wait for the end of a silent cut; undefined when there is none. */
  #held: Packet[] | undefined = undefined;
  /** A packet arrives in this step. */
  #isArriving = false;

  constructor(world: World, from: Actor, to: Actor) {
    this.#world = world;
    this.#from = from;
    this.#to = to;
    this.#task = this.#channel((packet) => this.#arrive(packet));
  }

  /** Nothing is on its way. */
  get isEmpty(): boolean {
    return this.#task.pending === 0 && this.#travelling.size === 0 && this.#held === undefined;
  }

  /** Sends a packet, which arrives after the packets before it. */
  post(packet: Packet, latencyMs: number): void {
    this.#sent(packet);
    this.#earliest = Math.max(this.#earliest, this.#world.time.now + latencyMs);
    this.#forward(packet, this.#earliest);
  }

  /** Sends a packet that keeps no order with others. */
  postApart(packet: Packet, latencyMs: number): void {
    this.#sent(packet);
    const task = this.#channel((one) => one.arrive());
    if (latencyMs === 0) this.#world.agenda.post(task, packet);
    else this.#world.time.after(latencyMs, { fire: () => this.#world.agenda.post(task, packet) });
  }

  /** Loses the signals in transit. A notice of the end of the connection stays on its way. */
  lose(): void {
    for (const packet of this.#taken()) if (packet.kind === "end of the connection") this.#arrived(packet);
  }

  /** Holds the signals in transit until {@link NetworkChannel.release}. */
  hold(): void {
    this.#held = this.#taken();
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const packet of held) this.#arrived(packet);
  }

  /** Removes and returns all packets, in their order. */
  #taken(): Packet[] {
    const taken = [...(this.#held ?? []), ...(this.#world.agenda.clear(this.#task) as Packet[])];
    for (const [packet, cancel] of this.#travelling) {
      cancel();
      taken.push(packet);
    }
    this.#travelling.clear();
    if (this.#held !== undefined) this.#held = [];
    return taken;
  }

  #forward(packet: Packet, at: number): void {
    const { time } = this.#world;
    if (at <= time.now && this.#travelling.size === 0) {
      this.#arrived(packet);
      return;
    }
    const fire = (): void => this.#landed(packet);
    this.#travelling.set(
      packet,
      packet.isQuiet() ? time.silently(at, { fire }) : time.after(at - time.now, { fire }),
    );
  }

  /** The latency of a packet is over, and so are those of the packets before it. */
  #landed(last: Packet): void {
    for (const [packet, cancel] of this.#travelling) {
      this.#travelling.delete(packet);
      cancel();
      this.#arrived(packet);
      if (packet === last) return;
    }
  }

  /** Its latency is over: it can be delivered, unless a cut holds it. */
  #arrived(packet: Packet): void {
    if (this.#held !== undefined) this.#held.push(packet);
    else if (this.#isArriving) this.#task.held.push(packet);
    else if (this.#task.pending === 0 && this.#to.parked === undefined && packet.isQuiet()) packet.arrive();
    else this.#world.agenda.post(this.#task, packet);
  }

  /** Delivers a packet, and those behind it of which no process learns. */
  #arrive(packet: Packet): void {
    const { held } = this.#task;
    this.#isArriving = true;
    try {
      packet.arrive();
      while ((held[0] as Packet | undefined)?.isQuiet() === true) (held.shift() as Packet).arrive();
    } finally {
      this.#isArriving = false;
    }
  }

  #sent(packet: Packet): void {
    // The next packet queues behind this one, so two steps that send on this channel cannot swap places.
    const isQuiet = packet.isQuiet();
    if (!isQuiet || !this.isEmpty) this.#world.footprints.wrote(this.#to.mailbox);
    if (!isQuiet) this.#world.options.recorder?.sent(this.#from, this.#to, packet, true);
  }

  #channel(arrive: (packet: Packet) => void): DeliverTask {
    return this.#world.agenda.channel(this.#from, this.#to, (packet) => {
      if (packet instanceof Packet) arrive(packet);
    });
  }
}
