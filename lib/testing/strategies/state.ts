// A state that a reduced search has reached: what can happen next, what was explored, and what is still to be explored from here.

import { isFault } from "./dependence.js";
import { type Explored, isAllAsleep, isAsleep, type Sleep, withExplored } from "./sleep.js";
import { type Decision, drawDecision } from "./tree.js";
import { anyOf, type Planned } from "./wakeup-tree.js";

/** What can happen next: a task, a fault, or, when nothing can run, the passing of time. It is the same until it has happened. */
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
  /** The tasks that can run; undefined where they are unknown, because a fault struck first. */
  tasks: readonly Offer[] | undefined = undefined;
  /** The passing of time, where nothing can run. */
  quiet: Offer | undefined = undefined;
  /** Faults that can strike, as far as they are known. */
  readonly faults: Offer[] = [];
  /** The decisions before the next step, with the faults that each of them is about. */
  readonly lead: { readonly decision: Decision; readonly faults: readonly string[] }[] = [];
  /** Outcomes that need not be explored from here. */
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
    return (this.tasks?.length ?? 0) < 2 && this.faults.length === 0;
  }

  offerOf(key: string): Offer | undefined {
    if (this.quiet?.key === key) return this.quiet;
    return (isFault(key) ? this.faults : this.tasks)?.find((offer) => offer.key === key);
  }

  has(offer: Offer): boolean {
    return this.tasks?.includes(offer) === true || this.faults.includes(offer);
  }

  isAsleep(offer: Offer): boolean {
    return isAllAsleep(this.sleep.get(offer));
  }

  sleeps(offer: Offer, values: readonly number[]): boolean {
    return isAsleep(this.sleep.get(offer), values);
  }

  explored(offer: Offer, outcome: Explored): void {
    this.sleep = withExplored(this.sleep, offer, outcome);
  }

  /** The decisions on the way to the present branch and its draws, as far as they are known. */
  get way(): Decision[] {
    const { branch } = this;
    if (branch === undefined) return [];
    const { offer, plan } = branch;
    const place = this.lead.findIndex(({ faults }) => faults.includes(offer.key));
    const lead = isFault(offer.key)
      ? this.lead.filter(({ decision }, i) => (place < 0 ? decision.tasks === undefined : i <= place))
      : this.lead;
    const draws = plan.deed === undefined ? plan.draws : [];
    return [...lead.map(({ decision }) => decision), ...draws.map(({ n, label }) => drawDecision(n, label))];
  }

  /** Takes the first task that does not sleep and is not planned. */
  plansAny(): void {
    const offer = this.tasks?.find((one) => !this.isAsleep(one));
    if (offer !== undefined && !this.plans.some(({ key, deed }) => key === offer.key && deed === undefined))
      this.plans.push(anyOf(offer.key));
  }

  /** Takes the next plan that does not sleep. Returns false if there is none. */
  turn(): boolean {
    for (let plan = this.plans.shift(); plan !== undefined; plan = this.plans.shift()) {
      const offer = this.offerOf(plan.key);
      if (offer === undefined) {
        // A planned fault that cannot strike.
        this.plansAny();
        continue;
      }
      const values = plan.draws.map(({ value }) => value);
      const outcomes = this.sleep.get(offer);
      if (plan.deed === undefined ? isAllAsleep(outcomes, values) : isAsleep(outcomes, values)) continue;
      this.branch = { offer, plan };
      return true;
    }
    this.branch = undefined;
    return false;
  }
}
