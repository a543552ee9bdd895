// One direction between two systems of a network: parcels with their latencies, in the order in which they were sent.

import type { Timer } from "../../process/timer-queue.js";
import type { Actor } from "../simulator/actor.js";
import { Parcel } from "../simulator/parcel.js";
import type { DeliverTask } from "../simulator/tasks.js";
import type { World } from "../simulator/world.js";

export class NetworkChannel {
  readonly #world: World;
  readonly #from: Actor;
  readonly #to: Actor;
  readonly #task: DeliverTask;
  /** No parcel arrives before this time, so that latencies keep the order. */
  #earliest = 0;
  /** Parcels whose latency is not over, with the timers that end it. */
  readonly #travelling = new Map<Parcel, Timer>();
  /** Parcels that wait for the end of a silent cut; undefined when there is none. */
  #held: Parcel[] | undefined = undefined;

  constructor(world: World, from: Actor, to: Actor) {
    this.#world = world;
    this.#from = from;
    this.#to = to;
    this.#task = this.#channel();
  }

  /** Sends a parcel, which arrives after the parcels before it. */
  post(parcel: Parcel, latencyMs: number): void {
    this.#sent(parcel);
    this.#earliest = Math.max(this.#earliest, this.#world.now + latencyMs);
    this.#forward(parcel, this.#earliest);
  }

  /** Sends a parcel that keeps no order with others. */
  postApart(parcel: Parcel, latencyMs: number): void {
    this.#sent(parcel);
    const task = this.#channel();
    if (latencyMs === 0) this.#world.agenda.post(task, parcel);
    else this.#world.after(latencyMs, { fire: () => this.#world.agenda.post(task, parcel) });
  }

  /** Loses the signals in transit. A notice of the end of the connection stays on its way. */
  lose(): void {
    for (const parcel of this.#taken()) if (parcel.kind === "end of the connection") this.#arrived(parcel);
  }

  /** Holds the signals in transit until {@link NetworkChannel.release}. */
  hold(): void {
    this.#held = this.#taken();
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const parcel of held) this.#arrived(parcel);
  }

  /** Removes and returns all parcels, in their order. */
  #taken(): Parcel[] {
    const taken = [...(this.#held ?? []), ...(this.#world.agenda.clear(this.#task) as Parcel[])];
    for (const [parcel, timer] of this.#travelling) {
      this.#world.cancel(timer);
      taken.push(parcel);
    }
    this.#travelling.clear();
    if (this.#held !== undefined) this.#held = [];
    return taken;
  }

  #forward(parcel: Parcel, at: number): void {
    const ms = at - this.#world.now;
    if (ms <= 0 && this.#travelling.size === 0) {
      this.#arrived(parcel);
      return;
    }
    const fire = (): void => {
      this.#travelling.delete(parcel);
      this.#arrived(parcel);
    };
    this.#travelling.set(parcel, this.#world.after(ms, { fire }));
  }

  /** Its latency is over: it can be delivered, unless a cut holds it. */
  #arrived(parcel: Parcel): void {
    if (this.#held === undefined) this.#world.agenda.post(this.#task, parcel);
    else this.#held.push(parcel);
  }

  #sent(parcel: Parcel): void {
    // The next parcel queues behind this one, so two steps that send on this channel cannot swap places.
    this.#world.wrote(this.#to.mailbox);
    this.#world.options.recorder?.sent(this.#from, this.#to, parcel, true);
  }

  #channel(): DeliverTask {
    return this.#world.agenda.channel(this.#from, this.#to, (parcel) => {
      if (parcel instanceof Parcel) parcel.arrive();
    });
  }
}
