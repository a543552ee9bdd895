// The monitors of a schedule: `sim.monitor`. They look at the state after every step.

import { only } from "../../process/known-options.js";
import { delay, text } from "../../process/options.js";
import { LivenessError } from "../report/errors.js";
import { cyclingOf } from "../simulator/livelock.js";
import type { World } from "../simulator/world.js";
import { isMet, type NamedCheck, type SimulationCheck, wrongBy } from "./judging.js";
import {
  decide,
  initial,
  type Moment,
  type MonitorEvent,
  type MonitorRule,
  type MonitorState,
} from "./monitor-machine.js";

/** Options of a monitor. */
export interface MonitorOptions {
  /** Virtual milliseconds within which the condition has to come true. Default Infinity: any time before the end. */
  readonly withinMs?: number;
}

/** A condition on the state of the moment. It must answer at once. */
export type MonitorCondition = () => boolean;

interface Watched {
  readonly name: string;
  readonly trigger: MonitorCondition;
  readonly goal: MonitorCondition;
  state: MonitorState;
}

/**
 * Properties of a schedule as a whole, checked on the state after every step. `always` is about what must not happen; `eventually`
 * and `leadsTo` are about what must happen, at the latest before the schedule ends. A schedule that does not end fails if the
 * goal has not held through its fair part, also with `endless: "pass"`.
 *
 * Monitors look at all processes at once. With a monitor an exhaustive search has to run all orders of steps.
 *
 * @example
 * await explore(async (sim) => {
 *   const system = sim.system({ name: "shop" });
 *   const stock = await system.start(Stock, 100);
 *   let [taken, booked] = [0, 0];
 *   sim.monitor.always("no more is booked than taken", () => booked <= taken);
 *   sim.monitor.leadsTo("what is taken is booked", () => taken > booked, () => taken === booked, { withinMs: 1_000 });
 *   taken++;
 *   await stock.call.take(1);
 *   booked++;
 * });
 */
export class Monitors {
  readonly #world: World;
  readonly #checks: NamedCheck[] = [];
  readonly #watched: Watched[] = [];

  /** @internal */
  constructor(world: World) {
    this.#world = world;
  }

  /**
   * The check holds after every step from now on: an invariant.
   *
   * @throws OptionError for a name that is no text
   */
  always(name: string, check: SimulationCheck): void {
    this.#world.checked = true;
    this.#checks.push({ name: text("name", name), check });
  }

  /**
   * The condition holds at some time from now on, before the schedule ends.
   *
   * @throws OptionError for a name that is no text, or for wrong options
   */
  eventually(name: string, condition: MonitorCondition, options: MonitorOptions = {}): void {
    this.#watch("eventually", name, () => true, condition, options);
  }

  /**
   * Whenever the trigger holds, the goal holds in the same state or in a later one, before the schedule ends.
   *
   * @throws OptionError for a name that is no text, or for wrong options
   */
  leadsTo(
    name: string,
    trigger: MonitorCondition,
    goal: MonitorCondition,
    options: MonitorOptions = {},
  ): void {
    this.#watch("leadsTo", name, trigger, goal, options);
  }

  #watch(
    kind: MonitorRule["kind"],
    name: string,
    trigger: MonitorCondition,
    goal: MonitorCondition,
    options: MonitorOptions,
  ): void {
    only("options", options, ["withinMs"]);
    const withinMs = delay("withinMs", options.withinMs ?? Number.POSITIVE_INFINITY, 0, true);
    this.#world.checked = true;
    const state = initial({ kind, withinMs }, this.#moment());
    this.#watched.push({ name: text("name", name), trigger, goal, state });
  }

  /** @internal After each step. */
  stepped(): void {
    for (const one of this.#checks) {
      if (this.#world.failure !== undefined) return;
      const wrong = wrongBy(one);
      if (wrong !== undefined) this.#world.fail(wrong);
    }
    if (this.#watched.length === 0) return;
    const moment = this.#moment();
    for (const one of this.#watched) {
      const trigger = isMet(one.name, one.trigger);
      this.#next(one, { type: "step", moment, trigger, goal: isMet(one.name, one.goal) });
    }
  }

  /** @internal When the schedule has ended. */
  ended(): void {
    for (const one of this.#watched) this.#next(one, { type: "end", moment: this.#moment() });
  }

  /** @internal When a fair schedule was cut off. */
  cutOff(): void {
    const moment = this.#moment();
    for (const one of this.#watched)
      this.#next(one, { type: "cut off", moment, fairFrom: Math.floor(moment.step / 2) });
  }

  #next(one: Watched, event: MonitorEvent): void {
    const world = this.#world;
    if (world.failure !== undefined) return;
    const [state, violation] = decide(one.state, event);
    if (one.state.hotSince === undefined && state.hotSince !== undefined)
      world.options.recorder?.remark(`from here on "${one.name}" is due`);
    one.state = state;
    if (violation === undefined) return;
    const cycling = violation.type === "endless" ? cyclingOf(world) : undefined;
    world.fail(new LivenessError(one.name, violation, state.rule.withinMs, cycling));
  }

  #moment(): Moment {
    return { step: this.#world.record.steps, at: this.#world.time.now };
  }
}
