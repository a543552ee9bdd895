// Two nodes with a session machine each, and a network between them that loses, duplicates, delays, cuts and heals; the nodes stop, go on
// and restart. The rules are those of the guarantee, and know nothing of the machine: what was accepted, what arrived, what was said to
// be lost, and when each side said that an epoch began or ended.

import { decodeFrame, encodeFrame, endsOf, tagOf } from "../../../lib/node/session/frame-text.js";
import type { OutgoingText } from "../../../lib/node/session/outbox.js";
import {
  decide,
  initial,
  REFUSE,
  type Session,
  type SessionConfig,
  type SessionEffect,
  type SessionEvent,
} from "../../../lib/node/session/session-machine.js";

export type SideOf = 0 | 1;

export const LIMIT_MS = 2_000;

/** Small limits, so that few texts reach them. */
export const CONFIG: SessionConfig = {
  limitMs: LIMIT_MS,
  heartbeatMs: LIMIT_MS / 4,
  hasHeartbeats: true,
  windowFrames: 6,
  windowSize: 400,
  carrierBytes: 1_000,
  textSize: 10_000,
  versions: { least: 1, most: 1 },
  capabilities: [],
  queueSignals: 20,
  queueBytes: 20_000,
  batchSignals: 3,
  batchSize: 60,
};

const LATENCY_MS = 1;
/** Longest time by which a frame is late. */
const LATE_MS = 300;

interface Accepted {
  readonly id: string;
  readonly lane: number;
}

/** One boot of a side. */
class Boot {
  readonly sessions: Map<string, Link> = new Map();
  /** When it went on after a stop. */
  wokeAt = 0;
  isStopped = false;
  readonly id: string;

  constructor(id: string) {
    this.id = id;
  }
}

/** What one boot knows of another. */
class Link {
  state: Session;
  timerAt: number = Number.POSITIVE_INFINITY;
  epoch: string | undefined = undefined;
  /** The texts that were accepted since the last end. */
  accepted: Accepted[] = [];

  constructor(config: SessionConfig, counter: number) {
    this.state = initial(config, counter);
  }
}

interface Travelling {
  readonly from: Boot;
  readonly to: Boot;
  readonly text: string;
  readonly isNotice: boolean;
  at: number;
}

export type Step =
  | {
      readonly op: "send";
      readonly side: SideOf;
      readonly lane: number;
      readonly pad: number;
      readonly isRefusable: boolean;
    }
  | { readonly op: "advance"; readonly ms: number }
  | { readonly op: "lose" | "twice" | "late"; readonly which: number }
  | { readonly op: "cut"; readonly ways: readonly [boolean, boolean] }
  | { readonly op: "restart" | "stop" | "go on"; readonly side: SideOf };

export class SessionModel {
  now = 0;
  readonly broken: string[] = [];
  readonly config: SessionConfig;
  readonly boots: [Boot, Boot] = [new Boot("a1"), new Boot("b1")];
  readonly #travelling: Travelling[] = [];
  #cut: readonly [boolean, boolean] = [false, false];
  readonly #arrived = new Set<string>();
  readonly #lost = new Set<string>();
  /** By sender, receiver and epoch: what was accepted for it, and what arrived. */
  readonly #acceptedIn = new Map<string, Accepted[]>();
  readonly #arrivedIn = new Map<string, Accepted[]>();
  /** By side and epoch: when it ended. */
  readonly #endedAt = new Map<string, number>();
  readonly seen: { ups: number; downs: number; arrivals: number; parts: number; reasons: Set<string> } = {
    ...{ ups: 0, downs: 0, arrivals: 0, parts: 0 },
    reasons: new Set(),
  };
  #lastText = 0;
  #lastBoot = 1;
  #draws = 0;

  constructor(config: SessionConfig = CONFIG) {
    this.config = config;
    this.meet();
  }

  /** The nodes see each other. */
  meet(): void {
    const [a, b] = this.boots;
    this.#happen(a, b, { type: "seen", now: this.now });
    this.#happen(b, a, { type: "seen", now: this.now });
  }

  run(steps: readonly Step[]): void {
    for (const step of steps) this.step(step);
  }

  step(step: Step): void {
    switch (step.op) {
      case "send":
        this.send(step.side, step.lane, step.pad, step.isRefusable);
        break;
      case "advance":
        this.advance(step.ms);
        break;
      case "lose":
      case "twice":
      case "late":
        this.#disturb(step.op, step.which);
        break;
      case "cut":
        this.#cut = step.ways;
        break;
      case "restart":
        this.#restart(step.side);
        break;
      case "stop":
        this.boots[step.side].isStopped = true;
        break;
      case "go on":
        this.#goOn(step.side);
        break;
    }
    this.#check();
  }

  send(side: SideOf, lane: number, pad: number, isRefusable: boolean): boolean {
    const [from, to] = this.#pair(side);
    if (from.isStopped) return false;
    const id = `${from.id}-${++this.#lastText}`;
    const text: OutgoingText = {
      text: JSON.stringify([id, lane, "·😀".repeat(pad)]),
      lane,
      isRefusable,
      signal: id,
    };
    const link = this.#link(from, to);
    const before = link.accepted;
    // If an epoch ends at this send, the text was lost with it, or belongs to what comes next.
    before.push({ id, lane });
    const refused = this.#happen(from, to, { type: "send", now: this.now, text }).includes(REFUSE);
    const isMoved = link.accepted !== before;
    if (refused || isMoved) before.pop();
    if (isMoved && !refused && !this.#lost.has(id)) link.accepted.push({ id, lane });
    return !refused;
  }

  advance(ms: number): void {
    const end = this.now + ms;
    for (;;) {
      const frame = this.#nextFrame();
      const timer = this.#nextTimer();
      const at = Math.min(frame?.at ?? Infinity, timer?.link.timerAt ?? Infinity);
      if (at > end) break;
      this.now = Math.max(this.now, at);
      if (frame !== undefined && frame.at <= (timer?.link.timerAt ?? Infinity)) this.#arrive(frame);
      else if (timer !== undefined) {
        timer.link.timerAt = Number.POSITIVE_INFINITY;
        this.#tick(timer.boot, timer.peer);
      }
      this.#check();
    }
    this.now = end;
    this.#check();
  }

  /** All faults end. Both sides have to come up with one epoch, and to carry texts. */
  heal(): void {
    this.#cut = [false, false];
    this.#goOn(0);
    this.#goOn(1);
    this.meet();
    this.advance(2 * LIMIT_MS);
    this.meet();
    this.advance(40_000);
    const [a, b] = this.boots;
    const [here, there] = [this.#link(a, b), this.#link(b, a)];
    if (here.epoch === undefined || here.epoch !== there.epoch)
      this.broken.push(`after the heal the epochs are ${here.epoch} and ${there.epoch}`);
    for (const side of [0, 1] as const) {
      const before = this.#arrived.size;
      if (!this.send(side, 0, 0, true)) this.broken.push("after the heal a text is refused");
      this.advance(100);
      if (this.#arrived.size !== before + 1) this.broken.push("after the heal a text does not arrive");
    }
    for (const link of [here, there])
      if (link.state.outbox.signals > 0) this.broken.push("after the heal texts still wait");
  }

  stateOf(side: SideOf): Session {
    const [from, to] = this.#pair(side);
    return this.#link(from, to).state;
  }

  /** The frames on their way from a side. */
  travellingFrom(side: SideOf): string[] {
    return this.#travelling.filter((one) => one.from === this.boots[side]).map((one) => one.text);
  }

  #pair(side: SideOf): [Boot, Boot] {
    const [a, b] = this.boots;
    return side === 0 ? [a, b] : [b, a];
  }

  #link(from: Boot, to: Boot): Link {
    let link = from.sessions.get(to.id);
    if (link === undefined) {
      link = new Link(this.config, 0);
      from.sessions.set(to.id, link);
    }
    return link;
  }

  #isAlive(boot: Boot): boolean {
    return this.boots.includes(boot);
  }

  #sideOf(boot: Boot): SideOf {
    return boot.id.startsWith("a") ? 0 : 1;
  }

  #tick(boot: Boot, peer: Boot): void {
    const random = (this.#draws++ * 0.37) % 1;
    this.#happen(boot, peer, { type: "tick", now: this.now, random });
  }

  #happen(boot: Boot, peer: Boot, event: SessionEvent): readonly SessionEffect[] {
    const link = this.#link(boot, peer);
    const [state, effects] = decide(link.state, event);
    link.state = state;
    for (const effect of effects) this.#carryOut(boot, peer, link, effect);
    if (effects.some(({ type }) => type === "flush")) this.#tick(boot, peer);
    return effects;
  }

  #carryOut(boot: Boot, peer: Boot, link: Link, effect: SessionEffect): void {
    switch (effect.type) {
      case "transmit":
        this.#transmit(boot, peer, encodeFrame(effect.frame));
        return;
      case "arm":
        link.timerAt = effect.at;
        return;
      case "up": {
        const { mine, theirs } = effect.epoch;
        if (link.epoch !== undefined) this.broken.push(`${boot.id} comes up twice`);
        link.epoch = boot.id < peer.id ? `${mine}.${theirs}` : `${theirs}.${mine}`;
        this.seen.ups++;
        this.#acceptedIn.set(`${boot.id}>${peer.id} ${link.epoch}`, link.accepted);
        return;
      }
      case "down":
        this.#down(boot, peer, link, effect);
        return;
      case "deliver":
        this.#delivered(boot, peer, link, effect.body);
        return;
      default:
        return;
    }
  }

  #down(boot: Boot, peer: Boot, link: Link, effect: Extract<SessionEffect, { type: "down" }>): void {
    const { epoch } = link;
    const ended = effect.epoch;
    const name =
      ended && (boot.id < peer.id ? `${ended.mine}.${ended.theirs}` : `${ended.theirs}.${ended.mine}`);
    if (name !== epoch) this.broken.push(`${boot.id} ends ${name}, and ${epoch} was up`);
    if (epoch !== undefined) {
      const key = `${boot.id}>${peer.id} ${epoch}`;
      if (this.#endedAt.has(key)) this.broken.push(`${key} ends twice`);
      this.#endedAt.set(key, this.now);
      this.seen.downs++;
      this.seen.reasons.add(effect.reason);
    }
    const lost = new Set(effect.lost.map(({ signal }) => signal as string));
    for (const { id } of link.accepted) {
      // A text that ends the epoch by its send is refused, and in no list.
      if (!lost.has(id) && !this.#arrived.has(id) && id !== `${boot.id}-${this.#lastText}`)
        this.broken.push(`${id} is neither lost nor delivered at the end of ${epoch}`);
    }
    for (const id of lost) this.#lost.add(id);
    for (const id of lost)
      if (!link.accepted.some((one) => one.id === id))
        this.broken.push(`${id} is lost, and was not accepted`);
    link.epoch = undefined;
    link.accepted = [];
  }

  #delivered(boot: Boot, peer: Boot, link: Link, body: string): void {
    const { epoch } = link;
    if (epoch === undefined) this.broken.push(`${boot.id} delivers without an epoch`);
    const key = `${peer.id}>${boot.id} ${epoch}`;
    const arrived = this.#arrivedIn.get(key) ?? [];
    this.#arrivedIn.set(key, arrived);
    for (const [id, lane, pad] of JSON.parse(body) as [string, number, string][]) {
      if (this.#arrived.has(id)) this.broken.push(`${id} arrives twice`);
      if (pad !== "·😀".repeat(pad.length / 3)) this.broken.push(`${id} is changed on the way`);
      this.#arrived.add(id);
      this.seen.arrivals++;
      if (pad.length > this.config.batchSize) this.seen.parts++;
      arrived.push({ id, lane });
      const inLane = (all: readonly Accepted[]): string[] =>
        all.filter((one) => one.lane === lane).map((one) => one.id);
      const sent = inLane(this.#acceptedIn.get(key) ?? []);
      const here = inLane(arrived);
      if (here.some((one, index) => one !== sent[index]))
        this.broken.push(`${key}: ${here} arrived, and ${sent} was sent`);
    }
  }

  #transmit(from: Boot, to: Boot, text: string): void {
    if (this.#cut[this.#sideOf(from)]) return;
    this.#travelling.push({ from, to, text, isNotice: false, at: this.now + LATENCY_MS });
  }

  /** The first frame to arrive at a side that runs. Frames from one side to another keep their order, unless one is late. */
  #nextFrame(): Travelling | undefined {
    let first: Travelling | undefined;
    for (const one of this.#travelling) {
      const receiver = one.isNotice ? one.from : one.to;
      if (receiver.isStopped && this.#isAlive(receiver)) continue;
      if (first === undefined || one.at < first.at) first = one;
    }
    return first;
  }

  #arrive(one: Travelling): void {
    this.#travelling.splice(this.#travelling.indexOf(one), 1);
    const frame = decodeFrame(one.text);
    if (frame === undefined) {
      this.broken.push(`not a frame: ${one.text}`);
      return;
    }
    if (one.isNotice) {
      const ends = endsOf(tagOf(one.text));
      // A word about versions belongs to no epoch.
      if (this.#isAlive(one.from) && ends !== undefined)
        this.#happen(one.from, one.to, { type: "unreachable", now: this.now, ends });
      return;
    }
    if (this.#isAlive(one.to)) this.#happen(one.to, one.from, { type: "frame", now: this.now, frame });
    else if (!this.#cut[this.#sideOf(one.to)])
      this.#travelling.push({ ...one, isNotice: true, at: this.now + LATENCY_MS });
  }

  #nextTimer(): { boot: Boot; peer: Boot; link: Link } | undefined {
    let first: { boot: Boot; peer: Boot; link: Link } | undefined;
    for (const boot of this.boots) {
      if (boot.isStopped) continue;
      for (const [id, link] of boot.sessions)
        if (link.timerAt < (first?.link.timerAt ?? Infinity)) first = { boot, peer: this.#bootOf(id), link };
    }
    return first;
  }

  readonly #all = new Map<string, Boot>();

  #bootOf(id: string): Boot {
    return this.boots.find((one) => one.id === id) ?? (this.#all.get(id) as Boot);
  }

  #disturb(op: "lose" | "twice" | "late", which: number): void {
    const { length } = this.#travelling;
    if (length === 0) return;
    const at = which % length;
    const one = this.#travelling[at] as Travelling;
    if (op === "twice") this.#travelling.push({ ...one, at: one.at + (which % LATE_MS) });
    else {
      this.#travelling.splice(at, 1);
      if (op === "late") this.#travelling.push({ ...one, at: one.at + (which % LATE_MS) });
    }
  }

  #restart(side: SideOf): void {
    const old = this.boots[side];
    this.#all.set(old.id, old);
    this.boots[side] = new Boot(`${side === 0 ? "a" : "b"}${++this.#lastBoot}`);
    for (const key of [...old.sessions.keys()]) this.#diedAt.set(`${old.id} ${key}`, this.now);
    const [here, there] = this.#pair(side);
    if (!this.#cut[side] && !there.isStopped) this.#happen(there, here, { type: "seen", now: this.now });
  }

  readonly #diedAt = new Map<string, number>();

  #goOn(side: SideOf): void {
    const boot = this.boots[side];
    if (boot.isStopped) boot.wokeAt = this.now;
    boot.isStopped = false;
  }

  /** A side whose other side has ended the epoch, or died, ends it too, within the limit. */
  #check(): void {
    const slack = LATE_MS + LIMIT_MS / 4 + 2 * LATENCY_MS;
    for (const boot of this.boots) {
      if (boot.isStopped) continue;
      for (const [id, link] of boot.sessions) {
        if (link.epoch === undefined) continue;
        const ended =
          this.#endedAt.get(`${id}>${boot.id} ${link.epoch}`) ?? this.#diedAt.get(`${id} ${boot.id}`);
        if (ended === undefined) continue;
        const lateMs = this.now - Math.max(ended, boot.wokeAt) - LIMIT_MS - slack;
        if (lateMs > 0) this.broken.push(`${boot.id} still believes in ${link.epoch} with ${id}`);
      }
    }
  }
}
