// A world of contenders for one lease, under true time: clocks that differ and jump ahead, processes that are paused, and a source whose
// requests and answers travel as long as the test likes, get lost, or fail. The source is written from the rules of a lease: a
// compare-and-set on one record, which expires.

import {
  decide,
  initial,
  isHeld,
  type LeaseEffect,
  type LeaseEvent,
  type LeaseState,
  type LeaseTimes,
} from "../../../lib/node/lease/lease-machine.js";

type Body<E = LeaseEvent> = E extends LeaseEvent ? Omit<E, "now" | "roll"> : never;

/** A request on its way to the source, or its answer on the way back. */
interface Parcel {
  readonly to: Contender;
  readonly type: "acquire" | "renew" | "release";
  readonly request: number;
  readonly token: number;
  answer: Body | undefined;
}

export class Contender {
  state: LeaseState;
  /** What its clock shows beyond true time. */
  ahead: number;
  isPaused = false;
  isStopped = false;
  /** What runs under the lease: the token that it was given. */
  occupant: number | undefined;
  /** The token of its last tenure. */
  token = 0;
  /** The tokens that its acquisitions were given, by request. */
  readonly given = new Map<number, number>();
  /** When the occupant leaves, by the own clock. */
  leavesAt = Number.POSITIVE_INFINITY;
  readonly waiting: Body[] = [];

  constructor(times: LeaseTimes, ahead: number) {
    this.state = initial(times);
    this.ahead = ahead;
  }
}

export class LeaseWorld {
  now = 1_000;
  readonly contenders: readonly Contender[];
  readonly parcels: Parcel[] = [];
  record: { readonly token: number; readonly expiresAt: number } | undefined;
  lastToken = 0;
  /** The tokens under which something ran, in order. */
  readonly tenures: number[] = [];
  readonly #times: LeaseTimes;

  constructor(times: LeaseTimes, ahead: readonly number[]) {
    this.#times = times;
    this.contenders = ahead.map((ms) => new Contender(times, ms));
    for (const one of this.contenders) this.tell(one, { type: "start" });
  }

  clockOf(one: Contender): number {
    return this.now + one.ahead;
  }

  /** Those whose code runs under the lease at this instant of true time. */
  acting(): Contender[] {
    return this.contenders.filter((one) => !one.isPaused && one.occupant !== undefined);
  }

  believing(): Contender[] {
    return this.contenders.filter((one) => !one.isPaused && isHeld(one.state, this.clockOf(one)));
  }

  /** A paused process gets its events when it goes on. */
  tell(one: Contender, event: Body): void {
    if (one.isPaused) one.waiting.push(event);
    else this.#decide(one, event);
  }

  /** True time goes by: timers fire when they are due. */
  advance(ms: number): void {
    const end = this.now + ms;
    for (;;) {
      const due = Math.min(...this.contenders.map((one) => this.#dueAt(one)));
      if (due > end) break;
      this.now = Math.max(this.now, due);
      for (const one of this.contenders) if (this.#dueAt(one) <= this.now) this.#fire(one);
    }
    this.now = end;
  }

  pause(one: Contender): void {
    one.isPaused = true;
  }

  /** The first that runs is what is due by the clock, then what has come meanwhile. */
  resume(one: Contender): void {
    one.isPaused = false;
    this.#fire(one);
    for (const event of one.waiting.splice(0)) this.#decide(one, event);
  }

  /** A parcel arrives: at the source, or with the answer. */
  deliver(index: number): void {
    const [parcel] = this.parcels.splice(index % this.parcels.length, 1);
    if (parcel === undefined) return;
    if (parcel.answer !== undefined) this.tell(parcel.to, parcel.answer);
    else this.parcels.push({ ...parcel, answer: this.#apply(parcel) });
  }

  lose(index: number): void {
    this.parcels.splice(index % this.parcels.length, 1);
  }

  /** The source answers with an error, whether it has done what was asked or not. */
  fail(index: number, isDone: boolean): void {
    const [parcel] = this.parcels.splice(index % this.parcels.length, 1);
    if (parcel === undefined) return;
    if (isDone && parcel.answer === undefined) this.#apply(parcel);
    this.tell(parcel.to, { type: "failed", request: parcel.request });
  }

  /** A clock that counted what others did not, such as the time for which a machine was suspended. */
  jumpAhead(one: Contender, ms: number): void {
    one.ahead += ms;
    if (!one.isPaused) this.#fire(one);
  }

  /** The source answers at once, for so long. */
  answerFor(ms: number): void {
    const end = this.now + ms;
    for (;;) {
      while (this.parcels.length > 0) this.deliver(0);
      if (this.now >= end) return;
      this.advance(Math.min(10, end - this.now));
    }
  }

  stop(one: Contender): void {
    one.isStopped = true;
    this.tell(one, { type: "stop" });
  }

  #dueAt(one: Contender): number {
    if (one.isPaused) return Number.POSITIVE_INFINITY;
    const { wakeAt = Number.POSITIVE_INFINITY } = one.state;
    return Math.min(wakeAt, one.leavesAt) - one.ahead;
  }

  #fire(one: Contender): void {
    if ((one.state.wakeAt ?? Number.POSITIVE_INFINITY) <= this.clockOf(one))
      this.#decide(one, { type: "tick" });
    if (one.leavesAt <= this.clockOf(one)) this.#leave(one);
  }

  #leave(one: Contender): void {
    one.leavesAt = Number.POSITIVE_INFINITY;
    one.occupant = undefined;
    this.#decide(one, { type: "vacated" });
  }

  #decide(one: Contender, event: Body): void {
    const [state, effects] = decide(one.state, {
      ...event,
      now: this.clockOf(one),
      roll: 0.5,
    } as LeaseEvent);
    one.state = state;
    for (const effect of effects) this.#carryOut(one, effect);
  }

  #carryOut(one: Contender, effect: LeaseEffect): void {
    switch (effect.type) {
      case "acquire":
      case "renew":
      case "release": {
        const { type, request } = effect;
        this.parcels.push({ to: one, type, request, token: one.token, answer: undefined });
        return;
      }
      case "occupy":
        if (one.occupant !== undefined) throw new Error("a lease was occupied twice");
        one.occupant = effect.token;
        one.token = effect.token;
        this.tenures.push(effect.token);
        return;
      case "vacate": {
        if (one.occupant === undefined) throw new Error("nothing to end");
        // In order it takes its time; of a lost lease, the rest of it.
        const takes = effect.isLost ? effect.until : this.clockOf(one) + this.#times.ttlMs / 3;
        one.leavesAt = Math.min(takes, one.leavesAt);
        if (one.leavesAt <= this.clockOf(one)) this.#leave(one);
        return;
      }
      case "give-back": {
        const token = one.given.get(effect.request) ?? 0;
        this.parcels.push({ to: one, type: "release", request: effect.request, token, answer: undefined });
        return;
      }
      case "abandon":
      case "wake":
      case "stopped":
        return;
      default:
        effect satisfies never;
    }
  }

  /** What the source does: one compare-and-set. */
  #apply({ to, type, request, token }: Parcel): Body {
    const record = this.record !== undefined && this.now < this.record.expiresAt ? this.record : undefined;
    const expiresAt = this.now + this.#times.ttlMs;
    switch (type) {
      case "acquire":
        if (record !== undefined) return { type: "refused", request };
        this.record = { token: ++this.lastToken, expiresAt };
        to.given.set(request, this.lastToken);
        return { type: "acquired", request, token: this.lastToken };
      case "renew":
        if (record?.token !== token) return { type: "gone", token };
        this.record = { token, expiresAt };
        return { type: "renewed", request };
      case "release":
        if (record?.token === token) this.record = undefined;
        return { type: "released", request };
      default:
        return type satisfies never;
    }
  }
}
