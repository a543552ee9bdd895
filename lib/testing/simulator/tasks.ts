// The kinds of possible steps: a process runs, code continues after an await, a delayed message arrives, a request takes effect
// in the outside world.

import type { PossibleStep } from "../strategies/strategy.js";
import type { Actor } from "./actor.js";

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
}

/** Code of a process or of the scenario continues: one promise a step, in the order in which they were settled. */
export class ResumeTask implements PossibleStep {
  readonly kind = "resume";
  readonly owner: Actor;
  rank: number | undefined = undefined;
  private readonly settled: { readonly what: string; readonly settle: () => void }[] = [];

  constructor(owner: Actor) {
    this.owner = owner;
  }

  get actor(): number {
    return this.owner.number;
  }

  get pending(): number {
    return this.settled.length;
  }

  /** What the next one awaited. */
  get what(): string {
    return this.settled[0]?.what ?? "nothing";
  }

  push(what: string, settle: () => void): void {
    this.settled.push({ what, settle });
  }

  /** Settles the first of the promises. */
  next(): void {
    this.settled.shift()?.settle();
  }
}

/** A channel from one actor to another, with its items in order. */
export class DeliverTask implements PossibleStep {
  readonly kind = "deliver";
  readonly actor: number;
  readonly from: Actor;
  readonly owner: Actor;
  rank: number | undefined = undefined;
  readonly held: unknown[] = [];
  private readonly arrive: (item: unknown) => void;

  /** @param number - of the channel; below 0, to differ from the numbers of actors */
  constructor(number: number, from: Actor, to: Actor, arrive: (item: unknown) => void) {
    this.actor = number;
    this.from = from;
    this.owner = to;
    this.arrive = arrive;
  }

  get pending(): number {
    return this.held.length;
  }

  next(): void {
    this.arrive(this.held.shift());
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

  /** @param number - of the request; below 0, to differ from the numbers of actors */
  constructor(number: number, owner: Actor, next: () => void) {
    this.actor = number;
    this.owner = owner;
    this.next = next;
  }
}

export type SimulatedTask = RunTask | ResumeTask | DeliverTask | EffectTask;
