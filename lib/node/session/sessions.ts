// The sessions of one node with all others. They are the transport of its system.

import type { ErrorClass } from "../../host/payload/error-record.js";
import { OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { only } from "../../process/known-options.js";
import { contained, listenerFailed } from "../../process/listening.js";
import { exclude, include } from "../../process/one-or-many.js";
import { asGiven, type Check, checked, ms, whole } from "../../process/option-schema.js";
import { callable, flag, kernelOf, withMethod } from "../../process/options.js";
import { OutOfReach } from "../../process/out-of-reach.js";
import type { RemoteNode } from "../../process/pid.js";
import type { Abandonable } from "../../process/process.js";
import { remoteNodes, type Transport } from "../../process/remote.js";
import type { RemotePort } from "../../process/remote-port.js";
import type { SessionView } from "../../process/session-view.js";
import type { ProcessSystem } from "../../process/system.js";
import type { WireSignal } from "../../process/wire-signal.js";
import { CODEC_DEFAULTS } from "../codec/limits.js";
import { SignalCodec } from "../codec/signal-codec.js";
import type { FrameCarrier, FrameReceiver } from "./carrier.js";
import type { VersionRange } from "./frame-text.js";
import { HEARTBEATS_PER_LIMIT, SESSION_DEFAULTS, type SessionLimits } from "./limits.js";
import { PeerSession, type SessionGround, type SignalTexts } from "./peer-session.js";
import { type NodeDown, type NodeUp, type SessionListener, tell } from "./session-events.js";
import type { SessionConfig } from "./session-machine.js";

/** Options of the sessions of a node. */
export interface SessionOptions extends Partial<SessionLimits> {
  /** Classes of errors that keep their class on the way to other nodes. */
  readonly errors?: readonly ErrorClass[];
  /** The largest message, call or reply, in bytes. Default 16 MiB. */
  readonly maxBytes?: number;
  /** Words for what this node can do. The other node learns those that both have. */
  readonly capabilities?: readonly string[];
  /** @internal The versions of the protocol that this node has. */
  readonly versions?: VersionRange;
}

/** The version of the protocol between nodes. */
const VERSIONS: VersionRange = { least: 1, most: 1 };

/** What signals have beside their values: addresses and names. */
const SIGNAL_HEAD = 65_536;

const LONGEST_CAPABILITIES = 512;
const CAPABILITY = /^[a-z][\w.-]*$/;

const capabilities: Check<readonly string[]> = (path, value) => {
  const words = value as readonly string[];
  if (Array.isArray(value) && words.every((word) => CAPABILITY.test(word)))
    if (words.join(",").length <= LONGEST_CAPABILITIES) return words;
  throw new OptionError(path, value, "a short list of words of small letters, digits, dots and dashes");
};

const versionRange: Check<VersionRange> = (path, value) => {
  const { least, most } = checked(path, value as VersionRange, { least: whole(1), most: whole(1) });
  if (most >= least) return { least, most };
  throw new OptionError(path, value, "a range of versions, the least one first");
};

const CHECKS = {
  limitMs: ms(100),
  queueSignals: whole(1),
  queueBytes: whole(1),
  windowFrames: whole(1),
  windowSize: whole(1),
  batchSignals: whole(1),
  batchSize: whole(1_024),
  carrierBytes: whole(1),
  closeMs: ms(0),
  maxNodes: whole(1),
  errors: asGiven<readonly ErrorClass[] | undefined>(),
  maxBytes: whole(1),
  capabilities,
  versions: versionRange,
};

/**
 * The sessions of one system with all other nodes that a carrier reaches. They number frames, so that each side notices a lost one;
 * they tell links, monitors and calls once when a node is lost; and they bound what waits for a node that does not read.
 *
 * @example
 * const system = new System({ name: "shop" });
 * const carrier = await nats({ servers: "127.0.0.1:4222", cluster: "shop" }).connect(system);
 * const sessions = new Sessions(system, carrier);
 * system.events.on("nodeUp", ({ node }) => console.log(`${node.name} is there`));
 * await sessions.close();
 */
export class Sessions implements Transport {
  readonly #kernel: Kernel;
  readonly #carrier: FrameCarrier;
  readonly #ground: SessionGround;
  readonly #codec: (node: RemoteNode) => SignalTexts;
  readonly #limits: { readonly closeMs: number; readonly maxNodes: number };
  readonly #port: RemotePort;
  readonly #peers = new Map<string, PeerSession>();
  readonly #listeners = new Set<SessionListener>();
  readonly #flushing = new Set<PeerSession>();
  /** The system stops. */
  readonly #stop: Abandonable = {
    abandon: () => {
      this.#takeLeave();
      this.#closeCarrier();
      this.#goOn?.();
    },
  };
  /** Attempts of sessions that are forgotten. Starts with the wall clock: other sessions of this system may have gone before. */
  #counter: number;
  #closing: Promise<void> | undefined = undefined;
  #isClosed = false;
  #isCarrierClosed = false;
  /** Ends the wait of a close. */
  #goOn: (() => void) | undefined = undefined;

  /**
   * Becomes the transport of the system, and begins to receive.
   *
   * @throws OptionError for unknown or wrong options, and when the system has a transport
   */
  constructor(system: ProcessSystem, carrier: FrameCarrier, options: SessionOptions = {}) {
    const kernel = kernelOf(system);
    for (const name of ["send", "open", "close"] as const)
      withMethod("carrier", carrier, name, "a FrameCarrier, such as nats() makes");
    flag("carrier.notices", carrier.notices);
    const { errors, maxBytes, closeMs, maxNodes, ...limits } = checked("", options, CHECKS, {
      ...SESSION_DEFAULTS,
      maxBytes: CODEC_DEFAULTS.maxBytes,
      capabilities: [],
      versions: VERSIONS,
    });
    if (!(kernel.remote instanceof OutOfReach))
      throw new OptionError("system", system.name, "a system without a transport of its own");
    this.#kernel = kernel;
    this.#carrier = carrier;
    this.#limits = { closeMs, maxNodes };
    this.#codec = (node) => new SignalCodec(kernel, node, { errors, maxBytes });
    this.#codec(kernel.node);
    this.#counter = Math.floor(kernel.env.wallTime());
    this.#ground = this.#groundOf({
      ...limits,
      heartbeatMs: limits.limitMs / HEARTBEATS_PER_LIMIT,
      hasHeartbeats: !carrier.notices,
      textSize: maxBytes + SIGNAL_HEAD,
    });
    this.#port = remoteNodes(this).connect(kernel);
    kernel.remote = this.#port;
    kernel.waits = include(kernel.waits, this.#stop);
    carrier.open(this.#receiver());
  }

  #groundOf(config: SessionConfig): SessionGround {
    return {
      kernel: this.#kernel,
      carrier: this.#carrier,
      config,
      flushLater: (session) => this.#flushLater(session),
      up: (event) => this.#up(event),
      down: (event) => this.#down(event),
    };
  }

  #receiver(): FrameReceiver {
    return {
      frame: (from, frame) => this.#peer(from)?.frame(frame),
      seen: (node) => this.#peer(node)?.seen(),
      unreachable: (node, frame) => this.#peers.get(node.id)?.unreachable(frame),
    };
  }

  /** Accepts a signal for a node. False when the node is out of reach, or when too much waits for it. */
  send(node: RemoteNode, signal: WireSignal): boolean {
    return this.#peer(node)?.send(signal) ?? false;
  }

  /** The sessions with all nodes that this one has heard of. */
  view(): SessionView[] {
    return [...this.#peers.values()].map((peer) => peer.view());
  }

  /** Calls a listener at the beginning and the end of each session. Returns the call that ends that. @throws OptionError */
  watch(listener: SessionListener): () => void {
    only("listener", listener, ["up", "down"]);
    for (const name of ["up", "down"] as const)
      if (listener[name] !== undefined) callable(`listener.${name}`, listener[name]);
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Takes leave of all nodes: their links, monitors and calls end with `noconnection` at once. Waits until the carrier has sent that,
   * at most `closeMs`, and closes the carrier. The stop of the system does the same without the wait.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const kernel = this.#kernel;
    this.#takeLeave();
    const until = kernel.env.now() + this.#limits.closeMs;
    while (!this.#isCarrierClosed && this.#isBusy() && kernel.env.now() < until)
      await new Promise<void>((resolve) => {
        this.#goOn = resolve;
        kernel.addTimer(CLOSE_POLL_MS, { fire: resolve });
      });
    this.#closeCarrier();
  }

  /** The carrier has yet to send something. */
  #isBusy(): boolean {
    return [...this.#peers.values()].some(({ node }) => (this.#carrier.pending?.(node) ?? 0) > 0);
  }

  #takeLeave(): void {
    if (this.#isClosed) return;
    for (const peer of this.#peers.values()) peer.leave();
    this.#isClosed = true;
  }

  #closeCarrier(): void {
    if (this.#isCarrierClosed) return;
    this.#isCarrierClosed = true;
    // The system may get another transport.
    if (this.#kernel.remote === this.#port) this.#kernel.remote = new OutOfReach(this.#kernel);
    this.#kernel.waits = exclude(this.#kernel.waits, this.#stop);
    contained(
      () => this.#carrier.close(),
      (error) => tell(this.#kernel, "error", "the carrier threw when it was closed", error),
    );
  }

  #peer(node: RemoteNode): PeerSession | undefined {
    const known = this.#peers.get(node.id);
    if (this.#isClosed || node.id === this.#kernel.node.id) return undefined;
    if (known !== undefined) return known;
    if (this.#peers.size >= this.#limits.maxNodes && !this.#forget()) {
      tell(
        this.#kernel,
        "warn",
        `${this.#kernel.node.name} has sessions with ${this.#limits.maxNodes} nodes`,
      );
      return undefined;
    }
    const made = new PeerSession(this.#ground, node, this.#codec(node), this.#counter);
    this.#peers.set(node.id, made);
    return made;
  }

  /** Forgets the oldest session that is over. */
  #forget(): boolean {
    for (const [id, peer] of this.#peers) {
      if (!peer.isIdle) continue;
      this.#counter = Math.max(this.#counter, peer.counter);
      return this.#peers.delete(id);
    }
    return false;
  }

  /** At the end of the turn, all sessions with something to send are flushed. */
  #flushLater(session: PeerSession): void {
    this.#flushing.add(session);
    if (this.#flushing.size > 1) return;
    const fire = (): void => {
      const all = [...this.#flushing];
      this.#flushing.clear();
      for (const one of all) if (!this.#isClosed) one.flush();
    };
    const { scheduler } = this.#kernel;
    if (scheduler.drained === undefined) this.#kernel.addTimer(0, { fire });
    else scheduler.drained(fire);
  }

  #up(event: NodeUp): void {
    this.#hear((listener) => listener.up?.(event));
    if (this.#kernel.events.wants.nodeUp) this.#kernel.events.publish("nodeUp", event);
  }

  #down(event: NodeDown): void {
    this.#hear((listener) => listener.down?.(event));
    if (this.#kernel.events.wants.nodeDown) this.#kernel.events.publish("nodeDown", event);
  }

  #hear(call: (listener: SessionListener) => void): void {
    for (const listener of [...this.#listeners])
      contained(
        () => call(listener),
        (error) => listenerFailed(this.#kernel, "a listener of sessions", listener, error),
      );
  }
}

/** How often a close looks whether the carrier has sent everything. */
const CLOSE_POLL_MS = 5;
