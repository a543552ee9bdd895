// NATS as the carrier of frames between nodes, by the package @nats-io/transport-node (an optional peer). Core NATS delivers at most once.
// Facts that shape this file: the client drops what is in its buffer at a disconnect, and says nothing; a frame with a reply subject to
// which nobody listens is answered at once by the server; a server that hangs takes bytes until the buffers of the host are full; and the
// client gives up after ten attempts to reconnect unless it is configured to go on.

import type { Msg, NatsConnection } from "@nats-io/transport-node";
import {
  clientOptions,
  connectNats,
  loadTransport,
  type NatsSettings,
  natsServers,
  type Transport,
} from "../../host/nats-client.js";
import { OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { only } from "../../process/known-options.js";
import { exclude, include } from "../../process/one-or-many.js";
import { count, delay } from "../../process/options.js";
import type { RemoteNode } from "../../process/pid.js";
import type { Abandonable } from "../../process/process.js";
import { show, showThrown } from "../../process/show.js";
import type { Timer } from "../../process/timer-queue.js";
import type { CarrierSource } from "../cluster/carrier-source.js";
import type { FrameCarrier, FrameReceiver } from "../session/carrier.js";
import { tagOf } from "../session/frame-text.js";
import { ClusterConnectError } from "./errors.js";
import { type Watch, watchOf } from "./neighbour.js";
import { LONGEST_NAME, type Presence, readPresence, writePresence } from "./presence.js";
import { type LostFrame, Subjects, type Way } from "./subjects.js";

/** Options of {@link nats}. */
export interface NatsOptions {
  /** Where the servers are, such as `127.0.0.1:4222`. */
  readonly servers: string | readonly string[];
  /** The name of the cluster: letters, digits, `_` and `-`. Nodes see the nodes of the same cluster on the same servers. */
  readonly cluster: string;
  /** How long the server may take to accept a connection, in milliseconds. Default 5,000. */
  readonly answerMs?: number;
  /**
   * How often a node announces itself, in milliseconds; 100 or more. Two nodes that lost each other meet again within about this time.
   * Default 1,000.
   */
  readonly presenceMs?: number;
  /**
   * How often a node checks whether another one is alive, in milliseconds; 5 or more. The nodes watch each other in pairs, and tell the rest
   * when one is gone, so a killed node is noticed within one and a half times this. Default 25. `Infinity`: noticed by the next frame to it.
   */
  readonly probeMs?: number;
  /**
   * Most bytes that wait for the server. Beyond it frames are refused, and the sessions they belong to end. Default 64 MiB.
   */
  readonly maxPendingBytes?: number;
  /**
   * Passed on to the client: credentials, TLS, and all else that `NodeConnectionOptions` of `@nats-io/transport-node` has. Servers and
   * reconnecting are not to be set here. Its type is not that one: programs without NATS do not have the package.
   */
  readonly connection?: object;
}

/** The state of a node's connection to its cluster, for metrics and for people. */
export interface NatsState {
  /** Whether the node is connected to a server now. */
  readonly isConnected: boolean;
  /** How often the connection was lost. */
  readonly disconnects: number;
  /** Frames that were refused: no connection, or too much waits for the server. Their sessions ended. */
  readonly refusedFrames: number;
  /** Bytes that the server has not confirmed yet. */
  readonly pendingBytes: number;
}

interface Settings extends NatsSettings {
  readonly cluster: string;
  readonly presenceMs: number;
  readonly probeMs: number;
  readonly maxPendingBytes: number;
}

/** After so many bytes the server is asked to confirm them. */
const CONFIRM_BYTES = 65_536;
/** How long a carrier that closes waits until the server has taken what was sent. */
const FAREWELL_MS = 1_000;
/** The status of the server's notice that nobody listens. */
const NO_RESPONDERS = 503;
/** A node that asks periodically is checked when it was silent for so many times `probeMs`. */
const SILENT_PROBES = 1.5;
/** Nodes whose subjects are remembered. */
const MOST_WAYS = 4_096;
const DEFAULT_PENDING_BYTES = 64 * 1_048_576;

/**
 * NATS as the carrier between the nodes of a cluster: it finds them, and carries their frames. It needs the package
 * `@nats-io/transport-node`, version 3.4, and a server of version 2.9 or later; JetStream is not needed. When the connection is lost, the
 * node connects again for as long as that takes. Meanwhile it reaches no other node.
 *
 * @throws OptionError
 * @example
 * const carrier = await nats({ servers: "127.0.0.1:4222", cluster: "shop" }).connect(system);
 */
export function nats(options: NatsOptions): CarrierSource<NatsCarrier> {
  only("", options, OPTIONS);
  const { servers, cluster, answerMs = 5_000, presenceMs = 1_000, probeMs = 25 } = options;
  const { maxPendingBytes = DEFAULT_PENDING_BYTES, connection = {} } = options;
  const settings: Settings = {
    servers: natsServers("servers", servers),
    cluster: clusterName(cluster),
    answerMs: delay("answerMs", answerMs, 1),
    presenceMs: delay("presenceMs", presenceMs, LEAST_PRESENCE_MS),
    probeMs: delay("probeMs", probeMs, LEAST_PROBE_MS, true),
    maxPendingBytes: count("maxPendingBytes", maxPendingBytes, CONFIRM_BYTES),
    connection: clientOptions("connection", connection),
  };
  const label = `the cluster ${cluster} over NATS at ${settings.servers.join(", ")}`;
  return {
    label,
    connect: async ({ kernel }) =>
      NatsCarrier.connect(label, settings, kernel, await loadTransport("a cluster over NATS")),
  };
}

const OPTIONS = [
  ...["servers", "cluster", "answerMs", "presenceMs", "probeMs", "maxPendingBytes", "connection"],
];
const LEAST_PRESENCE_MS = 100;
const LEAST_PROBE_MS = 5;
const LONGEST_CLUSTER = 64;

/** @throws OptionError */
function clusterName(given: unknown): string {
  if (typeof given === "string" && given.length <= LONGEST_CLUSTER && /^[A-Za-z0-9_-]+$/.test(given))
    return given;
  const allowed = `a name of letters, digits, _ and -, at most ${LONGEST_CLUSTER}: it is a part of subjects of NATS`;
  throw new OptionError("cluster", given, allowed);
}

/** The connection of one node to its cluster. */
export class NatsCarrier implements FrameCarrier {
  readonly notices = false;
  readonly #settings: Settings;
  readonly #kernel: Kernel;
  readonly #connection: NatsConnection;
  readonly #subjects: Subjects;
  /** The nodes that frames were sent to on this connection, and that have not left since. */
  readonly #ways = new Map<string, Way>();
  readonly #encoder = new TextEncoder();
  #receiver: FrameReceiver | undefined;
  /** The nodes that have been seen since they were last found gone. */
  readonly #seen = new Map<string, RemoteNode>();
  #presence: Timer | undefined;
  #probe: Timer | undefined;
  /** The nodes that this one watches, as of the last check. */
  #watch: Watch = { asks: undefined, hears: undefined };
  /** When the node that asks this one was last heard, and when this one asks next. */
  #heardAt = 0;
  #askAt = 0;
  #isConnected = true;
  #isClosed = false;
  #closing: Promise<void> | undefined;
  #disconnects = 0;
  #refusedFrames = 0;
  /** Bytes given to the client on this connection, and those that the server is known to have taken. */
  #sentBytes = 0;
  #takenBytes = 0;
  #isConfirming = false;

  private constructor(settings: Settings, kernel: Kernel, connection: NatsConnection) {
    this.#settings = settings;
    this.#kernel = kernel;
    this.#connection = connection;
    this.#subjects = new Subjects(settings.cluster, kernel.node);
  }

  /** @internal @throws ClusterConnectError, OptionError */
  static async connect(
    label: string,
    settings: Settings,
    kernel: Kernel,
    transport: Transport,
  ): Promise<NatsCarrier> {
    const { name, id } = kernel.node;
    if (encodeURIComponent(name + id).length > LONGEST_NAME)
      throw new OptionError("system.name", name, `shorter: it is a part of subjects of NATS`);
    try {
      const connection = await connectNats(transport, settings, `signalbox ${name}.${id}`);
      return new NatsCarrier(settings, kernel, connection);
    } catch (error) {
      throw new ClusterConnectError(label, error);
    }
  }

  /** The connection, for metrics and for people. */
  get state(): NatsState {
    return {
      isConnected: this.#isConnected,
      disconnects: this.#disconnects,
      refusedFrames: this.#refusedFrames,
      pendingBytes: this.pending(),
    };
  }

  /** Whether the node is connected to a server now. */
  get isConnected(): boolean {
    return this.#isConnected;
  }

  /** The longest frame that the server takes, in bytes. */
  get maxFrameBytes(): number {
    return this.#connection.info?.max_payload ?? 0;
  }

  open(receiver: FrameReceiver): void {
    this.#receiver = receiver;
    const { frames, notices, seen, answers } = this.#subjects;
    this.#listen(frames, (message) => {
      const from = this.#subjects.senderOf(message.reply);
      if (from === undefined) return;
      if (from.id === this.#watch.hears) this.#heardAt = this.#kernel.env.now();
      // A message of no bytes is a probe: it only checks whether this node listens.
      if (message.data.length > 0) receiver.frame(from, message.string());
    });
    this.#listen(notices, (message) => {
      if (message.headers?.code === NO_RESPONDERS) this.#unheard(this.#subjects.lostBy(message.subject));
    });
    this.#listen(seen, (message) => this.#met(readPresence(message.string())));
    this.#listen(answers, (message) => this.#met(readPresence(message.string())));
    void this.#follow();
    this.#announce("join");
    this.#present();
    this.#probeLater(this.#settings.probeMs);
  }

  send(to: RemoteNode, frame: string): boolean {
    const bytes = this.#encoder.encode(frame);
    const { maxFrameBytes } = this;
    if (bytes.length > maxFrameBytes && this.#isConnected)
      this.#report(`a frame for ${to.name} has ${bytes.length} bytes; the server takes ${maxFrameBytes}`);
    else if (this.#hasRoomFor(bytes.length) && this.#isConnected && !this.#isClosed) {
      const way = this.#wayTo(to);
      if (this.#publish(way.subject, bytes, way.reply(tagOf(frame)))) return true;
    }
    this.#refusedFrames++;
    return false;
  }

  #wayTo(to: RemoteNode): Way {
    const known = this.#ways.get(to.id);
    if (known !== undefined) return known;
    // A node that was killed has sent no `leave`.
    makeRoom(this.#ways);
    const way = this.#subjects.to(to);
    this.#ways.set(to.id, way);
    return way;
  }

  #hasRoomFor(bytes: number): boolean {
    return this.pending() + bytes <= this.#settings.maxPendingBytes;
  }

  /** Bytes that the server has not confirmed yet. All nodes are reached through the same socket. */
  pending(): number {
    const bytes = this.#sentBytes - this.#takenBytes;
    return bytes < CONFIRM_BYTES ? 0 : bytes;
  }

  /** Announces that the node leaves, and ends the connection. Resolves when it has ended: soon, even when the server hangs. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#announce("leave");
    this.#isClosed = true;
    for (const timer of [this.#presence, this.#probe])
      if (timer !== undefined) this.#kernel.cancelTimer(timer);
    if (this.#isConnected) await this.#farewell();
    if (!this.#isConnected) abandonDial(this.#connection);
    this.#isConnected = false;
    this.#ways.clear();
    await this.#connection.close();
  }

  /** Waits until the server has taken what was sent. */
  async #farewell(): Promise<void> {
    const kernel = this.#kernel;
    const flushed = this.#connection.flush().catch(() => undefined);
    if (kernel.stopped) return;
    let timer: Timer | undefined;
    // A system that stops has no timers any more.
    const stop: Abandonable = { abandon: () => undefined };
    const limit = new Promise<void>((resolve) => {
      stop.abandon = () => resolve();
      timer = kernel.addTimer(FAREWELL_MS, { fire: resolve });
    });
    kernel.waits = include(kernel.waits, stop);
    await Promise.race([flushed, limit]);
    kernel.waits = exclude(kernel.waits, stop);
    if (timer !== undefined) kernel.cancelTimer(timer);
  }

  #listen(subject: string, heard: (message: Msg) => void): void {
    this.#connection.subscribe(subject, {
      callback: (error, message) => {
        if (this.#isClosed) return;
        if (error === null) this.#kernel.enter(() => heard(message));
        else this.#report(`it may not listen to ${subject}: ${showThrown(error)}`);
      },
    });
  }

  #publish(subject: string, payload: Uint8Array | string, reply = ""): boolean {
    try {
      this.#connection.publish(subject, payload, { reply });
      this.#sentBytes += payload.length;
      this.#confirm();
      return true;
    } catch {
      // The connection is closed.
      return false;
    }
  }

  /** Asks the server to confirm the bytes it has taken, once there are many. One request at a time. */
  #confirm(): void {
    if (this.#isConfirming || this.#isClosed || this.#sentBytes - this.#takenBytes < CONFIRM_BYTES) return;
    this.#isConfirming = true;
    const [sent, era] = [this.#sentBytes, this.#disconnects];
    void this.#connection
      .flush()
      .then(
        () => {
          if (era === this.#disconnects) this.#takenBytes = sent;
        },
        // The connection was lost, and everything with it.
        () => undefined,
      )
      .then(() => {
        this.#isConfirming = false;
        this.#confirm();
      });
  }

  #met(presence: Presence | undefined): void {
    const receiver = this.#receiver;
    if (presence === undefined || receiver === undefined) return;
    const { type, node } = presence;
    if (node.id === this.#kernel.node.id) return;
    if (type === "lost") {
      this.#ask(node.id);
      return;
    }
    if (type === "leave") {
      this.#seen.delete(node.id);
      this.#ways.delete(node.id);
      receiver.unreachable(node);
      return;
    }
    if (type === "join") this.#announce("here", this.#subjects.answersTo(node));
    if (!this.#seen.has(node.id)) makeRoom(this.#seen);
    this.#seen.set(node.id, node);
    receiver.seen(node);
  }

  /** Nobody listens where a frame was sent. The node that watches the one that is gone tells the others. */
  #unheard(lost: LostFrame | undefined): void {
    const way = lost && this.#ways.get(lost.id);
    if (way === undefined) return;
    const { node } = way;
    const { asks, hears } = this.#watch;
    if (node.id === asks || node.id === hears) this.#announce("lost", this.#subjects.seen, node);
    this.#seen.delete(node.id);
    this.#receiver?.unreachable(node, lost?.tag);
  }

  #probeLater(ms: number): void {
    if (ms === Number.POSITIVE_INFINITY) return;
    this.#probe = this.#kernel.addTimer(ms, {
      fire: () => {
        if (!this.#isClosed) this.#probeLater(this.#look());
      },
    });
  }

  /** Checks whether the watched nodes are alive. Returns the milliseconds until the next check. */
  #look(): number {
    const { probeMs } = this.#settings;
    const now = this.#kernel.env.now();
    const { hears } = this.#watch;
    this.#watch = watchOf(this.#kernel.node.id, this.#seen.keys());
    if (this.#watch.hears !== hears) this.#heardAt = now;
    if (this.#watch.asks !== undefined && now >= this.#askAt) {
      this.#ask(this.#watch.asks);
      this.#askAt = now + probeMs;
    }
    const silentMs = SILENT_PROBES * probeMs;
    if (this.#watch.hears !== undefined && now >= this.#heardAt + silentMs) {
      this.#ask(this.#watch.hears);
      // Asked again after `probeMs`, unless it is heard before.
      this.#heardAt = now + probeMs - silentMs;
    }
    const next = Math.min(
      this.#watch.asks === undefined ? now + probeMs : this.#askAt,
      this.#watch.hears === undefined ? now + probeMs : this.#heardAt + silentMs,
    );
    return Math.max(next - now, 1);
  }

  /** Probes a node. Only a node that is gone leads to an answer: the same notice of the server as for a frame to it. */
  #ask(id: string | undefined): void {
    const way = id === undefined ? undefined : this.#ways.get(id);
    if (way?.lastReply !== undefined && this.#isConnected) this.#publish(way.subject, "", way.lastReply);
  }

  #announce(
    type: Presence["type"],
    subject: string = this.#subjects.seen,
    node: RemoteNode = this.#kernel.node,
  ): void {
    if (this.#isConnected) this.#publish(subject, writePresence({ type, node }));
  }

  /** Announces the node periodically, so that nodes that lost each other meet again. */
  #present(): void {
    const kernel = this.#kernel;
    const delayMs = this.#settings.presenceMs * (JITTER_FROM + kernel.env.random() * JITTER);
    this.#presence = kernel.addTimer(delayMs, {
      fire: () => {
        if (this.#isClosed) return;
        this.#announce("here");
        this.#present();
      },
    });
  }

  async #follow(): Promise<void> {
    for await (const status of this.#connection.status()) {
      if (this.#isClosed) return;
      if (status.type === "disconnect") this.#kernel.enter(() => this.#disconnected());
      else if (status.type === "reconnect") this.#kernel.enter(() => this.#reconnected());
      else if (status.type === "error") this.#report(showThrown(status.error));
    }
  }

  /** The contents of the buffers are lost, and their size is unknown. So the sessions with all nodes end. */
  #disconnected(): void {
    if (!this.#isConnected) return;
    this.#isConnected = false;
    this.#disconnects++;
    this.#sentBytes = 0;
    this.#takenBytes = 0;
    const ways = [...this.#ways.values()];
    this.#ways.clear();
    for (const { node } of ways) this.#receiver?.unreachable(node);
  }

  #reconnected(): void {
    this.#isConnected = true;
    this.#announce("join");
  }

  #report(what: string): void {
    const { reports, node } = this.#kernel;
    if (!reports.admits("transport")) return;
    const text = `${node.name}: the cluster ${show(this.#settings.cluster)} over NATS: ${what}`;
    reports.write({ level: "error", event: "transport", path: node.name, text });
  }
}

/** Forgets the nodes that were remembered first, when there are too many. */
function makeRoom(nodes: Map<string, unknown>): void {
  for (const id of nodes.keys()) {
    if (nodes.size < MOST_WAYS) return;
    nodes.delete(id);
  }
}

/**
 * Destroys the socket of a connection that is being made. `close` of the client leaves it open until the server answers, which a
 * server that hangs does not do.
 */
function abandonDial(connection: NatsConnection): void {
  const { protocol } = connection as { readonly protocol?: { readonly transport?: { discard?(): void } } };
  protocol?.transport?.discard?.();
}

/** Each period is between three and five quarters of `presenceMs`, at random, so that nodes do not send at the same moment. */
const JITTER_FROM = 0.75;
const JITTER = 0.5;
