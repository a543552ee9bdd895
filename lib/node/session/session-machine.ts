// One end of the session between two nodes, as a pure machine. It is mutable inside, for speed, and deterministic: after `decide` only
// the state that it returns may be used.
//
//              seen, send, hello                 agreed                    half the limit without a word
//     absent ──────────────────────▶ hello ──────────────▶ up ──────────────────────────────▶ suspect
//       ▲  ▲                           │                    │ ◀── any frame of the epoch ───────┘ │
//       │  └── unanswered, bye ────────┘                    │                                     │
//       └── gap, timeout, stalled, undecodable, slept, overflow, unreachable, bye, moved ─────────┘
//
//     any ── leave ──▶ left            absent, hello ── no common version ──▶ refused
//
// **Epochs.** Each end counts its attempts; the node's id is new at each boot. An epoch is the pair of both counters. It is up when both
// ends have told the other both numbers: `hello (mine, 0)`, `hello (theirs, mine)`, and then any frame. Every frame carries the pair, so
// a late frame, a late bye or a late notice of an older epoch never touches a newer one.
//
// **Order.** Data and parts are numbered within the epoch. The next number is delivered, an old one is ignored, and any other is a gap,
// which ends the epoch: nothing is sent twice. So what is delivered is a prefix of what was sent.
//
// **The end.** An epoch that was up is reported down once at each side. The side that ends it sends `bye`. A side that missed that finds
// out by a hello with a higher counter, by the answer to its next frame, or by the limit of heartbeats. What was not acknowledged is lost:
// it comes back with the effect `down`, and was perhaps delivered.
//
// **Heartbeats** go apart from data, at random between half and the whole of `heartbeatMs`, and carry acknowledgement and credit. A carrier
// with notices has them only while something is not acknowledged.
//
// **Sleep.** When this end could not act for half the limit (the process was stopped, or a turn was long), it ends the epoch before it
// sends anything else: the other side may have ended it already.
//
// **Bounds.** The credit bounds what is in flight, the outbox what waits. A message beyond that is refused. Another signal may not be
// refused while the epoch lives, because a link would be half there: it has twice the room, and beyond that the epoch ends.

import { invariant } from "../../process/invariant.js";
import { EMPTY, Mailbox } from "../../process/mailbox.js";
import type {
  BeatFrame,
  ByeFrame,
  ByeReason,
  Credit,
  DataFrame,
  Ends,
  Frame,
  HelloFrame,
  PartFrame,
  VersionRange,
} from "./frame-text.js";
import { Outbox, type OutboxLimits, type OutgoingText } from "./outbox.js";

/** Limits and abilities of one end. Durations are milliseconds, sizes are characters of text. */
export interface SessionConfig extends OutboxLimits {
  /** The epoch ends when nothing was heard, or nothing was acknowledged, for so long. */
  readonly limitMs: number;
  readonly heartbeatMs: number;
  /** Whether silence is a sign of death at first: false for a carrier with notices. */
  readonly hasHeartbeats: boolean;
  readonly windowFrames: number;
  readonly windowSize: number;
  /** The session sends nothing while so many bytes wait in the carrier. */
  readonly carrierBytes: number;
  /** The largest text that this end assembles from parts. */
  readonly textSize: number;
  readonly versions: VersionRange;
  readonly capabilities: readonly string[];
}

/** The counters of both ends. */
export interface EpochEnds {
  readonly mine: number;
  readonly theirs: number;
}

/**
 * Why an epoch ended: one of the reasons of a bye; `unreachable`, when the carrier knows that nobody listens; `moved`, when the other
 * side began anew; `versions`, when the two have no version in common.
 */
export type SessionEnd = ByeReason | "unreachable" | "moved" | "versions";

interface InFlight {
  readonly seq: number;
  readonly isPart: boolean;
  readonly texts: readonly OutgoingText[];
}

/** An epoch that is up. */
interface Epoch extends EpochEnds {
  readonly type: "up";
  readonly version: number;
  readonly since: number;
  isSuspect: boolean;
  heardAt: number;
  beatAt: number;
  /** When the carrier is looked at again, which had too much to send. */
  drainAt: number;
  // out
  sent: number;
  sentSize: number;
  acked: number;
  /** The last time at which something was acknowledged, or at which nothing was in flight. */
  progressAt: number;
  grant: Credit;
  readonly inFlight: Mailbox;
  partsInFlight: number;
  // in
  received: number;
  receivedSize: number;
  /** How much of the received frames and sizes was acknowledged to the other side. */
  toldFrames: number;
  toldSize: number;
  mustTell: boolean;
  parts: string[];
  partsSize: number;
  /** The last heartbeat of the other side: its clock, and when it came. */
  echo: number;
  echoAt: number;
}

interface Hello {
  readonly type: "hello";
  readonly mine: number;
  /** The last hello of the other side. */
  theirs: HelloFrame | undefined;
  readonly failsAt: number;
  sendAt: number;
}

interface Absent {
  readonly type: "absent";
  readonly retryAt: number;
  /** Sends are refused until then, because a hello was in vain. */
  readonly refusesUntil: number;
}

type Phase = Absent | Hello | Epoch | { readonly type: "refused" } | { readonly type: "left" };

/** Counts of what happened at this end so far. */
export interface SessionCounts {
  gaps: number;
  ends: number;
  lost: number;
  refused: number;
}

/** How many round trips of heartbeats are remembered. */
const ROUND_TRIPS = 64;

export interface Session {
  readonly config: SessionConfig;
  readonly outbox: Outbox;
  phase: Phase;
  /** Whether silence is a sign of death at present. */
  hasHeartbeats: boolean;
  /** Attempts of this end: it only grows, and so is new for each epoch. */
  counter: number;
  /** The other side's counter in the last epoch that was up. */
  ended: number;
  /** Hellos in vain, or epochs that did not last, in a row. */
  retries: number;
  /** When the next tick is due. */
  armedAt: number;
  /** Whether a tick at the end of the turn was asked for. */
  isFlushing: boolean;
  /** The last random number, for jitter. */
  random: number;
  /** What waits in the carrier, about. */
  pending: number;
  readonly counts: SessionCounts;
  /** The last round trips, in milliseconds. */
  readonly roundTrips: number[];
}

export type SessionEvent =
  /** The carrier has seen the other node. */
  | { readonly type: "seen"; readonly now: number }
  | { readonly type: "send"; readonly now: number; readonly text: OutgoingText }
  | { readonly type: "frame"; readonly now: number; readonly frame: Frame }
  /** A frame, or the body of the last one, was not readable. */
  | { readonly type: "undecodable"; readonly now: number }
  /** `pending`: what waits in the carrier; undefined when that is not known. */
  | { readonly type: "tick"; readonly now: number; readonly random: number; readonly pending?: number }
  /** Nobody listens there. `ends`: the epoch of the frame that found nobody, if that is known. */
  | { readonly type: "unreachable"; readonly now: number; readonly ends?: Ends }
  /** From now on the carrier notices the end of the other node at once, or does not. */
  | { readonly type: "notices"; readonly now: number; readonly isSure: boolean }
  /** This node takes its leave. */
  | { readonly type: "leave"; readonly now: number };

export type SessionEffect =
  | { readonly type: "transmit"; readonly frame: Frame }
  /** `body`: a JSON array of texts. */
  | { readonly type: "deliver"; readonly body: string; readonly count: number }
  | {
      readonly type: "up";
      readonly epoch: EpochEnds;
      readonly version: number;
      readonly capabilities: readonly string[];
    }
  | {
      readonly type: "down";
      /** Undefined when no epoch was up: a hello was in vain. */
      readonly epoch: EpochEnds | undefined;
      readonly reason: SessionEnd;
      readonly by: "here" | "there";
      readonly lost: readonly OutgoingText[];
    }
  /** The text of this `send` is not taken. */
  | { readonly type: "refuse" }
  /** A tick is needed then, or earlier. */
  | { readonly type: "arm"; readonly at: number }
  /** A tick is needed at the end of this turn. */
  | { readonly type: "flush" }
  /** The two have no version in common. */
  | { readonly type: "refused"; readonly versions: VersionRange };

type Effects = readonly SessionEffect[];

const NONE: Effects = [];
const NEVER = Number.POSITIVE_INFINITY;

/** The effect of a send that is not taken. */
export const REFUSE: SessionEffect = { type: "refuse" };
const REFUSED: Effects = [REFUSE];
const FLUSH: Effects = [{ type: "flush" }];

/**
 * Parts that are sent and not acknowledged: what others send does not wait behind more than these. The other side acknowledges each
 * at the end of its turn.
 */
const MOST_PARTS = 8;
/** How soon a full carrier is looked at again. */
const DRAIN_MS = 5;
const LONGEST_RETRY_MS = 30_000;
/** Hellos in vain in a row, after which only a send or a sight of the node begins another. */
const MOST_RETRIES = 10;

/** @param counter - attempts that an earlier session with this node may have made */
export function initial(config: SessionConfig, counter = 0, random = 0): Session {
  return {
    config,
    outbox: new Outbox(config),
    phase: { type: "absent", retryAt: NEVER, refusesUntil: 0 },
    hasHeartbeats: config.hasHeartbeats,
    counter,
    ended: 0,
    retries: 0,
    armedAt: NEVER,
    isFlushing: false,
    random,
    pending: 0,
    counts: { gaps: 0, ends: 0, lost: 0, refused: 0 },
    roundTrips: [],
  };
}

/** One transition. */
export function decide(s: Session, event: SessionEvent): readonly [Session, Effects] {
  const awake = wake(s, event.now);
  // A signal that is sent at that moment belongs to the epoch that has just ended: in the next one a link would be there at one side alone.
  const effects = awake.length > 0 && event.type === "send" ? turnAway(s) : react(s, event);
  const all = awake.length === 0 ? effects : [...awake, ...effects];
  if (event.type === "send" && all.length === 0) return [s, all];
  const at = dueAt(s);
  if (at >= s.armedAt) return [s, all];
  s.armedAt = at;
  return [s, [...all, { type: "arm", at }]];
}

/** The tick came far too late: the process was stopped, or a turn was long. */
function wake(s: Session, now: number): Effects {
  if (s.phase.type !== "up" || !s.hasHeartbeats || now - s.armedAt < s.config.limitMs / 2) return NONE;
  // The tick that is late says nothing of the next epoch, which may begin before it.
  s.armedAt = NEVER;
  return end(s, s.phase, now, "slept", "here");
}

function react(s: Session, event: SessionEvent): Effects {
  const { now } = event;
  switch (event.type) {
    case "seen":
      return s.phase.type === "absent" ? begin(s, now) : NONE;
    case "send":
      return send(s, event.text, now);
    case "frame":
      return frame(s, event.frame, now);
    case "undecodable":
      return s.phase.type === "up" ? end(s, s.phase, now, "undecodable", "here") : NONE;
    case "tick":
      s.random = event.random;
      s.pending = event.pending ?? Number.NEGATIVE_INFINITY;
      s.isFlushing = false;
      if (now >= s.armedAt) s.armedAt = NEVER;
      return tick(s, now);
    case "unreachable":
      return unreachable(s, event.ends, now);
    case "notices":
      return rely(s, event.isSure, now);
    case "leave":
      return leave(s, now);
    default:
      return event satisfies never;
  }
}

// ── time ────────────────────────────────────────────────────────────────────────────────────────────────────────

function dueAt(s: Session): number {
  const { phase } = s;
  switch (phase.type) {
    case "absent":
      return phase.retryAt;
    case "hello":
      return Math.min(phase.sendAt, phase.failsAt);
    case "up": {
      const silentAt = phase.isSuspect ? timeoutAt(s, phase) : suspectAt(s, phase);
      return Math.min(phase.beatAt, phase.drainAt, silentAt, stallAt(s, phase));
    }
    default:
      return NEVER;
  }
}

// The times themselves are compared, and not durations: a sum that was rounded would be due for ever.

function suspectAt({ hasHeartbeats, config }: Session, { heardAt }: Epoch): number {
  return hasHeartbeats ? heardAt + config.limitMs / 2 : NEVER;
}

function timeoutAt({ hasHeartbeats, config }: Session, { heardAt }: Epoch): number {
  return hasHeartbeats ? heardAt + config.limitMs : NEVER;
}

function stallAt({ config }: Session, { inFlight, progressAt }: Epoch): number {
  return inFlight.isEmpty ? NEVER : progressAt + config.limitMs;
}

/** Whether a tick at this time would end an epoch or give up a hello, so that processes learn of it. */
export function endsBy(s: Session, now: number): boolean {
  const { phase } = s;
  if (phase.type === "hello") return now >= phase.failsAt;
  if (phase.type !== "up") return false;
  const hasSlept = s.hasHeartbeats && now - s.armedAt >= s.config.limitMs / 2;
  return hasSlept || now >= timeoutAt(s, phase) || now >= stallAt(s, phase);
}

function tick(s: Session, now: number): Effects {
  const { phase } = s;
  switch (phase.type) {
    case "absent":
      return now >= phase.retryAt ? begin(s, now) : NONE;
    case "hello":
      if (now >= phase.failsAt) return fail(s, phase, now, "unanswered", "here");
      return now >= phase.sendAt ? greet(s, phase, now) : NONE;
    case "up": {
      if (now >= timeoutAt(s, phase)) return end(s, phase, now, "timeout", "here");
      if (now >= stallAt(s, phase)) return end(s, phase, now, "stalled", "here");
      phase.isSuspect = now >= suspectAt(s, phase);
      const sent = pump(s, phase, now);
      return [...sent, ...beat(s, phase, now)];
    }
    default:
      return NONE;
  }
}

/** Between half an interval and a whole one, at random, so that the heartbeats of many sessions do not meet. */
function jittered(s: Session, ms: number): number {
  return ms * (0.5 + s.random / 2);
}

/** A heartbeat, if one is due, or the other side must know what arrived. */
function beat(s: Session, epoch: Epoch, now: number): Effects {
  const isDue = now >= epoch.beatAt;
  if (!isDue && !epoch.mustTell) return NONE;
  return [transmitBeat(s, epoch, now)];
}

function transmitBeat(s: Session, epoch: Epoch, now: number): SessionEffect {
  const asks = !epoch.inFlight.isEmpty;
  const goesOn = s.hasHeartbeats || asks;
  epoch.beatAt = goesOn ? now + jittered(s, s.config.heartbeatMs) : NEVER;
  const micros = Math.round(now * 1_000);
  const { echo } = epoch;
  const held = echo === 0 ? 0 : Math.max(0, micros - Math.round(epoch.echoAt * 1_000));
  return {
    type: "transmit",
    frame: { type: "beat", ...receiptOf(s, epoch), asks, at: micros, echo, held },
  };
}

/** Silence counts from now on, or does not any more. */
function rely(s: Session, isSure: boolean, now: number): Effects {
  const { phase } = s;
  if (s.hasHeartbeats === !isSure) return NONE;
  s.hasHeartbeats = !isSure;
  if (phase.type !== "up") return NONE;
  phase.isSuspect = false;
  phase.heardAt = now;
  return isSure ? NONE : [transmitBeat(s, phase, now)];
}

/** What a frame of the epoch says of what arrived here. From now on the other side knows. */
function receiptOf(s: Session, epoch: Epoch): { from: number; to: number; ack: number; credit: Credit } {
  epoch.toldFrames = epoch.received;
  epoch.toldSize = epoch.receivedSize;
  epoch.mustTell = false;
  const { windowFrames, windowSize } = s.config;
  return {
    from: epoch.mine,
    to: epoch.theirs,
    ack: epoch.received,
    credit: { frames: epoch.received + windowFrames, size: epoch.receivedSize + windowSize },
  };
}

// ── begin ───────────────────────────────────────────────────────────────────────────────────────────────────────

function begin(s: Session, now: number, theirs?: HelloFrame): Effects {
  const mine = ++s.counter;
  const phase: Hello = { type: "hello", mine, theirs, failsAt: now + s.config.limitMs, sendAt: now };
  s.phase = phase;
  return greet(s, phase, now);
}

function greet(s: Session, phase: Hello, now: number): Effects {
  const { versions, capabilities, windowFrames, windowSize, heartbeatMs } = s.config;
  phase.sendAt = now + jittered(s, heartbeatMs);
  const credit = { frames: windowFrames, size: windowSize };
  const ends = { from: phase.mine, to: phase.theirs?.from ?? 0 };
  return [{ type: "transmit", frame: { type: "hello", ...ends, versions, credit, capabilities } }];
}

function hello(s: Session, frame: HelloFrame, now: number): Effects {
  const { phase } = s;
  if (phase.type === "left") return [bye(Math.max(1, s.counter), frame.from, "left")];
  if (phase.type === "up") {
    if (frame.from > phase.theirs) return [...end(s, phase, now, "moved", "there"), ...hello(s, frame, now)];
    // The other side does not know yet that this one has agreed.
    const isSame = frame.from === phase.theirs && frame.to === phase.mine;
    return isSame ? [transmitBeat(s, phase, now)] : NONE;
  }
  if (frame.from <= s.ended) return frame.to === 0 ? NONE : [bye(frame.to, frame.from, "stale")];
  const version = common(s.config.versions, frame.versions);
  if (version === undefined) return refuse(s, frame.versions, now, true);
  if (phase.type !== "hello") return begin(s, now, frame);
  if (phase.theirs !== undefined && frame.from < phase.theirs.from) return NONE;
  phase.theirs = frame;
  return frame.to === phase.mine ? agree(s, phase, now) : greet(s, phase, now);
}

/** Both sides know both counters. The heartbeat tells the other one. */
function agree(s: Session, phase: Hello, now: number): Effects {
  const { theirs } = phase;
  const version = theirs && common(s.config.versions, theirs.versions);
  invariant(theirs !== undefined && version !== undefined, "an epoch begins when both ends have agreed");
  const epoch: Epoch = {
    ...{ type: "up", mine: phase.mine, theirs: theirs.from, version, since: now },
    ...{ isSuspect: false, heardAt: now, beatAt: now, drainAt: NEVER },
    ...{ sent: 0, sentSize: 0, acked: 0, progressAt: now, grant: theirs.credit },
    ...{ inFlight: new Mailbox(), partsInFlight: 0 },
    ...{ received: 0, receivedSize: 0, toldFrames: 0, toldSize: 0, mustTell: false },
    ...{ parts: [], partsSize: 0, echo: 0, echoAt: 0 },
  };
  s.phase = epoch;
  const capabilities = s.config.capabilities.filter((one) => theirs.capabilities.includes(one));
  const ends = { mine: epoch.mine, theirs: epoch.theirs };
  const up: SessionEffect = { type: "up", epoch: ends, version, capabilities };
  return [up, transmitBeat(s, epoch, now), ...flush(s)];
}

/** The highest version that both have. */
function common(one: VersionRange, other: VersionRange): number | undefined {
  const most = Math.min(one.most, other.most);
  return most >= Math.max(one.least, other.least) ? most : undefined;
}

function refuse(s: Session, versions: VersionRange, now: number, tells: boolean): Effects {
  const { phase } = s;
  const isNew = phase.type !== "refused";
  const lost = phase.type === "hello" ? fail(s, phase, now, "versions", "here") : NONE;
  s.phase = { type: "refused" };
  const told: Effects = tells
    ? [{ type: "transmit", frame: { type: "versions", versions: s.config.versions } }]
    : NONE;
  return [...lost, ...told, ...(isNew ? [{ type: "refused", versions } as const] : NONE)];
}

// ── the end ─────────────────────────────────────────────────────────────────────────────────────────────────────

function bye(from: number, to: number, reason: ByeReason): SessionEffect {
  return { type: "transmit", frame: { type: "bye", from, to, reason } };
}

/** A hello has failed, so no epoch has begun. */
function fail(s: Session, phase: Hello, now: number, reason: SessionEnd, by: "here" | "there"): Effects {
  const delayMs = retryMs(s);
  s.retries++;
  const mayRetry = reason !== "unreachable" && reason !== "left" && s.retries <= MOST_RETRIES;
  s.phase = {
    type: "absent",
    retryAt: mayRetry ? now + delayMs : NEVER,
    refusesUntil: reason === "left" ? NEVER : by === "here" ? now + delayMs : 0,
  };
  const lost = s.outbox.drain();
  s.counts.lost += lost.length;
  const told = by === "here" && reason === "unanswered" && phase.theirs !== undefined;
  return [
    ...(told ? [bye(phase.mine, phase.theirs?.from ?? 0, "unanswered")] : NONE),
    ...(lost.length > 0 ? [{ type: "down", epoch: undefined, reason, by, lost } as const] : NONE),
  ];
}

/** The epoch is over at this side. */
function end(s: Session, epoch: Epoch, now: number, reason: SessionEnd, by: "here" | "there"): Effects {
  const { mine, theirs } = epoch;
  invariant(s.phase === epoch && theirs > s.ended, "an epoch ends once");
  s.ended = theirs;
  s.retries = now - epoch.since < s.config.limitMs ? s.retries + 1 : 0;
  const mayRetry = reason !== "unreachable" && reason !== "left" && s.retries <= MOST_RETRIES;
  s.phase = {
    type: "absent",
    retryAt: mayRetry ? now + retryMs(s) : NEVER,
    refusesUntil: reason === "left" ? NEVER : reason === "unreachable" ? now + retryMs(s) : 0,
  };
  const lost: OutgoingText[] = [];
  for (let one = epoch.inFlight.shift(); one !== EMPTY; one = epoch.inFlight.shift())
    lost.push(...(one as InFlight).texts);
  lost.push(...s.outbox.drain());
  s.counts.lost += lost.length;
  s.counts.ends++;
  if (reason === "gap" && by === "here") s.counts.gaps++;
  const told = by === "here" && reason !== "unreachable" && reason !== "moved" && reason !== "versions";
  return [
    ...(told ? [bye(mine, theirs, reason)] : NONE),
    { type: "down", epoch: { mine, theirs }, reason, by, lost },
  ];
}

function retryMs(s: Session): number {
  return jittered(s, Math.min(s.config.heartbeatMs * 2 ** s.retries, LONGEST_RETRY_MS));
}

function unreachable(s: Session, ends: Ends | undefined, now: number): Effects {
  const { phase } = s;
  if (phase.type !== "hello" && phase.type !== "up") return NONE;
  if (ends !== undefined && !isOf(phase, ends)) return NONE;
  return phase.type === "up"
    ? end(s, phase, now, "unreachable", "here")
    : fail(s, phase, now, "unreachable", "here");
}

/** Whether this side has sent a frame in its current attempt. */
function isOf(phase: Hello | Epoch, { from, to }: Ends): boolean {
  return from === phase.mine && (phase.type === "hello" || to === phase.theirs);
}

function leave(s: Session, now: number): Effects {
  const { phase } = s;
  const effects =
    phase.type === "up"
      ? [...pump(s, phase, now), ...end(s, phase, now, "left", "here")]
      : phase.type === "hello"
        ? [...fail(s, phase, now, "left", "here"), bye(phase.mine, phase.theirs?.from ?? 0, "left")]
        : NONE;
  s.phase = { type: "left" };
  return effects;
}

// ── out ─────────────────────────────────────────────────────────────────────────────────────────────────────────

function send(s: Session, text: OutgoingText, now: number): Effects {
  const { phase, outbox } = s;
  const isDeaf = phase.type === "left" || phase.type === "refused";
  if (isDeaf || (phase.type === "absent" && now < phase.refusesUntil)) return turnAway(s);
  if (!outbox.admits(text)) {
    if (text.isRefusable) return turnAway(s);
    // A signal that must not be lost alone.
    if (phase.type === "up") return [...end(s, phase, now, "overflow", "here"), ...turnAway(s)];
    if (phase.type === "hello") return [...fail(s, phase, now, "overflow", "here"), ...turnAway(s)];
  }
  outbox.push(text);
  if (phase.type === "absent") return begin(s, now);
  if (phase.type !== "up") return NONE;
  return outbox.hasBatch ? [...pump(s, phase, now), ...flush(s)] : flush(s);
}

function turnAway(s: Session): Effects {
  s.counts.refused++;
  return REFUSED;
}

/** Asks for a tick at the end of the turn, once. */
function flush(s: Session): Effects {
  if (s.isFlushing || (s.outbox.isEmpty && (s.phase.type !== "up" || !s.phase.mustTell))) return NONE;
  s.isFlushing = true;
  return FLUSH;
}

/** Sends as much as the credit and the carrier allow. */
function pump(s: Session, epoch: Epoch, now: number): Effects {
  const { grant, inFlight } = epoch;
  const effects: SessionEffect[] = [];
  epoch.drainAt = NEVER;
  while (!s.outbox.isEmpty && epoch.sent < grant.frames && epoch.sentSize < grant.size) {
    if (s.pending >= s.config.carrierBytes) {
      epoch.drainAt = now + DRAIN_MS;
      break;
    }
    const cargo = s.outbox.take(epoch.partsInFlight < MOST_PARTS);
    if (cargo === undefined) break;
    if (inFlight.isEmpty) epoch.progressAt = now;
    const seq = ++epoch.sent;
    epoch.sentSize += cargo.body.length;
    s.pending += cargo.body.length;
    const { texts } = cargo;
    const isPart = cargo.type === "part";
    if (isPart) epoch.partsInFlight++;
    inFlight.push({ seq, isPart, texts } satisfies InFlight);
    const { body } = cargo;
    const { from, to, ack, credit } = receiptOf(s, epoch);
    const frame: Frame =
      cargo.type === "data"
        ? { type: "data", from, to, ack, credit, seq, body, count: texts.length }
        : { type: "part", from, to, ack, credit, seq, body, isLast: cargo.isLast };
    effects.push({ type: "transmit", frame });
  }
  // Without heartbeats, the other side is asked while something is not acknowledged.
  if (effects.length > 0 && epoch.beatAt === NEVER) epoch.beatAt = now + jittered(s, s.config.heartbeatMs);
  return effects;
}

// ── in ──────────────────────────────────────────────────────────────────────────────────────────────────────────

function frame(s: Session, frame: Frame, now: number): Effects {
  switch (frame.type) {
    case "hello":
      return hello(s, frame, now);
    case "versions":
      return s.phase.type === "hello" ? refuse(s, frame.versions, now, false) : NONE;
    case "bye":
      return dismissed(s, frame, now);
    default:
      return inEpoch(s, frame, now);
  }
}

function dismissed(s: Session, frame: ByeFrame, now: number): Effects {
  const { phase } = s;
  if (phase.type === "hello" && frame.to === phase.mine) return fail(s, phase, now, frame.reason, "there");
  if (phase.type !== "up" || frame.from !== phase.theirs || frame.to !== phase.mine) return NONE;
  return end(s, phase, now, frame.reason, "there");
}

function inEpoch(s: Session, frame: DataFrame | PartFrame | BeatFrame, now: number): Effects {
  const { phase } = s;
  if (phase.type === "hello" && frame.to === phase.mine && frame.from === phase.theirs?.from)
    return [...agree(s, phase, now), ...inEpoch(s, frame, now)];
  if (phase.type === "absent" || phase.type === "left") return [bye(frame.to, frame.from, "stale")];
  if (phase.type !== "up" || frame.from !== phase.theirs || frame.to !== phase.mine) return NONE;
  phase.heardAt = now;
  phase.isSuspect = false;
  if (frame.ack > phase.sent) return end(s, phase, now, "undecodable", "here");
  acknowledged(phase, frame, now);
  const taken = frame.type === "beat" ? heartbeat(s, phase, frame, now) : numbered(s, phase, frame, now);
  return s.phase === phase ? [...taken, ...flush(s)] : taken;
}

function acknowledged(epoch: Epoch, { ack, credit }: DataFrame | PartFrame | BeatFrame, now: number): void {
  const { inFlight, grant } = epoch;
  if (ack > epoch.acked) {
    epoch.acked = ack;
    epoch.progressAt = now;
    while (!inFlight.isEmpty && (inFlight.peek(0) as InFlight).seq <= ack)
      if ((inFlight.shift() as InFlight).isPart) epoch.partsInFlight--;
  }
  if (credit.frames > grant.frames || credit.size > grant.size)
    epoch.grant = {
      frames: Math.max(credit.frames, grant.frames),
      size: Math.max(credit.size, grant.size),
    };
}

function heartbeat(s: Session, epoch: Epoch, frame: BeatFrame, now: number): Effects {
  epoch.echo = frame.at;
  epoch.echoAt = now;
  // The other side waits for an acknowledgement: the last one may be lost.
  if (frame.asks) epoch.beatAt = Math.min(epoch.beatAt, now + jittered(s, s.config.heartbeatMs));
  if (frame.echo === 0) return NONE;
  const ms = now - (frame.echo + frame.held) / 1_000;
  if (ms < 0) return NONE;
  if (s.roundTrips.length === ROUND_TRIPS) s.roundTrips.shift();
  s.roundTrips.push(ms);
  return NONE;
}

/** A frame with a number: the next one, an old one, or one behind a gap. Nothing is sent here, so that the body can be read first. */
function numbered(s: Session, epoch: Epoch, frame: DataFrame | PartFrame, now: number): Effects {
  if (frame.seq <= epoch.received) return NONE;
  if (frame.seq > epoch.received + 1) return end(s, epoch, now, "gap", "here");
  epoch.received = frame.seq;
  epoch.receivedSize += frame.body.length;
  const { windowFrames, windowSize, heartbeatMs, textSize } = s.config;
  if (
    frame.type === "part" ||
    (epoch.received - epoch.toldFrames) * 4 >= windowFrames ||
    (epoch.receivedSize - epoch.toldSize) * 4 >= windowSize
  )
    epoch.mustTell = true;
  if (epoch.beatAt === NEVER) epoch.beatAt = now + jittered(s, heartbeatMs);
  if (frame.type === "data") return [{ type: "deliver", body: frame.body, count: frame.count }];
  epoch.parts.push(frame.body);
  epoch.partsSize += frame.body.length;
  if (epoch.partsSize > textSize) return end(s, epoch, now, "undecodable", "here");
  if (!frame.isLast) return NONE;
  const text = epoch.parts.join("");
  epoch.parts = [];
  epoch.partsSize = 0;
  return [{ type: "deliver", body: `[${text}]`, count: 1 }];
}
