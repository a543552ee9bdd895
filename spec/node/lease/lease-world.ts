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
  readonly answer: Body | undefined;
  /** When it arrives, in true time. */
  readonly at: number;
}

/** The way between a contender and the source: how long a request takes, and its answer; whether either is lost, or becomes an error. */
export interface Way {
  readonly outMs: number;
  readonly backMs: number;
  readonly fate: "arrives" | "lost" | "lost back" | "fails" | "fails back";
}

export const OPEN: Way = { outMs: 1, backMs: 1, fate: "arrives" };

export class Contender {
  state: LeaseState;
  /** What its clock shows beyond true time. */
  ahead: number;
  isPaused: boolean = false;
  way: Way = OPEN;
  /** What runs under the lease: the token that it was given. */
  occupant: number | undefined;
  /** The token of its last tenure. */
  token: number = 0;
  /** The tokens that its acquisitions were given, by request. */
  readonly given: Map<number, number> = new Map();
  /** When the occupant leaves, by the own clock. */
  leavesAt: number = Number.POSITIVE_INFINITY;
  readonly waiting: Body[] = [];

  constructor(times: LeaseTimes, ahead: number) {
    this.state = initial(times);
    this.ahead = ahead;
  }
}

export class LeaseWorld {
  now: number = 1_000;
  readonly contenders: readonly Contender[];
  #parcels: readonly Parcel[] = [];
  record: { readonly token: number; readonly expiresAt: number } | undefined;
  lastToken: number = 0;
  /** The tokens under which something ran, in order. */
  readonly tenures: number[] = [];
  readonly #times: LeaseTimes;
  /** Looks at the world after each moment at which something happened. */
  judge: (world: LeaseWorld) => void = () => undefined;

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
      const due = Math.min(
        ...this.contenders.map((one) => this.#dueAt(one)),
        ...this.#parcels.map(({ at }) => at),
      );
      if (due > end) break;
      this.now = Math.max(this.now, due);
      const arrived = this.#parcels.filter(({ at }) => at <= this.now);
      this.#parcels = this.#parcels.filter(({ at }) => at > this.now);
      for (const parcel of arrived) this.#arrive(parcel);
      for (const one of this.contenders) if (this.#dueAt(one) <= this.now) this.#fire(one);
      this.judge(this);
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

  /** A clock that counted what others did not, such as the time for which a machine was suspended. */
  jumpAhead(one: Contender, ms: number): void {
    one.ahead += ms;
    if (!one.isPaused) this.#fire(one);
  }

  stop(one: Contender): void {
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
        this.#send(one, effect.type, effect.request, one.token);
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
        this.#send(one, "release", effect.request, token);
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

  #send(to: Contender, type: Parcel["type"], request: number, token: number): void {
    if (to.way.fate === "lost") return;
    const at = this.now + to.way.outMs;
    this.#parcels = [...this.#parcels, { to, type, request, token, answer: undefined, at }];
  }

  /** At the source, or back from it. */
  #arrive(parcel: Parcel): void {
    const { to, request, answer } = parcel;
    const { fate, backMs } = to.way;
    if (answer !== undefined) {
      this.tell(to, answer);
      return;
    }
    const back = fate === "fails" ? undefined : this.#apply(parcel);
    if (fate === "lost back") return;
    const told = fate === "arrives" ? back : undefined;
    const at = this.now + backMs;
    this.#parcels = [...this.#parcels, { ...parcel, answer: told ?? { type: "failed", request }, at }];
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
