// The sessions of one node with all others. They are the transport of its system.

import type { ErrorClass } from "../../host/payload/error-record.js";
import { OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { only } from "../../process/known-options.js";
import { contained, listenerFailed } from "../../process/listening.js";
import { exclude, include } from "../../process/one-or-many.js";
import { asGiven, type Check, checked, ms, whole } from "../../process/option-schema.js";
import { callable, flag, kernelOf, withMethod } from "../../process/options.js";
import type { RemoteNode } from "../../process/pid.js";
import type { Abandonable } from "../../process/process.js";
import type { SessionView } from "../../process/session-view.js";
import type { ProcessSystem } from "../../process/system.js";
import type { WireSignal } from "../../process/wire-signal.js";
import { CODEC_DEFAULTS } from "../codec/limits.js";
import { SignalCodec, TRACES } from "../codec/signal-codec.js";
import type { FrameCarrier, FrameReceiver } from "./carrier.js";
import type { VersionRange } from "./frame-text.js";
import { HEARTBEATS_PER_LIMIT, SESSION_DEFAULTS, type SessionLimits } from "./limits.js";
import { PeerSession, type SessionGround, type SignalTexts } from "./peer-session.js";
import { type NodeDown, type NodeUp, type SessionListener, tell } from "./session-events.js";
import type { SessionConfig } from "./session-machine.js";
import { SessionTransport } from "./session-transport.js";
import { SystemPace } from "./system-pace.js";

/** Options of the sessions of a node. */
export interface SessionOptions extends Partial<SessionLimits> {
  /** Classes of errors that keep their class on the way to other nodes. */
  readonly errors?: readonly ErrorClass[];
  /** The largest message, call or reply, in bytes. Default 16 MiB. */
  readonly maxBytes?: number;
  /** Names of capabilities of this node. Each session knows those that both nodes have. Those of the library begin with `signalbox.` */
  readonly capabilities?: readonly string[];
  /** @internal The versions of the protocol that this node has. */
  readonly versions?: VersionRange;
}

/** The version of the protocol between nodes. */
const VERSIONS: VersionRange = { least: 1, most: 1 };

/** The room for the parts of a signal beside its value: addresses and names. */
const SIGNAL_HEAD = 65_536;

const LONGEST_CAPABILITIES = 512;
const CAPABILITY = /^(?!signalbox\.)[a-z][\w.-]*$/;

/** What every node of this release can do, and one of an older release may not. */
const OWN_CAPABILITIES = [TRACES];

const capabilities: Check<readonly string[]> = (path, value) => {
  const words = value as readonly string[];
  if (Array.isArray(value) && words.every((word) => CAPABILITY.test(word)))
    if (words.join(",").length <= LONGEST_CAPABILITIES) return words;
  throw new OptionError(
    path,
    value,
    "a short list of words of small letters, digits, dots and dashes, which do not begin with signalbox.",
  );
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
export class Sessions {
  readonly #kernel: Kernel;
  readonly #carrier: FrameCarrier;
  readonly #ground: SessionGround;
  readonly #codec: (node: RemoteNode) => SignalTexts;
  readonly #limits: { readonly closeMs: number; readonly maxNodes: number };
  readonly #transport: SessionTransport;
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
  /** Resolves when the carrier is closed. Undefined before its close began. */
  #carrierEnd: Promise<unknown> | undefined = undefined;
  /** Ends the wait of a close. */
  #goOn: (() => void) | undefined = undefined;

  /**
   * Becomes the transport of the system, or a part of it beside the sessions over other carriers, and begins to receive.
   *
   * @throws OptionError for unknown or wrong options, and when the system has a transport of another kind
   */
  constructor(system: ProcessSystem, carrier: FrameCarrier, options: SessionOptions = {}) {
    const kernel = kernelOf(system);
    for (const name of ["send", "open", "close"] as const)
      withMethod("carrier", carrier, name, "a FrameCarrier, such as nats() makes");
    flag("carrier.notices", carrier.notices);
    const frameBytes = carrier.maxFrameBytes ?? Number.POSITIVE_INFINITY;
    if (!(frameBytes >= LEAST_FRAME_BYTES))
      throw new OptionError("carrier.maxFrameBytes", frameBytes, `${LEAST_FRAME_BYTES} or more`);
    const { errors, maxBytes, closeMs, maxNodes, ...limits } = checked("", options, CHECKS, {
      ...SESSION_DEFAULTS,
      maxBytes: CODEC_DEFAULTS.maxBytes,
      capabilities: [],
      versions: VERSIONS,
    });
    this.#kernel = kernel;
    this.#carrier = carrier;
    this.#limits = { closeMs, maxNodes };
    this.#codec = (node) => new SignalCodec(kernel, node, { errors, maxBytes });
    this.#codec(kernel.node);
    this.#counter = Math.floor(kernel.env.wallTime());
    this.#ground = this.#groundOf({
      ...limits,
      capabilities: [...OWN_CAPABILITIES, ...limits.capabilities],
      ...within(frameBytes, limits),
      heartbeatMs: limits.limitMs / HEARTBEATS_PER_LIMIT,
      hasHeartbeats: !carrier.notices,
      textSize: maxBytes + SIGNAL_HEAD,
    });
    this.#transport = SessionTransport.join(kernel, this);
    kernel.waits = include(kernel.waits, this.#stop);
    carrier.open(this.#receiver());
  }

  #groundOf(config: SessionConfig): SessionGround {
    return {
      kernel: this.#kernel,
      carrier: this.#carrier,
      pace: this.#carrier.pace ?? new SystemPace(this.#kernel),
      config,
      flushLater: (session) => this.#flushLater(session),
      up: (event) => this.#up(event),
      down: (event) => this.#down(event),
    };
  }

  #receiver(): FrameReceiver {
    return {
      frame: (from, frame) => this.#met(from)?.frame(frame),
      seen: (node) => this.#met(node)?.seen(),
      unreachable: (node, frame) => this.#peers.get(node.id)?.unreachable(frame),
      notices: (node, isSure) => this.#peers.get(node.id)?.notices(isSure),
      isUp: (node) => this.#peers.get(node.id)?.isUp ?? false,
    };
  }

  /** A node shows that the carrier reaches it. */
  #met(node: RemoteNode): PeerSession | undefined {
    return this.#transport.admits(this, node) ? this.#peer(node) : undefined;
  }

  /** @internal */
  get notices(): boolean {
    return this.#carrier.notices;
  }

  /** @internal There is a session with this node, and it is not over. */
  has(nodeId: string): boolean {
    return this.#peers.get(nodeId)?.isIdle === false;
  }

  /** @internal The carrier may reach this node. */
  reaches(node: RemoteNode): boolean {
    return !this.#isClosed && (this.#carrier.reaches?.(node) ?? true);
  }

  /** @internal Takes leave of one node, whose session goes over another carrier. */
  release(nodeId: string): void {
    const peer = this.#peers.get(nodeId);
    if (peer === undefined) return;
    peer.leave();
    this.#forget(peer);
  }

  /** Accepts a signal for a node. False when the node is out of reach, or when too much waits for it. */
  send(node: RemoteNode, signal: WireSignal): boolean {
    return this.#peer(node)?.send(signal) ?? false;
  }

  /** The sessions with all nodes that this one has heard of over this carrier. */
  view(): SessionView[] {
    return [...this.#peers.values()].map((peer) => peer.view());
  }

  /** @internal All sessions of the system, over other carriers too. */
  get transport(): SessionTransport {
    return this.#transport;
  }

  /** Calls a listener at the beginning and the end of each session over this carrier. Returns the call that ends that. @throws OptionError */
  watch(listener: SessionListener): () => void {
    only("listener", listener, ["up", "down"]);
    for (const name of ["up", "down"] as const)
      if (listener[name] !== undefined) callable(`listener.${name}`, listener[name]);
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Takes leave of all nodes: their links, monitors and calls end with `noconnection` at once. Waits until the carrier has sent that,
   * at most `closeMs`, and until the carrier is closed. The stop of the system does the same without the waits.
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
    await this.#carrierEnd;
  }

  /** Whether the carrier still has something to send. */
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
    this.#transport.leave(this);
    this.#kernel.waits = exclude(this.#kernel.waits, this.#stop);
    const failed = (error: unknown): void =>
      tell(this.#kernel, "error", "the carrier failed when it was closed", error);
    contained(() => {
      this.#carrierEnd = Promise.resolve(this.#carrier.close()).catch(failed);
    }, failed);
  }

  #peer(node: RemoteNode): PeerSession | undefined {
    const known = this.#peers.get(node.id);
    if (this.#isClosed || node.id === this.#kernel.node.id) return undefined;
    if (known !== undefined) return known;
    if (this.#peers.size >= this.#limits.maxNodes && !this.#forgetOldest()) {
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
  #forgetOldest(): boolean {
    for (const peer of this.#peers.values()) if (peer.isIdle) return this.#forget(peer);
    return false;
  }

  #forget(peer: PeerSession): boolean {
    this.#counter = Math.max(this.#counter, peer.counter);
    return this.#peers.delete(peer.node.id);
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
    this.#ground.pace.endOfTurn(fire);
  }

  #up(event: NodeUp): void {
    this.#hear((listener) => listener.up?.(event));
    if (this.#kernel.events.wants.nodeUp) this.#kernel.events.publish("nodeUp", event);
  }

  #down(event: NodeDown): void {
    this.#kernel.taps?.sessionEnded(event);
    this.#hear((listener) => listener.down?.(event));
    if (this.#kernel.events.wants.nodeDown) this.#kernel.events.publish("nodeDown", event);
  }

  #hear(call: (listener: SessionListener) => void): void {
    this.#transport.tell(call);
    for (const listener of [...this.#listeners])
      contained(
        () => call(listener),
        (error) => listenerFailed(this.#kernel, "a listener of sessions", listener, error),
      );
  }
}

/** Smaller frames would carry little beside their heads. */
const LEAST_FRAME_BYTES = 8_192;
/** Most bytes of the line before the body of a frame. */
const FRAME_HEAD = 1_024;
/** A character of text may take three bytes, and a frame may be twice the size of a batch: its last text is any that goes whole. */
const BYTES_PER_SIZE = 6;
/** A comma between two signals is a byte, so they may not be too many. */
const SIGNAL_SHARE = 16;

/** The limits of frames that the carrier takes, whatever is in them. */
function within(
  frameBytes: number,
  { batchSize, batchSignals }: { readonly batchSize: number; readonly batchSignals: number },
): { readonly batchSize: number; readonly batchSignals: number } {
  const signals = Math.min(batchSignals, Math.floor(frameBytes / SIGNAL_SHARE));
  const size = Math.floor((frameBytes - FRAME_HEAD - signals) / BYTES_PER_SIZE);
  return { batchSignals: signals, batchSize: Math.min(batchSize, size) };
}

/** How often a close looks whether the carrier has sent everything. */
const CLOSE_POLL_MS = 5;
