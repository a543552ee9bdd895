// The kinds of possible steps: a process runs, code continues after an await, a delayed message arrives, a timer fires, a request
// takes effect in the outside world.

import type { PossibleStep } from "../strategies/strategy.js";
import type { Actor } from "./actor.js";
import type { SimulatedTimer, SimulatedTimers } from "./timers.js";

/** A process takes its next message, or starts. */
export class RunTask implements PossibleStep {
  readonly kind = "run";
  readonly owner: Actor;
  rank: number | undefined = undefined;
  /** The process has run before. */
  started = false;

  constructor(owner: Actor) {
    this.owner = owner;
  }

  get actor(): number {
    return this.owner.number;
  }

  get key(): string {
    return this.owner.key;
  }

  get changes(): readonly string[] {
    return this.owner.changes;
  }
}

/** Code of a process or of the scenario continues: one promise a step, in the order in which they were settled. */
export class ResumeTask implements PossibleStep {
  readonly kind = "resume";
  readonly owner: Actor;
  rank: number | undefined = undefined;
  readonly #settled: { readonly what: string; readonly settle: () => void }[] = [];

  constructor(owner: Actor) {
    this.owner = owner;
  }

  get actor(): number {
    return this.owner.number;
  }

  get key(): string {
    return this.owner.key;
  }

  get changes(): readonly string[] {
    return this.owner.changes;
  }

  get pending(): number {
    return this.#settled.length;
  }

  /** What the next one awaited. */
  get what(): string {
    return this.#settled[0]?.what ?? "nothing";
  }

  /** Identifies the next one. */
  get head(): unknown {
    return this.#settled[0]?.settle;
  }

  push(what: string, settle: () => void): void {
    this.#settled.push({ what, settle });
  }

  /** Settles the first of the promises. */
  next(): void {
    this.#settled.shift()?.settle();
  }
}

/** A channel from one actor to another, with its items in order. */
export class DeliverTask implements PossibleStep {
  readonly kind = "deliver";
  readonly actor: number;
  readonly from: Actor;
  readonly owner: Actor;
  readonly key: string;
  /** It adds to the mailbox of its receiver. */
  readonly changes: readonly string[];
  rank: number | undefined = undefined;
  readonly held: unknown[] = [];
  readonly #arrive: (item: unknown) => void;

  /** @param number - of the channel; below 0, to differ from the numbers of actors */
  constructor(number: number, key: string, from: Actor, to: Actor, arrive: (item: unknown) => void) {
    this.actor = number;
    this.key = key;
    this.from = from;
    this.owner = to;
    this.changes = [to.mailbox];
    this.#arrive = arrive;
  }

  get pending(): number {
    return this.held.length;
  }

  next(): void {
    this.#arrive(this.held.shift());
  }
}

/** A request takes effect in the outside world. */
export class EffectTask implements PossibleStep {
  readonly kind = "effect";
  readonly actor: number;
  /** Stands for the outside world. */
  readonly owner: Actor;
  rank: number | undefined = undefined;
  /** A request is one step. */
  readonly pending = 0;
  readonly next: () => void;
  readonly key: string;

  /** @param number - of the request; below 0, to differ from the numbers of actors */
  constructor(number: number, key: string, owner: Actor, next: () => void) {
    this.actor = number;
    this.key = key;
    this.owner = owner;
    this.next = next;
  }
}

/** The timers of one actor that are due, in the order in which it set them. One fires in a step. */
export class TimerTask implements PossibleStep {
  readonly kind = "timer";
  readonly actor: number;
  readonly owner: Actor;
  rank: number | undefined = undefined;
  readonly #due: SimulatedTimer[] = [];
  /** Timers before this one have fired. */
  #fired = 0;

  /** @param number - of the actor's timers; below 0, to differ from the numbers of actors */
  constructor(number: number, owner: Actor) {
    this.actor = number;
    this.owner = owner;
  }

  get pending(): number {
    return this.#due.length - this.#fired;
  }

  get key(): string {
    return this.owner.key;
  }

  get changes(): readonly string[] {
    return this.owner.changes;
  }

  /** The timer that fires next. */
  get first(): SimulatedTimer | undefined {
    return this.#due[this.#fired];
  }

  push(timer: SimulatedTimer): void {
    timer.task = this;
    this.#due.push(timer);
  }

  withdraw(timer: SimulatedTimer): void {
    timer.task = undefined;
    if (timer === this.first) this.#advance();
    else this.#due.splice(this.#due.indexOf(timer, this.#fired), 1);
  }

  /** Withdraws the timers of a system, and returns them. */
  drop(queue: SimulatedTimers): readonly SimulatedTimer[] {
    const dropped = this.#due.slice(this.#fired).filter((timer) => timer.queue === queue);
    for (const timer of dropped) this.withdraw(timer);
    return dropped;
  }

  next(): void {
    const timer = this.first as SimulatedTimer;
    this.#advance();
    timer.task = undefined;
    timer.queue.fire(timer);
  }

  #advance(): void {
    if (++this.#fired < this.#due.length) return;
    this.#due.length = 0;
    this.#fired = 0;
  }
}

export type SimulatedTask = RunTask | ResumeTask | DeliverTask | EffectTask | TimerTask;
