// A network between simulated systems. Each signal arrives in a step of its own; between two systems the order holds. The network
// may be slow, lose, double and reorder frames, and cut systems off from each other.

import type { CarrierSource } from "../../node/cluster/carrier-source.js";
import type { FrameCarrier } from "../../node/session/carrier.js";
import { Sessions } from "../../node/session/sessions.js";
import { OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { only } from "../../process/known-options.js";
import { OutOfReach } from "../../process/out-of-reach.js";
import { remoteNodes } from "../../process/remote.js";
import type { ProcessSystem } from "../../process/system.js";
import type { System } from "../../system.js";
import { Packet } from "../simulator/packet.js";
import type { SimulatedTimers } from "../simulator/timers.js";
import type { World } from "../simulator/world.js";
import type { SideIndex } from "./connection-machine.js";
import { type NetworkEnd, NetworkLink } from "./network-link.js";
import {
  type CutOptions,
  type Latency,
  type NetworkOptions,
  type NetworkPlan,
  planOf,
} from "./network-options.js";
import { SessionEnd } from "./session-end.js";
import { type NetworkPort, type PacketFaults, type Reached, SignalEnd } from "./signal-end.js";

/**
 * Connects the systems that join it. Each signal travels as the text that it would be between two machines: what no wire can carry throws
 * where it is sent, and each pid in a message becomes the receiver's own pid for the same process.
 *
 * @example
 * await explore(async (sim) => {
 *   const network = sim.network({ latencyMs: [1, 20], partition: { oneWay: true } });
 *   const here = network.join(sim.system({ name: "here" }));
 *   const there = network.join(sim.system({ name: "there" }));
 *   await Promise.all([here.stop(), there.stop()]);
 * });
 */
export class SimulatedNetwork implements CarrierSource {
  /** What it is, for errors. */
  readonly label: string = "a simulated network";
  readonly #world: World;
  readonly #plan: NetworkPlan;
  readonly #port: NetworkPort;
  readonly #ends: NetworkEnd[] = [];
  readonly #links = new Map<string, NetworkLink>();
  readonly #left: NetworkPlan["budgets"];

  /** @internal */
  constructor(world: World, options: NetworkOptions) {
    this.#world = world;
    this.#plan = planOf(options);
    this.#left = { ...this.#plan.budgets };
    this.#port = {
      world,
      codec: this.#plan.codec,
      linksOf: (end) => [...this.#links.values()].filter(({ ends }) => ends.includes(end)),
      reach: (from, id) => this.#reach(from, id),
      post: (way, make, faults) => this.#post(way, make, faults),
      postSafely: (way, packet) => this.#postSafely(way, packet),
    };
    world.strikes.push(() => this.#strike());
    world.systems.powerLosses.push((kernel) => this.#lost(kernel));
    world.systems.pauses.push((kernel, isPaused) => this.#paused(kernel, isPaused));
    world.faults.remedies.push(() => this.#reconnect());
  }

  /** Connects a system. @throws OptionError */
  join(system: System): System {
    if (this.#ends.some((end) => end.system === system)) return system;
    this.#check(system);
    const { hasSessions, limitMs, codec } = this.#plan;
    if (hasSessions) {
      const end = new SessionEnd(this.#port, system);
      this.#ends.push(end);
      const { errors = [], maxBytes } = codec;
      new Sessions(system, end, { limitMs, errors, ...(maxBytes === undefined ? {} : { maxBytes }) });
      return system;
    }
    const end = new SignalEnd(this.#port, system);
    this.#ends.push(end);
    const { kernel } = system;
    kernel.remote = remoteNodes({ send: (node, signal) => end.send(node, signal) }).connect(kernel);
    return system;
  }

  /**
   * The carrier of a system, for `joinCluster(system, network)`: the system becomes a node of a cluster with all others that joined so.
   *
   * @throws OptionError for a network without sessions
   */
  async connect(system: ProcessSystem): Promise<FrameCarrier> {
    this.#check(system as System);
    if (!this.#plan.hasSessions)
      throw new OptionError("network.sessions", false, "true, for the nodes of a cluster");
    const others = this.#ends.filter((other) => !other.system.stopped);
    const end = new SessionEnd(this.#port, system as System, others);
    this.#ends.push(end);
    return end;
  }

  /**
   * Cuts two systems off from each other until they are healed: messages in transit are lost, and both systems get `noconnection`,
   * each in a step of its own. With options, only one direction is cut, or neither side notices.
   */
  cut(a: System, b: System, options: CutOptions = {}): void {
    only("cut", options, ["oneWay", "silent"]);
    const link = this.#link(a, b);
    this.#world.options.recorder?.note(`the scenario: ${a.name} ${cutText(b, options)}`);
    this.#cut(link, link.sideOf(a), options);
  }

  /** Connects two systems again. */
  heal(a: System, b: System): void {
    this.#heal(this.#link(a, b));
  }

  /** @throws OptionError */
  #check(system: System): void {
    const { kernel } = system;
    if (kernel.interception !== this.#world.interceptor)
      throw new OptionError("system", system.name, "a system of this simulation");
    if (!(kernel.remote instanceof OutOfReach))
      throw new OptionError("system", system.name, "a system without a transport of its own");
  }

  #cut(link: NetworkLink, from: SideIndex, { oneWay = false, silent = false }: CutOptions): void {
    link.cancelEnd?.();
    link.cancelEnd = undefined;
    link.happen({ type: "cut", ways: oneWay ? [from] : [0, 1], silent });
  }

  #heal(link: NetworkLink): void {
    link.cancelEnd?.();
    link.cancelEnd = undefined;
    link.happen({ type: "heal" });
  }

  /** Ends the cuts that are faults. */
  #reconnect(): void {
    for (const link of this.#links.values()) if (link.cancelEnd !== undefined) this.#heal(link);
  }

  /** A system has lost power. Messages that it has sent may still arrive; then the other systems notice. */
  #lost(kernel: Kernel): void {
    const gone = this.#ends.find(({ system }) => system.kernel === kernel);
    if (gone === undefined) return;
    for (const other of this.#ends) {
      if (other === gone || other.system.stopped) continue;
      const link = this.#linkOf(gone, other);
      link.happen({ type: "gone", side: link.sideOf(gone.system) });
    }
  }

  /** The machine of a system is paused, or goes on. Nobody notices that but by the silence of its sessions. */
  #paused(kernel: Kernel, isPaused: boolean): void {
    const end = this.#ends.find(({ system }) => system.kernel === kernel);
    if (end === undefined) return;
    if (!isPaused) end.resume();
    for (const link of this.#port.linksOf(end)) {
      const side = link.sideOf(end.system);
      if (isPaused) link.pause(side);
      else link.resume(side);
    }
    if (isPaused) end.pause();
  }

  /** @throws OptionError */
  #link(a: System, b: System): NetworkLink {
    const [one, other] = [a, b].map((system) => {
      const end = this.#ends.find((known) => known.system === system);
      if (end !== undefined) return end;
      throw new OptionError("system", system.name, "a system that has joined this network");
    }) as [NetworkEnd, NetworkEnd];
    if (a === b) throw new OptionError("system", a.name, "another system than the first");
    return this.#linkOf(one, other);
  }

  #linkOf(a: NetworkEnd, b: NetworkEnd): NetworkLink {
    const [first, second] = a.system.node.id < b.system.node.id ? [a, b] : [b, a];
    const key = `${first.system.node.id} ${second.system.node.id}`;
    const known = this.#links.get(key);
    if (known !== undefined) return known;
    const link = new NetworkLink(this.#world, first, second, () =>
      this.#draw(this.#plan.noticeMs, "notice:connection"),
    );
    this.#links.set(key, link);
    first.linked(second.system.node);
    for (const { system } of [first, second])
      if ((system.kernel.timers as SimulatedTimers).isHeld) link.pause(link.sideOf(system));
    return link;
  }

  #reach(from: NetworkEnd, id: string): Reached | undefined {
    const end = this.#ends.find(({ system }) => system.node.id === id);
    if (end === undefined) return undefined;
    const link = this.#linkOf(from, end);
    return { end, link, from: link.sideOf(from.system) };
  }

  #post(way: Reached, make: () => Packet, { isLossy, mayRepeat }: PacketFaults): void {
    const { link, from, end } = way;
    link.isNew = false;
    if (isLossy && this.#drop(end.system)) return;
    const ms = (): number => this.#draw(this.#latencyOf(way).ms, "latency:network");
    const packet = mayRepeat && this.#may("duplicate") ? this.#doubled(way, make) : make();
    const latencyMs = ms();
    if (isLossy && this.#may("reorder")) link.postApart(from, packet, latencyMs);
    else link.post(from, packet, latencyMs);
  }

  #postSafely(way: Reached, packet: Packet): void {
    const [ms = 0] = this.#latencyOf(way).ms;
    way.link.post(way.from, packet, way.link.isNew ? 0 : ms);
  }

  #doubled({ link, from }: Reached, make: () => Packet): Packet {
    const { kind, content, arrive, ends } = make();
    const twice = (): void => {
      arrive();
      const ms = this.#draw(this.#plan.duplicateMs, "late:duplicate");
      this.#world.options.recorder?.note("the network keeps a copy of this message");
      link.postStale(from, make(), ms);
    };
    return new Packet(kind, content, twice, ends);
  }

  #latencyOf({ link, from, end }: Reached): Latency {
    const { name } = link.ends[from].system;
    return this.#plan.latencies.find((one) => one.from(name) && one.to(end.system.name)) as Latency;
  }

  #drop(to: System): boolean {
    if (!this.#may("drop")) return false;
    this.#world.options.recorder?.note(`the network drops a message to ${to.name}`);
    return true;
  }

  /** Whether a fault strikes a message. */
  #may(kind: "drop" | "duplicate" | "reorder"): boolean {
    if (this.#left[kind] === 0 || !this.#world.faults.allowed) return false;
    if (this.#world.oracle.draw(2, `${kind}:message`) === 0) return false;
    this.#left[kind]--;
    return true;
  }

  #draw(list: readonly number[], label: string): number {
    return list[this.#world.oracle.draw(list.length, label)] as number;
  }

  #strike(): boolean {
    if (this.#left.partition === 0) return false;
    const pairs = this.#ends.flatMap((a, i) => this.#ends.slice(i + 1).map((b) => [a, b] as const));
    const open = pairs.filter(([a, b]) => this.#linkOf(a, b).whole);
    // This fault strikes between two steps; strategies that reduce must know, so the label is listed in reduced-walk.ts.
    const { oracle, options } = this.#world;
    const choice = oracle.draw(open.length + 1, "drop:connection");
    if (choice === 0) return false;
    this.#left.partition--;
    const { cuts, partitionMs } = this.#plan;
    const cut = cuts[oracle.draw(cuts.length, "cut:connection")] as CutOptions;
    const pair = open[choice - 1] as readonly [NetworkEnd, NetworkEnd];
    const turned = cut.oneWay === true && oracle.draw(2, "cut:direction") === 1;
    const [a, b] = turned ? [pair[1], pair[0]] : pair;
    const ms = this.#draw(partitionMs, "ms:connection");
    options.recorder?.faultOf(a.system.name, `${cutText(b.system, cut)} for ${ms} ms`);
    const link = this.#linkOf(a, b);
    this.#cut(link, link.sideOf(a.system), cut);
    link.cancelEnd = this.#world.time.after(ms, { fire: () => this.#heal(link) });
    return true;
  }
}

/** What happens to a system that is cut off from another. */
function cutText(other: System, { oneWay = false, silent = false }: CutOptions): string {
  return `${oneWay ? `no longer reaches ${other.name}` : `is cut off from ${other.name}`}${silent ? " without notice" : ""}`;
}
