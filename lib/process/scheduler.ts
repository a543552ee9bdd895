// The production scheduler: ready processes run first come, first served, in turns of bounded length. A turn starts
// in a microtask while the current macrotask's budget lasts (a call costs no trip through the event loop), and in a
// macrotask of its own after that, so that I/O and timers of the host are never starved.
//
// Code that awaits goes on in microtasks behind the turn, where no turn can stop it: so only a few are let go at a time,
// and the next turn begins behind them, with a look at the clock. The others wait in `held`.

import type { Resumption, Runnable, ScheduledSystem, Scheduler, TurnLimits } from "./environment.js";
import { Mailbox } from "./mailbox.js";
import { origin } from "./origin.js";

/** The host's event loop, as far as a scheduler needs it. */
export interface EventLoop {
  now(): number;
  /** Runs `fn` as a microtask. */
  soon(fn: () => void): void;
  /** Runs `fn` as a macrotask, after pending I/O. */
  later(fn: () => void): void;
  /** Runs `fn` after `ms` or later, without keeping the host alive for it. A loop without it never takes promise hooks away. */
  eventually?(ms: number, fn: () => void): () => void;
  /** Runs `fn` once `now()` has reached `deadline`; returns the call that cancels it. */
  at(deadline: number, fn: () => void): () => void;
}

/** Activations between two looks at the clock: fewer while they are slow, up to this many while they are fast. */
const MOST_UNTIMED = 256;
/** Continuations let go between two looks at the clock: one while they are slow, up to this many while they are fast. */
const MOST_RELEASED = 16;
/** Activations in a brief turn: as many brief turns as continuations between two looks run no more than a batch does. */
const BRIEF = MOST_UNTIMED / MOST_RELEASED;
/** The run queue fills half its ring at most; the other half remembers who ran since the last look at the clock. */
const SMALLEST = 2 * MOST_UNTIMED;
/** A run queue that grew beyond this is given back when it runs empty. */
const ROOMY = 8_192;
/** After a long turn with several suspects, this many activations are timed one by one to find the culprit. */
const CLOSE_WATCH = 1_000;
/** How long no code of a process has run before promise hooks are taken away: installing them takes some microseconds. */
const REST_MS = 20;
/** Most milliseconds between two looks whether they may go, while a process waits for the host. */
const LONGEST_REST_MS = 1_000;
/** In place of the alarm's time: timers that are due wait for the host to have had its go. */
const OVERDUE = Number.NEGATIVE_INFINITY;

export class TurnScheduler implements Scheduler {
  private ring: (Runnable | undefined)[] = new Array(SMALLEST).fill(undefined);
  private head = 0;
  private size = 0;
  /** A turn is running or on its way. */
  private busy = false;
  private stopped = false;
  /** Messages handled, and the time at which counting began, since the host last had its go. */
  private spent = 0;
  private since = Number.NEGATIVE_INFINITY;
  private turns = 0;
  private closeWatch = 0;
  private pace = 1;
  /** Activations in brief turns since the last look at the clock. */
  private unseen = 0;
  /** Whose code was let go since the last look at the clock, how many that are, and when. */
  private awake: Runnable[] = [];
  private released = 0;
  private releasedAt = 0;
  /** How many may be, and whether that many are. */
  private ease = 1;
  private full = false;
  /** Resumptions that wait for a later turn: no more than there are awaited promises. */
  private readonly held = new Mailbox();
  private inTurn = false;
  /** Set while a look whether promise hooks may go is on its way. */
  private cancelRest: (() => void) | undefined = undefined;
  private cancelAlarm: (() => void) | undefined = undefined;
  private alarmAt = Number.POSITIVE_INFINITY;
  private alarmCheck = false;
  private readonly host: ScheduledSystem;
  private readonly loop: EventLoop;
  private readonly limits: TurnLimits;

  constructor(host: ScheduledSystem, loop: EventLoop, limits: TurnLimits) {
    this.host = host;
    this.loop = loop;
    this.limits = limits;
  }

  /** The slot before the head still holds the one that was taken last. */
  get running(): Runnable | undefined {
    return this.ring[(this.head - 1) & (this.ring.length - 1)];
  }

  ready(runnable: Runnable): void {
    if (this.size === this.ring.length >> 1) this.grow();
    this.ring[(this.head + this.size) & (this.ring.length - 1)] = runnable;
    this.size++;
    if (!this.busy) this.schedule();
  }

  nudge(): void {
    if (!this.busy) this.schedule();
  }

  resumed(runnable: Runnable | undefined): void {
    // What is let go in a turn goes on after its end.
    if (this.released === 0 && !this.inTurn) this.releasedAt = this.loop.now();
    if (runnable !== undefined) this.awake.push(runnable);
    this.full = ++this.released >= this.ease;
    if (!this.busy) this.schedule();
  }

  resume(one: Resumption): void {
    if (this.stopped) {
      origin.wake();
      one.resume();
    } else if (this.full || !this.held.isEmpty) this.held.push(one);
    else this.release(one);
  }

  /** The code that goes on stands in the host's queue of microtasks before the turn that looks how long it took. */
  private release(one: Resumption): void {
    if (!this.inTurn) origin.wake();
    one.resume();
    this.resumed(one.owner);
  }

  alarm(): void {
    if (this.stopped) return;
    const deadline = this.host.nextTimer() ?? Number.POSITIVE_INFINITY;
    if (deadline < this.alarmAt) this.setAlarm(deadline);
    else if (deadline === Number.POSITIVE_INFINITY && this.cancelAlarm !== undefined && !this.alarmCheck) {
      // Timers come and go with every call: look once per macrotask whether the host's timer is still wanted.
      this.alarmCheck = true;
      this.loop.later(this.reviewAlarm);
    }
  }

  async idle(): Promise<void> {
    let quiet = 0;
    while (quiet < 2 && !this.stopped) {
      const before = this.turns;
      await new Promise<void>((done) => this.loop.later(done));
      const still = this.size === 0 && !this.busy && this.alarmAt !== OVERDUE && this.turns === before;
      quiet = still ? quiet + 1 : 0;
    }
  }

  stop(): void {
    this.stopped = true;
    this.ring = new Array(SMALLEST).fill(undefined);
    this.head = 0;
    this.size = 0;
    this.awake = [];
    this.cancelAlarm?.();
    this.cancelAlarm = undefined;
    this.cancelRest?.();
    for (const one of this.held.drain()) (one as Resumption).resume();
  }

  private schedule(): void {
    if (this.stopped) return;
    this.busy = true;
    if (this.spent < this.limits.turnMessages) this.loop.soon(this.soonTurn);
    else this.loop.later(this.freshTurn);
  }

  private readonly soonTurn = (): void => {
    if (this.isBrief && this.briefTurn()) return;
    const now = this.loop.now();
    const wentOn = this.released > 0;
    if (wentOn) this.look(now - this.releasedAt);
    if (this.spent < this.limits.turnMessages && now - this.since < this.limits.turnMs) {
      this.turn(now);
      return;
    }
    if (wentOn) this.host.turnEnded(now);
    this.loop.later(this.freshTurn);
  };

  private readonly freshTurn = (): void => {
    this.since = this.loop.now();
    this.spent = 0;
    // How long these took is not known: the host had its go meanwhile.
    if (this.released > 0) this.wentOn();
    this.turn(this.since);
  };

  /**
   * Fewer continuations were let go than may be, and everything is fast: the next turn needs no look at the clock. A chain
   * of awaited calls, with a turn and a continuation for each, looks once in sixteen calls.
   */
  private get isBrief(): boolean {
    return (
      this.released > 0 &&
      !this.full &&
      this.pace === MOST_UNTIMED &&
      this.closeWatch === 0 &&
      this.held.isEmpty &&
      this.spent < this.limits.turnMessages
    );
  }

  /**
   * A turn without a look at the clock. False when it let nothing go: then the chain has ended, and the turn goes on with a
   * look.
   */
  private briefTurn(): boolean {
    const { released } = this;
    this.turns++;
    this.inTurn = true;
    origin.current = undefined;
    origin.scheduler = this;
    let goesOn = true;
    try {
      this.unseen += this.batch(BRIEF);
      goesOn = this.released > released;
    } finally {
      origin.over();
      this.inTurn = false;
      if (goesOn) this.goOn();
    }
    return goesOn;
  }

  /** Those who were let go have gone on, which took `elapsed` milliseconds, brief turns included. */
  private look(elapsed: number): void {
    const { turnMs, longTurnMs } = this.limits;
    this.spent += this.released;
    if (elapsed * 8 > turnMs) {
      this.ease = Math.max(1, Math.floor((this.released * turnMs) / (elapsed * 8)));
      if (this.unseen > 0) this.pace >>= 1;
    } else if (this.ease < MOST_RELEASED) this.ease <<= 1;
    if (elapsed >= longTurnMs) this.report(this.awake, this.unseen, elapsed);
    this.wentOn();
  }

  private wentOn(): void {
    this.unseen = 0;
    this.released = 0;
    this.full = false;
    while (this.awake.pop() !== undefined);
  }

  private turn(started: number): void {
    if (this.stopped) return;
    this.turns++;
    this.inTurn = true;
    origin.wake();
    origin.current = undefined;
    while (!this.full && !this.held.isEmpty) this.release(this.held.shift() as Resumption);
    origin.scheduler = this;
    try {
      this.releasedAt = this.work(started);
      // With continuations to come, the turn goes on behind them: most calls have ended by then, and need no timer.
      if (this.released === 0) this.host.turnEnded(this.releasedAt);
    } finally {
      origin.over();
      this.inTurn = false;
      this.goOn();
    }
  }

  private goOn(): void {
    this.busy = false;
    if (this.stopped) return;
    if (this.released > 0) {
      this.busy = true;
      this.loop.soon(this.soonTurn);
    } else if (this.size > 0) {
      this.busy = true;
      this.loop.later(this.freshTurn);
    } else {
      if (this.cancelRest === undefined) this.restSoon();
      if (this.ring.length > ROOMY) {
        this.ring = new Array(SMALLEST).fill(undefined);
        this.head = 0;
      }
    }
  }

  /** Looks later whether promise hooks may go: when there was no turn meanwhile, and nothing of a process waits for the host. */
  private restSoon(waitMs = REST_MS): void {
    const { turns } = this;
    this.cancelRest = this.loop.eventually?.(waitMs, () => {
      this.cancelRest = undefined;
      if (this.stopped || this.busy) return;
      if (this.turns !== turns) this.restSoon();
      else if (!origin.rest()) this.restSoon(Math.min(2 * waitMs, LONGEST_REST_MS));
    });
  }

  /** Runs what is ready until nothing is, or the budget is used up. Returns the time at which it stopped. */
  private work(started: number): number {
    const { turnMessages, turnMs, longTurnMs } = this.limits;
    let looked = started;
    while (this.size > 0 && this.spent < turnMessages && !this.full) {
      const activations = this.batch(this.closeWatch > 0 ? 1 : this.pace);
      const now = this.loop.now();
      const elapsed = now - looked;
      if (elapsed >= longTurnMs) this.report([], activations, elapsed);
      if (elapsed * 8 > turnMs) this.pace = Math.max(1, this.pace >> 1);
      else if (this.pace < MOST_UNTIMED) this.pace <<= 1;
      looked = now;
      if (now - this.since >= turnMs) break;
    }
    return looked;
  }

  /** The hot loop, small enough for the compiler to see whole. */
  private batch(most: number): number {
    const messages = this.limits.activationMessages;
    const budget = this.limits.turnMessages - this.spent;
    let activations = 0;
    let handled = 0;
    while (activations < most && this.size > 0 && handled < budget && !this.full) {
      const next = this.ring[this.head] as Runnable;
      this.head = (this.head + 1) & (this.ring.length - 1);
      this.size--;
      handled += next.activate(messages);
      activations++;
    }
    this.spent += handled;
    if (this.closeWatch > 0) this.closeWatch--;
    return activations;
  }

  /** Those that went on, and those that ran last: the slots before the head still hold them. */
  private report(wentOn: readonly Runnable[], activations: number, elapsedMs: number): void {
    const suspects = new Set(wentOn);
    const mask = this.ring.length - 1;
    for (let i = activations; i > 0; i--) {
      const ran = this.ring[(this.head - i) & mask];
      if (ran !== undefined) suspects.add(ran);
    }
    if (suspects.size > 1) this.closeWatch = CLOSE_WATCH;
    if (suspects.size > 0) this.host.longTurn([...suspects], elapsedMs);
  }

  private setAlarm(deadline: number): void {
    this.cancelAlarm?.();
    this.alarmAt = deadline;
    this.cancelAlarm = this.loop.at(deadline, this.onAlarm);
  }

  /** Firing timers is a turn too, and the one that follows in this macrotask has what is left of its time. */
  private readonly onAlarm = (): void => {
    if (this.stopped) return;
    const { busy } = this;
    this.cancelAlarm = undefined;
    this.alarmAt = Number.POSITIVE_INFINITY;
    this.since = this.loop.now();
    this.spent = 0;
    origin.wake();
    // Those that ran before say nothing of the timers that fire now.
    this.pace = 1;
    this.busy = true;
    this.inTurn = true;
    try {
      this.host.fireTimers();
    } finally {
      this.inTurn = false;
      this.releasedAt = this.loop.now();
      if (!busy) this.schedule();
      if (!this.stopped && (this.host.nextTimer() ?? Number.POSITIVE_INFINITY) <= this.since) {
        this.alarmAt = OVERDUE;
        this.loop.later(this.onAlarm);
      } else this.alarm();
    }
  };

  private readonly reviewAlarm = (): void => {
    this.alarmCheck = false;
    if (this.host.nextTimer() !== undefined) return;
    this.cancelAlarm?.();
    this.cancelAlarm = undefined;
    this.alarmAt = Number.POSITIVE_INFINITY;
  };

  /** Keeps what ran before the head as well, for {@link report}. */
  private grow(): void {
    const old = this.ring;
    const wider: (Runnable | undefined)[] = new Array(old.length * 2).fill(undefined);
    for (let i = this.size - old.length; i < this.size; i++)
      wider[i & (wider.length - 1)] = old[(this.head + i) & (old.length - 1)];
    this.ring = wider;
    this.head = 0;
  }
}
