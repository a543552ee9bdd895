// Draws that are not scheduling. Each schedule draws anew how likely each kind of fault is (swarm testing).

import { OptionError } from "../../process/errors.js";
import type { Random } from "../kit/random.js";
import type { Chooser, PossibleStep } from "./strategy.js";

/** The part before the ":" in the label of a fault. For any other label, all values are equally likely. */
export const FAULT_KINDS = [
  "crash",
  "pause",
  "delay",
  "start",
  "rush",
  "drop",
  "duplicate",
  "disk",
  "io",
  "node",
  "reorder",
  "clock",
] as const;

/** The last kinds, whose rates are drawn at their first use: a schedule that has none of them does not depend on them. */
const AT_FIRST_USE: readonly string[] = ["io", "node", "reorder", "clock"];

/** A kind of fault. */
export type FaultKind = (typeof FAULT_KINDS)[number];

/** Probability of each kind of fault at each point where it may strike, from 0 (never) to 1. */
export type FaultRates = { readonly [Kind in FaultKind]?: number };

/** Options of every random strategy. */
export interface FaultRateOptions {
  /** Fixed rates for all schedules. The rates of other kinds are drawn for each schedule. */
  readonly rates?: FaultRates;
}

/** Share of the schedules in which a kind is off. */
const OFF = 1 / 3;
/** Share of the schedules in which a point of `ctx.buggify` is enabled, as in FoundationDB. */
const ENABLED = 0.25;
const LEAST_RATE = 0.002;
const HIGHEST_RATE = 0.3;

const COLON = 58;

/** Index of the kind of fault that a label begins with; -1 for none. Hot, so it allocates no string. */
function kindOf(label: string): number {
  for (let i = 0; i < FAULT_KINDS.length; i++) {
    const kind = FAULT_KINDS[i] as string;
    if (label.startsWith(kind) && (label.length === kind.length || label.charCodeAt(kind.length) === COLON))
      return i;
  }
  return -1;
}

/** @throws OptionError */
export function checkRates(rates: FaultRates | undefined): FaultRates {
  if (rates === undefined) return {};
  if (typeof rates !== "object" || rates === null)
    throw new OptionError("rates", rates, "rates from 0 to 1 by kind of fault");
  for (const [kind, rate] of Object.entries(rates)) {
    const path = `rates.${kind}`;
    if (!FAULT_KINDS.includes(kind as FaultKind))
      throw new OptionError(path, rate, `absent: the kinds of faults are ${FAULT_KINDS.join(", ")}`);
    if (rate !== undefined && !(typeof rate === "number" && rate >= 0 && rate <= 1))
      throw new OptionError(path, rate, "a number from 0 to 1");
  }
  return { ...rates };
}

/**
 * The draws of one schedule. Each kind of fault is off with probability 1/3; otherwise its rate is log-uniform between 0.002 and
 * 0.3. A schedule without some kinds of faults reaches states that a mix of all kinds hides.
 *
 * @see Groce, Zhang, Eide, Chen and Regehr, "Swarm Testing", 2012
 */
export class FaultDraws {
  readonly #random: Random;
  readonly #given: FaultRates;
  /** Points of `ctx.buggify` that the schedule has passed, and whether each is enabled in it. */
  readonly #points = new Map<string, boolean>();
  /** By index of the kind. */
  readonly #rates: number[] = [];

  /** @param given - checked rates that are fixed */
  constructor(random: Random, given: FaultRates) {
    this.#random = random;
    this.#given = given;
    for (const kind of FAULT_KINDS) if (!AT_FIRST_USE.includes(kind)) this.#rates.push(this.#drawn(kind));
  }

  #fires(label: string, probability: number): boolean {
    let enabled = this.#points.get(label);
    if (enabled === undefined) {
      enabled = this.#random.unit() < ENABLED;
      this.#points.set(label, enabled);
    }
    return enabled && this.#random.unit() < probability;
  }

  /** Drawn even for a fixed rate, so that fixing one kind does not change the rates of the others. */
  #drawn(kind: FaultKind): number {
    const off = this.#random.unit() < OFF;
    const rate = LEAST_RATE * (HIGHEST_RATE / LEAST_RATE) ** this.#random.unit();
    return this.#given[kind] ?? (off ? 0 : rate);
  }

  /** The rate of a kind in this schedule, from 0 to 1. */
  rate(kind: FaultKind): number {
    return this.#rateAt(FAULT_KINDS.indexOf(kind));
  }

  #rateAt(kind: number): number {
    this.#rates[kind] ??= this.#drawn(FAULT_KINDS[kind] as FaultKind);
    return this.#rates[kind];
  }

  /**
   * A number from 0 to `n` - 1. For a fault mostly 0, according to its rate; for a point of `ctx.buggify` 0 unless it is enabled in
   * this schedule and fires; for other labels all are equally likely.
   */
  draw(n: number, label: string, probability?: number): number {
    if (probability !== undefined) return this.#fires(label, probability) ? 1 + this.#random.below(n - 1) : 0;
    const kind = kindOf(label);
    if (kind < 0) return this.#random.below(n);
    const rate = this.#rateAt(kind);
    if (rate === 0 || this.#random.unit() >= rate) return 0;
    return 1 + this.#random.below(n - 1);
  }
}

/** A chooser whose draws are those of a schedule with random faults. */
export abstract class RandomChooser implements Chooser {
  protected readonly random: Random;
  readonly #faults: FaultDraws;

  constructor(random: Random, rates: FaultRates) {
    this.random = random;
    this.#faults = new FaultDraws(random, rates);
  }

  abstract pick(tasks: readonly PossibleStep[]): number;

  draw(n: number, label: string, probability?: number): number {
    return this.#faults.draw(n, label, probability);
  }
}
