// A state that a reduced search has reached: the tasks that can run next, those already explored, and those still to explore from here.

import type { Deed } from "./dependence.js";
import { type Sleep, withExplored } from "./sleep.js";
import type { Decision } from "./tree.js";
import { anyOf, type Planned } from "./wakeup-tree.js";

/** What can happen next: a task, or, when nothing can run, the passing of time. It is the same until it has happened. */
export interface Offer {
  /** Names it in schedules in which it can happen too. */
  readonly key: string;
  readonly chain: string;
  /** Index of the step that made it possible; -1 for the beginning. */
  readonly enabler: number;
}

/** A way to go on. */
interface Branch {
  readonly offer: Offer;
  readonly plan: Planned;
}

export class State {
  /** Number of steps before it. */
  readonly steps: number;
  /** Number of decisions before it. */
  readonly decisions: number;
  /** The tasks that can run; undefined until they are known. */
  tasks: readonly Offer[] | undefined = undefined;
  /** The decision between the tasks, if there are several. */
  decision: Decision | undefined = undefined;
  /** Tasks that need not be explored from here. */
  sleep: Sleep<Offer>;
  /** The present way to go on. */
  branch: Branch | undefined = undefined;
  /** Other ways, to be explored later. */
  readonly plans: Planned[] = [];

  constructor(steps: number, decisions: number, sleep: Sleep<Offer>) {
    this.steps = steps;
    this.decisions = decisions;
    this.sleep = sleep;
  }

  /** Whether there is nothing to choose. */
  get isForced(): boolean {
    return (this.tasks?.length ?? 0) < 2;
  }

  offerOf(key: string): Offer | undefined {
    return this.tasks?.find((offer) => offer.key === key);
  }

  has(offer: Offer): boolean {
    return this.tasks?.includes(offer) === true;
  }

  explored(offer: Offer, deed: Deed): void {
    this.sleep = withExplored(this.sleep, offer, deed);
  }

  /** Takes the first task that does not sleep and is not planned. */
  plansAny(): void {
    const offer = this.tasks?.find((one) => !this.sleep.has(one));
    if (offer !== undefined && !this.plans.some(({ key, deed }) => key === offer.key && deed === undefined))
      this.plans.push(anyOf(offer.key));
  }

  /** Takes the next plan that does not sleep. Returns false if there is none. */
  turn(): boolean {
    for (let plan = this.plans.shift(); plan !== undefined; plan = this.plans.shift()) {
      const offer = this.offerOf(plan.key);
      if (offer === undefined || this.sleep.has(offer)) continue;
      this.branch = { offer, plan };
      return true;
    }
    this.branch = undefined;
    return false;
  }
}
