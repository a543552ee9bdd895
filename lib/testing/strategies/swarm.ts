// Draws that are not scheduling: how likely each kind of fault is in one schedule, drawn anew for each (swarm testing).

import { OptionError } from "../../process/errors.js";
import type { Random } from "../kit/random.js";

/** What stands before the ":" in the label of a fault. For any other label 0 is as likely as the rest. */
export const FAULT_KINDS = ["crash", "pause", "delay", "start", "rush", "drop", "duplicate", "disk"] as const;

/** A kind of fault. */
export type FaultKind = (typeof FAULT_KINDS)[number];

/** Probability of a fault at each point where it may happen, from 0 (never) to 1, by kind. */
export type FaultRates = { readonly [Kind in FaultKind]?: number };

/** What every strategy with chance in it takes. */
export interface FaultRateOptions {
  /** Rates that are the same in every schedule. Those of the other kinds are drawn for each schedule. */
  readonly rates?: FaultRates;
}

/** A kind is off altogether in this share of the schedules. */
const OFF = 1 / 3;
const LEAST_RATE = 0.002;
const HIGHEST_RATE = 0.3;

const COLON = 58;

/** The kind of fault that a label begins with, as an index; -1 for none. Takes no part of the label out: it is hot. */
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
 * The draws of one schedule. Each kind of fault is off altogether with probability 1/3, else its rate is log-uniform
 * between 0.002 and 0.3: schedules that leave out some faults reach what a mix of all of them hides.
 *
 * @see Groce, Zhang, Eide, Chen and Regehr, "Swarm Testing", 2012
 */
export class FaultDraws {
  private readonly random: Random;
  private readonly rates: number[] = [];

  /** @param given - checked rates that are not left to chance */
  constructor(random: Random, given: FaultRates) {
    this.random = random;
    for (const kind of FAULT_KINDS) {
      // Drawn even when given: the other kinds have the same rates from the same seed, whatever is given.
      const off = random.unit() < OFF;
      const rate = LEAST_RATE * (HIGHEST_RATE / LEAST_RATE) ** random.unit();
      this.rates.push(given[kind] ?? (off ? 0 : rate));
    }
  }

  /** The rate of a kind in this schedule, from 0 to 1. */
  rate(kind: FaultKind): number {
    return this.rates[FAULT_KINDS.indexOf(kind)] as number;
  }

  /** A number from 0 to `n` - 1: for a fault 0 unless its rate wills it, for anything else each as likely. */
  draw(n: number, label: string): number {
    const kind = kindOf(label);
    if (kind < 0) return this.random.below(n);
    const rate = this.rates[kind] as number;
    if (rate === 0 || this.random.unit() >= rate) return 0;
    return 1 + this.random.below(n - 1);
  }
}
