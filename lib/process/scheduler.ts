// The production scheduler: ready processes run first come, first served, in turns of bounded length. A turn starts in a
// microtask while the current macrotask's budget lasts, so a call costs no trip through the event loop. When the budget
// is used up, the next turn starts in a new macrotask, so the host's I/O and timers never starve.
//
// Code that awaits continues in microtasks after the turn, where no turn can interrupt the code. So the scheduler
// releases only a few continuations at a time. The next turn is queued behind these continuations and begins by reading
// the clock. The other continuations wait in `held`.

import type {
  Resumption,
  Runnable,
  ScheduledSystem,
  Scheduler,
  TurnLimits,
  TurnProfile,
} from "./environment.js";
import { Mailbox } from "./mailbox.js";
import { origin } from "./origin.js";

/** The host's event loop, as far as a scheduler needs it. */
export interface EventLoop {
  now(): number;
  /** Runs `fn` as a microtask. */
  soon(fn: () => void): void;
  /** Runs `fn` as a macrotask, after pending I/O. */
  later(fn: () => void): void;
  /**
   * Runs `fn` after at least `ms` milliseconds, and returns the call that cancels it. The wait does not keep the host alive.
   * Without `eventually`, the scheduler never removes promise hooks.
   */
  eventually?(ms: number, fn: () => void): () => void;
  /** Runs `fn` once `now()` has reached `deadline`; returns the call that cancels it. */
  at(deadline: number, fn: () => void): () => void;
}

/**
 * Most activations between two readings of the clock. The number falls while activations are slow, and rises up to this
 * limit while they are fast.
 */
const MOST_UNTIMED = 256;
/**
 * Most continuations released between two readings of the clock: one while continuations are slow, up to this limit
 * while they are fast.
 */
const MOST_RELEASED = 16;
/**
 * Most activations in a brief turn. All brief turns between two readings of the clock together run no more activations
 * than one batch does.
 */
const BRIEF = MOST_UNTIMED / MOST_RELEASED;
/**
 * The run queue fills at most half of its ring. The other half still holds the processes that ran since the clock was
 * last read.
 */
const SMALLEST = 2 * MOST_UNTIMED;
/** A ring larger than this is replaced by a small one when the run queue becomes empty. */
const ROOMY = 8_192;
/** After a long turn with several suspects, the scheduler times this many activations one by one to find the culprit. */
const CLOSE_WATCH = 1_000;
/** Activations that are timed one by one when a profile asks for it. */
const PROFILED = 16;
/**
 * Promise hooks are removed when no code of a process has run for this long. Installing them again takes some
 * microseconds.
 */
const REST_MS = 20;
/** Most milliseconds between two checks whether promise hooks may be removed, while a process waits for the host. */
const LONGEST_REST_MS = 1_000;
/** Replaces the alarm's time while overdue timers wait for the host to handle its own events. */
const OVERDUE = Number.NEGATIVE_INFINITY;

export class TurnScheduler implements Scheduler {
  private ring: (Runnable | undefined)[] = new Array(SMALLEST).fill(undefined);
  private head = 0;
  private size = 0;
  /** A turn is running or scheduled. */
  private busy = false;
  private stopped = false;
  /** Messages handled since the host last handled its own events, and the time at which this count began. */
  private spent = 0;
  private since = Number.NEGATIVE_INFINITY;
  private turns = 0;
  private closeWatch = 0;
  private profiled: TurnProfile | undefined = undefined;
  /** Activations before those that the profile wants timed one by one. */
  private lead = 0;
  private pace = 1;
  /** Activations in brief turns since the clock was last read. */
  private unseen = 0;
  /**
   * Since the clock was last read: the owners of the released continuations, the number of continuations released, and
   * the time from which their duration counts.
   */
  private awake: Runnable[] = [];
  private released = 0;
  private releasedAt = 0;
  /** Most continuations that may be released now, and whether this limit is reached. */
  private ease = 1;
  private full = false;
  /** Resumptions that wait for a later turn. There are never more of them than awaited promises. */
  private readonly held = new Mailbox();
  private inTurn = false;
  /** Cancel the waits that keep no program alive. */
  private readonly unheld = new Set<() => void>();
  /** Set while a check whether promise hooks may be removed is scheduled. */
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

  /** The slot before the head still holds the runnable that was taken last. */
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
    // A continuation released during a turn runs after the turn, and the end of the turn sets `releasedAt`.
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

  /** The host queues the continuation before the turn that measures how long the continuation took. */
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
      // Every call sets and cancels timers, so the scheduler checks only once per macrotask whether it still needs the
      // host's timer.
      this.alarmCheck = true;
      this.loop.later(this.reviewAlarm);
    }
  }

  profile(profile: TurnProfile | undefined): void {
    this.profiled = profile;
    this.lead = 0;
  }

  drained(fn: () => void): void {
    this.loop.later(fn);
  }

  eventually(ms: number, fn: () => void): (() => void) | undefined {
    if (this.stopped) return () => undefined;
    const cancel = this.loop.eventually?.(ms, () => {
      this.unheld.delete(end);
      fn();
    });
    const end = (): void => {
      this.unheld.delete(end);
      cancel?.();
    };
    if (cancel === undefined) return undefined;
    this.unheld.add(end);
    return end;
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
    for (const end of this.unheld) end();
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
    if (wentOn) this.look(now - this.releasedAt, now);
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
    // The duration of the released continuations is unknown, because the host handled its own events in between.
    if (this.released > 0) this.wentOn();
    this.turn(this.since);
  };

  /**
   * Whether the next turn may skip reading the clock: fewer continuations were released than are allowed, and everything
   * is fast. So a chain of awaited calls, with a turn and a continuation for each call, reads the clock once in sixteen
   * calls.
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
   * Runs a turn that does not read the clock. Returns false when the turn released no continuation: the chain of calls
   * has ended, and the turn continues as one that reads the clock.
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

  /** The released continuations have run. They took `elapsed` milliseconds, brief turns included. */
  private look(elapsed: number, now: number): void {
    const { turnMs, longTurnMs } = this.limits;
    const { profiled } = this;
    if (profiled !== undefined) {
      const isClose = this.closeWatch > 0;
      this.approach(this.unseen);
      this.leadTo(profiled.wentOn(this.awake, this.unseen, elapsed, now, isClose));
    }
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
      // When continuations were released, the turn resumes after them. Most calls have ended at that time and need no
      // timer.
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

  /**
   * Checks later whether promise hooks may be removed. They may when there was no turn in the meantime and no code of a
   * process waits for the host.
   */
  private restSoon(waitMs = REST_MS): void {
    const { turns } = this;
    this.cancelRest = this.loop.eventually?.(waitMs, () => {
      this.cancelRest = undefined;
      if (this.stopped || this.busy) return;
      if (this.turns !== turns) this.restSoon();
      else if (!origin.rest()) this.restSoon(Math.min(2 * waitMs, LONGEST_REST_MS));
    });
  }

  /** Runs ready processes until none is left or the budget is used up. Returns the time at which the work stopped. */
  private work(started: number): number {
    const { turnMessages, turnMs, longTurnMs } = this.limits;
    let looked = started;
    while (this.size > 0 && this.spent < turnMessages && !this.full) {
      const isClose = this.closeWatch > 0;
      const activations = this.batch(
        isClose ? 1 : this.lead > 0 ? Math.min(this.lead, this.pace) : this.pace,
      );
      const now = this.loop.now();
      const elapsed = now - looked;
      if (elapsed >= longTurnMs) this.report([], activations, elapsed);
      if (this.profiled !== undefined) this.profileWork(this.profiled, activations, elapsed, now, isClose);
      if (elapsed * 8 > turnMs) this.pace = Math.max(1, this.pace >> 1);
      else if (this.pace < MOST_UNTIMED) this.pace <<= 1;
      looked = now;
      if (now - this.since >= turnMs) break;
    }
    return looked;
  }

  /** Tells the profile what ran. The slot before the head still holds it. */
  private profileWork(
    profile: TurnProfile,
    activations: number,
    elapsed: number,
    now: number,
    isClose: boolean,
  ): void {
    // What runs alone is timed anyway.
    if (!isClose && (activations > 1 || this.lead === 1)) this.approach(activations);
    const one = activations === 1 ? this.running : undefined;
    this.leadTo(profile.ran(one, activations, elapsed, now, isClose));
  }

  private approach(activations: number): void {
    if (this.lead === 0 || activations === 0) return;
    this.lead = Math.max(0, this.lead - activations);
    if (this.lead === 0 && this.closeWatch < PROFILED) this.closeWatch = PROFILED;
  }

  private leadTo(lead: number): void {
    if (lead > 0) this.lead = lead;
  }

  /** The hot loop, small enough for the compiler to optimise as a whole. */
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

  /**
   * Reports the processes whose continuations ran, and the processes activated last: the slots before the head still
   * hold these.
   */
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

  /** Firing timers is a turn too. A turn that follows in the same macrotask has the rest of its time. */
  private readonly onAlarm = (): void => {
    if (this.stopped) return;
    const { busy } = this;
    this.cancelAlarm = undefined;
    this.alarmAt = Number.POSITIVE_INFINITY;
    this.since = this.loop.now();
    this.spent = 0;
    origin.wake();
    // The pace of earlier activations says nothing about the timers that fire now.
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

  /** Keeps the slots before the head as well: {@link report} reads them. */
  private grow(): void {
    const old = this.ring;
    const wider: (Runnable | undefined)[] = new Array(old.length * 2).fill(undefined);
    for (let i = this.size - old.length; i < this.size; i++)
      wider[i & (wider.length - 1)] = old[(this.head + i) & (old.length - 1)];
    this.ring = wider;
    this.head = 0;
  }
}
