// A network between simulated systems. Each signal arrives in a step of its own; between two systems the order holds. The network
// may be slow, drop, duplicate and reorder messages, and cut systems off from each other.

import type { ErrorClass } from "../../host/payload/error-record.js";
import { checkCodec, SignalCodec, type SignalCodecOptions } from "../../node/codec/signal-codec.js";
import { OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { only } from "../../process/known-options.js";
import { delay, flag } from "../../process/options.js";
import { OutOfReach } from "../../process/out-of-reach.js";
import type { RemoteNode } from "../../process/pid.js";
import { remoteNodes } from "../../process/remote.js";
import type { PidAddress, WireSignal } from "../../process/wire-signal.js";
import type { System } from "../../system.js";
import { durations, times } from "../simulator/options.js";
import { contentOf, type Ends, Packet } from "../simulator/packet.js";
import { type ProcessPattern, patternMatcher } from "../simulator/process-pattern.js";
import type { World } from "../simulator/world.js";
import type { SideIndex } from "./connection-machine.js";
import { NetworkLink } from "./network-link.js";

/** How often a fault of a network may strike in one schedule. */
export interface NetworkFaultRule {
  /** Times in one schedule: 1 or more, or Infinity. Default 1. */
  readonly atMost?: number;
}

/** Latencies of some links. */
export interface NetworkLinkOptions {
  /** The system that sends, by name. Default all. */
  readonly from?: ProcessPattern;
  /** The system that receives, by name. Default all. */
  readonly to?: ProcessPattern;
  /** Virtual milliseconds that a signal takes, one of them for each signal. The first is the ordinary one. */
  readonly latencyMs: number | readonly number[];
}

/**
 * Latencies and faults of a network. By default signals arrive at once, and there are no faults. There are none while the
 * simulation is calm.
 */
export interface NetworkOptions {
  /** Virtual milliseconds that a signal takes, one of them for each signal. The first is the ordinary one. Default 0. */
  readonly latencyMs?: number | readonly number[];
  /** Other latencies for some links. The first entry that fits counts. */
  readonly links?: readonly NetworkLinkOptions[];
  /**
   * Messages and replies to drop in one schedule. Links, monitors and exit signals are never dropped; only a cut loses them.
   */
  readonly drop?: NetworkFaultRule;
  /**
   * Messages to deliver twice. The copy arrives at any later time, also over a later connection of the same systems, after a cut.
   */
  readonly duplicate?: NetworkFaultRule & {
    /** Virtual milliseconds between the message and its copy, at least. Default 0, 100 and 10,000. */
    readonly afterMs?: readonly number[];
  };
  /** Messages that leave the order of their pair of systems: others overtake them, or they overtake others. */
  readonly reorder?: NetworkFaultRule;
  /** Cuts between two systems. A cut ends when the simulation is calm. */
  readonly partition?: NetworkFaultRule & {
    /** Durations of a cut to choose from, in virtual milliseconds. Default 10, 1,000 and 60,000. */
    readonly forMs?: readonly number[];
    /** Whether a cut may be in one direction only. Default false. */
    readonly oneWay?: boolean;
    /** Whether a cut may be silent. Default false. */
    readonly silent?: boolean;
  };
  /** Virtual milliseconds until a side notices the end of a connection, one of them for each side. Default 0. */
  readonly noticeMs?: number | readonly number[];
  /** Classes of errors of yours. Errors of other classes arrive as `Error`, with the name of their class. Default none. */
  readonly errors?: readonly ErrorClass[];
  /** The largest message, call or reply, in bytes as it is sent: 1 or more. A larger one throws where it is sent. Default 16 MiB. */
  readonly maxBytes?: number;
}

/** Options of a cut. */
export interface CutOptions {
  /** Whether only what the first system sends is cut. Default false. */
  readonly oneWay?: boolean;
  /**
   * Whether neither side notices. Messages that are sent meanwhile are held, and arrive after the cut, as over TCP. Default false:
   * messages in transit are lost, and both sides get `noconnection`, each in a step of its own.
   */
  readonly silent?: boolean;
}

const PARTITION_MS: readonly number[] = [10, 1_000, 60_000];
const DUPLICATE_MS: readonly number[] = [0, 100, 10_000];

interface Latency {
  readonly from: (name: string) => boolean;
  readonly to: (name: string) => boolean;
  readonly ms: readonly number[];
}

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
export class SimulatedNetwork {
  readonly #world: World;
  readonly #systems: System[] = [];
  readonly #links = new Map<string, NetworkLink>();
  readonly #codecs = new Map<string, SignalCodec>();
  readonly #codecOptions: SignalCodecOptions;
  readonly #latencies: readonly Latency[];
  readonly #notices: readonly number[];
  readonly #duplicateMs: readonly number[];
  readonly #partitionMs: readonly number[];
  /** Kinds of cuts that are faults; the first is the ordinary one. */
  readonly #cuts: readonly CutOptions[];
  readonly #left: { drop: number; duplicate: number; reorder: number; partition: number };

  /** @internal */
  constructor(world: World, options: NetworkOptions) {
    only("network", options, [
      ...(["latencyMs", "links", "drop", "duplicate", "reorder", "partition", "noticeMs"] as const),
      ...(["errors", "maxBytes"] as const),
    ]);
    this.#codecOptions = checkCodec("network", { errors: options.errors, maxBytes: options.maxBytes });
    const { drop, duplicate, reorder, partition } = options;
    if (drop !== undefined) only("network.drop", drop, ["atMost"]);
    if (duplicate !== undefined) only("network.duplicate", duplicate, ["atMost", "afterMs"]);
    if (reorder !== undefined) only("network.reorder", reorder, ["atMost"]);
    if (partition !== undefined)
      only("network.partition", partition, ["atMost", "forMs", "oneWay", "silent"]);
    this.#world = world;
    const budget = (path: string, rule: NetworkFaultRule | undefined): number =>
      rule === undefined ? 0 : times(path, rule);
    this.#left = {
      drop: budget("network.drop", drop),
      duplicate: budget("network.duplicate", duplicate),
      reorder: budget("network.reorder", reorder),
      partition: budget("network.partition", partition),
    };
    this.#latencies = [
      ...linksOf(options.links),
      { from: () => true, to: () => true, ms: oneOrMore("network.latencyMs", options.latencyMs ?? 0) },
    ];
    this.#notices = oneOrMore("network.noticeMs", options.noticeMs ?? 0);
    this.#duplicateMs = durations("network.duplicate.afterMs", duplicate?.afterMs ?? DUPLICATE_MS);
    this.#partitionMs = durations("network.partition.forMs", partition?.forMs ?? PARTITION_MS);
    const oneWay = flag("network.partition.oneWay", partition?.oneWay ?? false);
    const silent = flag("network.partition.silent", partition?.silent ?? false);
    this.#cuts = [{}, { oneWay: true }, { silent: true }, { oneWay: true, silent: true }].filter(
      (cut: CutOptions) => (oneWay || cut.oneWay !== true) && (silent || cut.silent !== true),
    );
    world.strikes.push(() => this.#strike());
    world.systems.powerLosses.push((kernel) => this.#lost(kernel));
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

  #cut(link: NetworkLink, from: SideIndex, { oneWay = false, silent = false }: CutOptions): void {
    if (link.end !== undefined) this.#world.time.cancel(link.end);
    link.end = undefined;
    link.happen({ type: "cut", ways: oneWay ? [from] : [0, 1], silent });
  }

  #heal(link: NetworkLink): void {
    if (link.end !== undefined) this.#world.time.cancel(link.end);
    link.end = undefined;
    link.happen({ type: "heal" });
  }

  /** Ends the cuts that are faults. */
  #reconnect(): void {
    for (const link of this.#links.values()) if (link.end !== undefined) this.#heal(link);
  }

  /** A system has lost power. Messages that it has sent may still arrive; then the other systems notice. */
  #lost(kernel: Kernel): void {
    const gone = this.#systems.find((system) => system.kernel === kernel);
    if (gone === undefined) return;
    for (const other of this.#systems) {
      if (other === gone || other.stopped) continue;
      const link = this.#link(gone, other);
      link.happen({ type: "gone", side: link.sideOf(gone) });
    }
  }

  #link(a: System, b: System): NetworkLink {
    for (const one of [a, b])
      if (!this.#systems.includes(one))
        throw new OptionError("system", one.name, "a system that has joined this network");
    if (a === b) throw new OptionError("system", a.name, "another system than the first");
    const [first, second] = a.node.id < b.node.id ? [a, b] : [b, a];
    const key = `${first.node.id} ${second.node.id}`;
    let link = this.#links.get(key);
    if (link === undefined) {
      link = new NetworkLink(this.#world, first, second, () =>
        this.#draw(this.#notices, "notice:connection"),
      );
      this.#links.set(key, link);
    }
    return link;
  }

  #send(from: System, node: RemoteNode, signal: WireSignal): boolean {
    const to = this.#systems.find((system) => system.node.id === node.id);
    if (to === undefined) return false;
    // As on a real wire: what no text can hold is refused where it is sent, whatever becomes of it then.
    const text = this.#codec(from, to).encode(signal);
    const link = this.#link(from, to);
    const side = link.sideOf(from);
    const fate = link.fate(side);
    if (fate === "refused" || fate === "lost") return fate === "lost";
    if (isLossy(signal) && this.#drop(to)) return true;
    const twice = isRequest(signal) && this.#may("duplicate");
    const packet = this.#packet(from, to, text);
    const { arrive } = packet;
    const first = !twice
      ? packet
      : new Packet(
          packet.kind,
          packet.content,
          () => {
            arrive();
            const ms = this.#draw(this.#duplicateMs, "late:duplicate");
            this.#world.options.recorder?.note("the network keeps a copy of this message");
            link.postStale(side, this.#packet(from, to, text), ms);
          },
          packet.ends,
        );
    this.#post(link, from, to, first, isLossy(signal));
    return true;
  }

  /** The codec of a system for another one. */
  #codec(here: System, there: System): SignalCodec {
    const key = `${here.node.id} ${there.node.id}`;
    const known = this.#codecs.get(key);
    if (known !== undefined) return known;
    const codec = new SignalCodec(here.kernel, there.node, this.#codecOptions);
    this.#codecs.set(key, codec);
    return codec;
  }

  #packet(from: System, to: System, text: string): Packet {
    const there = this.#codec(to, from).decode(text);
    const arrive = (): void => {
      if (!isLossy(there) && there.type !== "reply") this.#world.interceptor.met(to.pidAt(there.to));
      to.deliver(there);
    };
    return new Packet(there.type, contentOf(there), arrive, () => endsOf(there, from, to));
  }

  #post(link: NetworkLink, from: System, to: System, packet: Packet, isApart: boolean): void {
    const side = link.sideOf(from);
    const latencies = this.#latencies.find((one) => one.from(from.name) && one.to(to.name)) as Latency;
    const ms = this.#draw(latencies.ms, "latency:network");
    if (isApart && this.#may("reorder")) link.postApart(side, packet, ms);
    else link.post(side, packet, ms);
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
    const pairs = this.#systems.flatMap((a, i) => this.#systems.slice(i + 1).map((b) => [a, b] as const));
    const open = pairs.filter(([a, b]) => this.#link(a, b).whole);
    // This fault strikes between two steps; strategies that reduce must know, so the label is listed in reduced-walk.ts.
    const { oracle, options } = this.#world;
    const choice = oracle.draw(open.length + 1, "drop:connection");
    if (choice === 0) return false;
    this.#left.partition--;
    const cut = this.#cuts[oracle.draw(this.#cuts.length, "cut:connection")] as CutOptions;
    const pair = open[choice - 1] as readonly [System, System];
    const turned = cut.oneWay === true && oracle.draw(2, "cut:direction") === 1;
    const [a, b] = turned ? [pair[1], pair[0]] : pair;
    const ms = this.#draw(this.#partitionMs, "ms:connection");
    options.recorder?.faultOf(a.name, `${cutText(b, cut)} for ${ms} ms`);
    const link = this.#link(a, b);
    this.#cut(link, link.sideOf(a), cut);
    link.end = this.#world.time.after(ms, { fire: () => this.#heal(link) });
    return true;
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
function endsOf(signal: WireSignal, from: System, to: System): Ends {
  if (signal.type === "reply") return {};
  const isFromCode = isRequest(signal) || signal.type === "cancel";
  return {
    to: to.pidAt(signal.to),
    from: isFromCode ? undefined : from.pidAt((signal as { readonly from: PidAddress }).from),
  };
}

/** What happens to a system that is cut off from another. */
function cutText(other: System, { oneWay = false, silent = false }: CutOptions): string {
  return `${oneWay ? `no longer reaches ${other.name}` : `is cut off from ${other.name}`}${silent ? " without notice" : ""}`;
}

function oneOrMore(path: string, given: number | readonly number[]): readonly number[] {
  return typeof given === "number" ? [delay(path, given)] : durations(path, given);
}

function linksOf(given: readonly NetworkLinkOptions[] = []): readonly Latency[] {
  if (!Array.isArray(given)) throw new OptionError("network.links", given, "a list of links");
  return given.map((link: NetworkLinkOptions, index) => {
    const path = `network.links[${index}]`;
    only(path, link, ["from", "to", "latencyMs"]);
    return {
      from: patternMatcher(`${path}.from`, link.from ?? "*"),
      to: patternMatcher(`${path}.to`, link.to ?? "*"),
      ms: oneOrMore(`${path}.latencyMs`, link.latencyMs),
    };
  });
}
