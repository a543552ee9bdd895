// A network between simulated systems. Each signal arrives in a step of its own; between two systems the order holds. The network
// may drop and duplicate messages, and cut systems off from each other.

import { OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { OutOfReach } from "../../process/out-of-reach.js";
import type { RemoteNode } from "../../process/pid.js";
import { remoteNodes, type WireSignal } from "../../process/remote.js";
import type { Timer } from "../../process/timer-queue.js";
import type { System } from "../../system.js";
import { durations, only, times } from "../simulator/options.js";
import { Parcel } from "../simulator/parcel.js";
import type { DeliverTask } from "../simulator/tasks.js";
import type { World } from "../simulator/world.js";
import { contentOf, copySignal, type Direction } from "./network-copy.js";

/** Faults of a network. By default there are none, and there are none while the simulation is calm. */
export interface NetworkOptions {
  /**
   * Messages and replies to drop in one schedule. Links, monitors and exit signals are never dropped; only a cut loses them.
   */
  readonly drop?: {
    /** Most drops in one schedule: 1 or more, or Infinity. Default 1. */
    readonly atMost?: number;
  };
  /** Messages to deliver twice in one schedule. */
  readonly duplicate?: {
    /** Most duplicates in one schedule: 1 or more, or Infinity. Default 1. */
    readonly atMost?: number;
  };
  /** Cuts between two systems in one schedule. A cut lasts one of these virtual milliseconds, or until the simulation is calm. */
  readonly partition?: {
    /** Most cuts in one schedule: 1 or more, or Infinity. Default 1. */
    readonly atMost?: number;
    /** Durations of a cut to choose from, in virtual milliseconds. Default 10, 1,000 and 60,000. */
    readonly forMs?: readonly number[];
  };
}

const PARTITION_MS: readonly number[] = [10, 1_000, 60_000];

/**
 * Connects the systems that join it. A message arrives as a copy, in which each pid is the receiver's own pid for the same
 * process. The reply to a call travels over the network, too.
 *
 * @example
 * await explore(async (sim) => {
 *   const network = sim.network({ partition: { atMost: 1 } });
 *   const here = network.join(sim.system({ name: "here" }));
 *   const there = network.join(sim.system({ name: "there" }));
 *   await Promise.all([here.stop(), there.stop()]);
 * });
 */
export class SimulatedNetwork {
  readonly #world: World;
  readonly #systems: System[] = [];
  readonly #ways = new Map<string, DeliverTask>();
  /** Pairs that are cut off. A cut that is a fault has a timer that ends it. */
  readonly #cuts = new Map<string, Timer | undefined>();
  /** Systems that have lost power, by the systems that have yet to notice. */
  readonly #unnoticed = new Map<System, Set<System>>();
  readonly #lengths: readonly number[];
  #drops: number;
  #duplicates: number;
  #partitions: number;

  /** @internal */
  constructor(world: World, options: NetworkOptions) {
    only("network", options, ["drop", "duplicate", "partition"]);
    const { drop, duplicate, partition } = options;
    if (drop !== undefined) only("network.drop", drop, ["atMost"]);
    if (duplicate !== undefined) only("network.duplicate", duplicate, ["atMost"]);
    if (partition !== undefined) only("network.partition", partition, ["atMost", "forMs"]);
    this.#world = world;
    this.#drops = drop === undefined ? 0 : times("network.drop", drop);
    this.#duplicates = duplicate === undefined ? 0 : times("network.duplicate", duplicate);
    this.#partitions = partition === undefined ? 0 : times("network.partition", partition);
    this.#lengths = durations("network.partition.forMs", partition?.forMs ?? PARTITION_MS);
    world.strikes.push(() => this.#strike());
    world.powerLosses.push((kernel) => this.#lost(kernel));
    world.faults.remedies.push(() => this.#reconnect());
  }

  /**
   * Connects a system of the same simulation. The network becomes its transport.
   *
   * @throws OptionError when the system belongs to another simulation or has a transport
   */
  join(system: System): System {
    if (this.#systems.includes(system)) return system;
    const { kernel } = system;
    if (kernel.interception !== this.#world.interceptor)
      throw new OptionError("system", system.name, "a system of this simulation");
    if (!(kernel.remote instanceof OutOfReach))
      throw new OptionError("system", system.name, "a system without a transport of its own");
    kernel.remote = remoteNodes({ send: (node, signal) => this.#send(system, node, signal) }).connect(kernel);
    this.#systems.push(system);
    return system;
  }

  /** Cuts two systems off from each other: signals in transit are lost, and both systems see `noconnection`. */
  cut(a: System, b: System): void {
    this.#cut(a, b, undefined);
  }

  /** Connects two systems again. */
  heal(a: System, b: System): void {
    this.#heal(this.#pair(a, b));
  }

  #cut(a: System, b: System, end: Timer | undefined): void {
    const pair = this.#pair(a, b);
    const before = this.#cuts.get(pair);
    if (before !== undefined) this.#world.cancel(before);
    this.#cuts.set(pair, end);
    this.#world.wrote(pair);
    for (const key of [`${a.node.id} ${b.node.id}`, `${b.node.id} ${a.node.id}`]) {
      const way = this.#ways.get(key);
      if (way !== undefined) this.#world.agenda.clear(way);
    }
    this.#nodeDown(a, b);
    this.#nodeDown(b, a);
  }

  /**
   * A system has lost power. Its messages in transit still arrive, then each other system notices in a step of its own. What is
   * sent to it meanwhile is lost without notice.
   */
  #lost(kernel: Kernel): void {
    const gone = this.#systems.find((system) => system.kernel === kernel);
    if (gone === undefined) return;
    for (const other of this.#systems) {
      if (other === gone || !this.#connected(gone, other)) continue;
      const unnoticed = this.#unnoticed.get(other) ?? new Set();
      this.#unnoticed.set(other, unnoticed.add(gone));
      const notice = (): void => {
        unnoticed.delete(gone);
        this.#nodeDown(other, gone);
      };
      this.#post(gone, other, new Parcel("end of the connection", undefined, notice));
    }
  }

  #nodeDown(system: System, other: System): void {
    for (const pid of system.processes()) this.#world.interceptor.met(pid);
    system.nodeDown(other.node.id);
  }

  #heal(pair: string): void {
    const end = this.#cuts.get(pair);
    if (end !== undefined) this.#world.cancel(end);
    if (this.#cuts.delete(pair)) this.#world.wrote(pair);
  }

  /** Ends the cuts that are faults. */
  #reconnect(): void {
    for (const [pair, end] of this.#cuts) if (end !== undefined) this.#heal(pair);
  }

  /** The key of a pair of systems. */
  #pair(a: System, b: System): string {
    for (const one of [a, b])
      if (!this.#systems.includes(one))
        throw new OptionError("system", one.name, "a system that has joined this network");
    if (a === b) throw new OptionError("system", a.name, "another system than the first");
    return `net:${[a.node.id, b.node.id].sort().join(" ")}`;
  }

  #connected(a: System, b: System): boolean {
    const pair = this.#pair(a, b);
    this.#world.read(pair);
    return !a.stopped && !b.stopped && !this.#cuts.has(pair);
  }

  #send(from: System, node: RemoteNode, signal: WireSignal): boolean {
    const to = this.#systems.find((system) => system.node.id === node.id);
    if (to === undefined) return false;
    if (this.#unnoticed.get(from)?.has(to) === true) return true;
    if (!this.#connected(from, to)) return false;
    const copies = signal.type === "message" ? this.#copies(to) : 1;
    for (let copy = 0; copy < copies; copy++) {
      const there = copySignal(signal, this.#wire(from, to));
      const arrive = (): void => {
        if (there.type !== "message") this.#world.interceptor.met(to.pidAt(there.to));
        to.deliver(there);
      };
      this.#post(
        from,
        to,
        new Parcel(there.type, contentOf(there), arrive, () => ({
          to: to.pidAt(there.to),
          from: there.type === "message" ? undefined : from.pidAt(there.from),
        })),
      );
    }
    return true;
  }

  #wire(from: System, to: System): Direction {
    return {
      from,
      to,
      back: (content, settle) => {
        if (!this.#connected(to, from) || this.#drop(from)) return;
        this.#post(to, from, new Parcel("reply", content, () => settle(this.#wire(to, from))));
      },
    };
  }

  #post(from: System, to: System, parcel: Parcel): void {
    const way = this.#way(from, to);
    // The next message on this channel queues behind this one, so two steps that send on it cannot swap places.
    this.#world.wrote(way.owner.mailbox);
    this.#world.options.recorder?.sent(way.from, way.owner, parcel, true);
    this.#world.agenda.post(way, parcel);
  }

  #copies(to: System): number {
    if (this.#drop(to)) return 0;
    if (!this.#may(this.#duplicates, "duplicate:message")) return 1;
    this.#duplicates--;
    return 2;
  }

  #drop(to: System): boolean {
    if (!this.#may(this.#drops, "drop:message")) return false;
    this.#drops--;
    this.#world.options.recorder?.note(`the network drops a message to ${to.name}`);
    return true;
  }

  #may(left: number, label: string): boolean {
    return left > 0 && !this.#world.faults.calm && this.#world.oracle.draw(2, label) === 1;
  }

  #way(from: System, to: System): DeliverTask {
    const key = `${from.node.id} ${to.node.id}`;
    let way = this.#ways.get(key);
    if (way === undefined) {
      const { main } = this.#world;
      const [sender, receiver] = [from, to].map((one) => this.#world.rootOf(one.node) ?? main);
      way = this.#world.agenda.channel(sender ?? main, receiver ?? main, (parcel) =>
        (parcel as Parcel).arrive(),
      );
      this.#ways.set(key, way);
    }
    return way;
  }

  #strike(): boolean {
    if (this.#partitions === 0) return false;
    const pairs = this.#systems.flatMap((a, i) => this.#systems.slice(i + 1).map((b) => [a, b] as const));
    const open = pairs.filter(([a, b]) => this.#connected(a, b));
    // This fault strikes between two steps; strategies that reduce must know, so the label is listed in independence.ts.
    const choice = this.#world.oracle.draw(open.length + 1, "drop:connection");
    if (choice === 0) return false;
    this.#partitions--;
    const [a, b] = open[choice - 1] as readonly [System, System];
    const ms = this.#lengths[this.#world.oracle.draw(this.#lengths.length, "ms:connection")] as number;
    this.#world.options.recorder?.faultOf(a.name, `is cut off from ${b.name} for ${ms} ms`);
    const pair = this.#pair(a, b);
    this.#cut(a, b, this.#world.after(ms, { fire: () => this.#heal(pair) }));
    return true;
  }
}
