// The session with one other node: it carries out what the session machine decides.

import type { Kernel } from "../../process/kernel.js";
import type { RemoteNode } from "../../process/pid.js";
import type { SessionView } from "../../process/session-view.js";
import type { PidAddress, ReplyAddress, WireSignal } from "../../process/wire-signal.js";
import type { FrameCarrier, SessionPace, SessionTimer } from "./carrier.js";
import { decodeFrame, encodeFrame, endsOf, type Frame } from "./frame-text.js";
import type { OutgoingText } from "./outbox.js";
import { type NodeDown, type NodeUp, tell, tellRefused } from "./session-events.js";
import {
  decide,
  type EpochEnds,
  endsBy,
  initial,
  REFUSE,
  type Session,
  type SessionConfig,
  type SessionEffect,
  type SessionEvent,
} from "./session-machine.js";

/** Encodes the signals for one node, and decodes those that come from it. */
export interface SignalTexts {
  /** The JSON text of a signal. Throws what the sender of a message can handle. */
  encode(signal: WireSignal): string;
  /** The signals of a JSON array of texts. Throws when they are not valid, and does nothing else. */
  decodeAll(body: string): readonly WireSignal[];
  /** Capabilities that the other node has too, from now on. */
  agreed(capabilities: readonly string[]): void;
}

/** The parts that all sessions of a node share. */
export interface SessionGround {
  readonly kernel: Kernel;
  readonly carrier: FrameCarrier;
  readonly pace: SessionPace;
  readonly config: SessionConfig;
  /** Calls `flush` of the session at the end of this turn. */
  flushLater(session: PeerSession): void;
  up(event: NodeUp): void;
  down(event: NodeDown): void;
}

/** Signals that may be refused: their sender is told, and nothing is half done. */
const REFUSABLE: ReadonlySet<WireSignal["type"]> = new Set(["message", "call"]);

export class PeerSession {
  readonly node: RemoteNode;
  readonly #ground: SessionGround;
  readonly #texts: SignalTexts;
  #state: Session;
  #timer: SessionTimer | undefined = undefined;
  /** Effects that wait to be carried out. An event that an effect leads to is decided at once, and its effects wait here. */
  #effects: SessionEffect[] = [];
  #isRunning = false;

  constructor(ground: SessionGround, node: RemoteNode, texts: SignalTexts, counter: number) {
    this.#ground = ground;
    this.node = node;
    this.#texts = texts;
    this.#state = initial(ground.config, counter, ground.pace.random());
  }

  get counter(): number {
    return this.#state.counter;
  }

  /** The session is over, and does nothing more by itself. */
  get isIdle(): boolean {
    const { phase } = this.#state;
    return (
      phase.type === "refused" || (phase.type === "absent" && phase.retryAt === Number.POSITIVE_INFINITY)
    );
  }

  /** @returns false when the signal is refused. Throws what the codec throws. */
  send(signal: WireSignal): boolean {
    const text: OutgoingText = {
      text: this.#texts.encode(signal),
      lane: laneOf(signal.to),
      isRefusable: REFUSABLE.has(signal.type),
      signal,
    };
    return !this.#dispatch({ type: "send", now: this.#now(), text }).includes(REFUSE);
  }

  seen(): void {
    this.#dispatch({ type: "seen", now: this.#now() });
  }

  frame(text: unknown): void {
    const frame = decodeFrame(text);
    const now = this.#now();
    this.#dispatch(frame === undefined ? { type: "undecodable", now } : { type: "frame", now, frame });
  }

  unreachable(frame: string | undefined): void {
    const event: SessionEvent = { type: "unreachable", now: this.#now() };
    const ends = frame === undefined ? undefined : endsOf(frame);
    if (ends !== undefined) this.#dispatch({ ...event, ends });
    else if (frame === undefined) this.#dispatch(event);
  }

  notices(isSure: boolean): void {
    this.#dispatch({ type: "notices", now: this.#now(), isSure });
  }

  get isUp(): boolean {
    return this.#state.phase.type === "up";
  }

  leave(): void {
    this.#dispatch({ type: "leave", now: this.#now() });
    this.#disarm();
  }

  /** The turn is over. */
  flush(): void {
    this.#tick(this.#now());
  }

  view(): SessionView {
    const { phase, outbox, counts, roundTrips } = this.#state;
    const up = phase.type === "up" ? phase : undefined;
    return {
      node: this.node,
      state: up?.isSuspect ? "suspect" : phase.type,
      epoch: up && this.#nameOf(up),
      version: up?.version,
      uptimeMs: up && this.#now() - up.since,
      credit: { frames: up ? up.grant.frames - up.sent : 0, size: up ? up.grant.size - up.sentSize : 0 },
      queued: { signals: outbox.signals, bytes: outbox.size },
      inFlight: up?.inFlight.length ?? 0,
      ...counts,
      roundTripMs: [...roundTrips].sort((a, b) => a - b)[roundTrips.length >> 1],
      lastRoundTripMs: roundTrips.at(-1),
    };
  }

  #now(): number {
    return this.#ground.kernel.env.now();
  }

  #tick(now: number): void {
    const { pace, carrier } = this.#ground;
    const pending = carrier.pending?.(this.node);
    const random = pace.random();
    this.#dispatch({ type: "tick", now, random, ...(pending === undefined ? {} : { pending }) });
  }

  /** Returns the effects of this event; they are carried out now, or behind those that wait. */
  #dispatch(event: SessionEvent): readonly SessionEffect[] {
    const [state, effects] = decide(this.#state, event);
    this.#state = state;
    if (effects.length === 0) return effects;
    this.#effects.push(...effects);
    if (this.#isRunning) return effects;
    this.#isRunning = true;
    try {
      for (let next = this.#effects.shift(); next !== undefined; next = this.#effects.shift())
        this.#carryOut(next);
    } finally {
      this.#effects = [];
      this.#isRunning = false;
    }
    return effects;
  }

  #carryOut(effect: SessionEffect): void {
    switch (effect.type) {
      case "transmit":
        this.#transmit(effect.frame);
        return;
      case "deliver":
        this.#deliver(effect.body, effect.count);
        return;
      case "up":
        this.#texts.agreed(effect.capabilities);
        this.#ground.up({ ...effect, node: this.node, epoch: this.#nameOf(effect.epoch) });
        return;
      case "down":
        this.#down(effect);
        return;
      case "arm":
        this.#arm(effect.at);
        return;
      case "flush":
        this.#ground.flushLater(this);
        return;
      case "refused": {
        const { kernel, config } = this.#ground;
        tellRefused(kernel, { node: this.node, here: config.versions, there: effect.versions });
        return;
      }
      case "refuse":
        return;
      default:
        effect satisfies never;
    }
  }

  #transmit(frame: Frame): void {
    const { kernel, carrier } = this.#ground;
    const text = encodeFrame(frame);
    let isSent = false;
    try {
      isSent = carrier.send(this.node, text);
    } catch (error) {
      tell(kernel, "error", `the carrier threw at a frame to ${this.node.name}`, error);
    }
    if (!isSent) this.unreachable(text);
  }

  #deliver(body: string, count: number): void {
    const { kernel } = this.#ground;
    let signals: readonly WireSignal[];
    try {
      signals = this.#texts.decodeAll(body);
      if (signals.length !== count) throw new TypeError(`${signals.length} signals, and not ${count}`);
    } catch (error) {
      tell(kernel, "error", `the node ${this.node.name} sent a frame that is not readable`, error);
      // Nothing behind it may be delivered.
      this.#effects = this.#effects.filter((one) => one.type !== "deliver");
      this.#dispatch({ type: "undecodable", now: this.#now() });
      return;
    }
    for (const signal of signals) {
      try {
        kernel.remote.deliver(signal);
      } catch (error) {
        tell(kernel, "error", `a ${signal.type} from the node ${this.node.name} threw`, error);
      }
    }
  }

  #down({ epoch, reason, by, lost }: Extract<SessionEffect, { readonly type: "down" }>): void {
    const { kernel } = this.#ground;
    this.#texts.agreed([]);
    kernel.remote.nodeDown(this.node.id);
    // When this node leaves in order, its lost messages are not dead letters.
    if (reason !== "left" || by === "there")
      for (const { signal } of lost as readonly { readonly signal: WireSignal }[])
        if (signal.type === "message")
          kernel.deadLetter(kernel.remote.pid(signal.to), signal.message, "noconnection");
    if (epoch === undefined) return;
    this.#ground.down({ node: this.node, epoch: this.#nameOf(epoch), reason, by, lost: lost.length });
  }

  #arm(at: number): void {
    this.#disarm();
    const now = (): number => Math.max(at, this.#now());
    const fire = (): void => {
      this.#timer = undefined;
      this.#tick(now());
    };
    const isEnd = (): boolean => endsBy(this.#state, now());
    this.#timer = this.#ground.pace.after(Math.max(0, at - this.#now()), fire, isEnd);
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Both ends give an epoch the same name: the counter of the node with the lesser id comes first. */
  #nameOf({ mine, theirs }: EpochEnds): string {
    return this.#ground.kernel.node.id < this.node.id ? `${mine}.${theirs}` : `${theirs}.${mine}`;
  }
}

/** Signals to one process keep their order. A reply has an order of its own: its call. */
function laneOf(to: PidAddress | ReplyAddress): number {
  return "id" in to ? to.id : -1 - to.ref;
}
