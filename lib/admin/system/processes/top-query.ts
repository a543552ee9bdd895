// One question for the first processes, while a walk answers it.

import { OptionError } from "../../../process/errors.js";
import { only } from "../../../process/known-options.js";
import { count, oneOf, text } from "../../../process/options.js";
import type { Process } from "../../../process/process.js";
import { FirstOf } from "./first-of.js";
import type { TopOptions, TopOrder, TopProcess } from "./operations.js";
import { kindOf, summaryOf } from "./view.js";

/** The limits of a question. */
export const TOP_LIMITS = {
  /** Processes in an answer. */
  limit: 500,
  /** Processes in an answer, unless it says. */
  default: 50,
  /** Characters that are searched for. */
  find: 200,
} as const;

const ORDERS: readonly TopOrder[] = ["mailbox", "growth", "handled", "busy", "age"];

/** A question that has been checked. */
export interface TopQuery {
  readonly by: TopOrder;
  readonly limit: number;
  readonly find: string | undefined;
  readonly kind: string | undefined;
}

/** @throws OptionError */
export function checkTop(options: TopOptions = {}): TopQuery {
  only("", options, ["by", "limit", "find", "kind"]);
  const { by = "mailbox", limit = TOP_LIMITS.default, find, kind } = options;
  if (count("limit", limit, 1) > TOP_LIMITS.limit)
    throw new OptionError("limit", limit, `a whole number, 1 to ${TOP_LIMITS.limit}`);
  if (find !== undefined && text("find", find).length > TOP_LIMITS.find)
    throw new OptionError("find", find, `a text of at most ${TOP_LIMITS.find} characters`);
  return {
    by: oneOf("by", by, ORDERS),
    limit,
    find: find?.toLowerCase(),
    kind: kind === undefined ? undefined : text("kind", kind),
  };
}

/** The figures of the process that a walk visits. A rate that is unknown is NaN. */
export interface Figures {
  readonly depth: number;
  readonly handled: number;
  readonly growthPerS: number;
  readonly handledPerS: number;
  readonly busy: number;
}

/** The processes that may be among the first, so far. */
export class TopSearch {
  matched = 0;
  readonly #query: TopQuery;
  readonly #first: FirstOf;
  readonly #found: Process[] = [];
  readonly #rates: { readonly [name in "growthPerS" | "handledPerS" | "busy"]: Float64Array };

  constructor(query: TopQuery) {
    this.#query = query;
    this.#first = new FirstOf(query.limit);
    const column = (): Float64Array => new Float64Array(2 * query.limit);
    this.#rates = { growthPerS: column(), handledPerS: column(), busy: column() };
  }

  visit(process: Process, figures: Figures): void {
    if (!isMatch(this.#query, process)) return;
    this.matched++;
    const slot = this.#first.offer(keyOf(this.#query.by, figures), process.pid.id);
    if (slot < 0) return;
    this.#found[slot] = process;
    this.#rates.growthPerS[slot] = figures.growthPerS;
    this.#rates.handledPerS[slot] = figures.handledPerS;
    this.#rates.busy[slot] = figures.busy;
  }

  /** The first processes, without those that have ended since. */
  result(ageOf: (id: number) => number | undefined): TopProcess[] {
    const { growthPerS, handledPerS, busy } = this.#rates;
    const shown: TopProcess[] = [];
    for (const slot of this.#first.order()) {
      const process = this.#found[slot];
      if (process?.alive !== true) continue;
      shown.push({
        ...summaryOf(process),
        growthPerS: rounded(growthPerS[slot], 10),
        handledPerS: rounded(handledPerS[slot], 10),
        busy: rounded(busy[slot], 1_000),
        ageMs: seconds(ageOf(process.pid.id)),
      });
    }
    return shown;
  }
}

/** What the first ones have most of. What is not known yet is replaced by what comes nearest. */
function keyOf(by: TopOrder, { depth, handled, growthPerS, handledPerS, busy }: Figures): number {
  switch (by) {
    case "mailbox":
      return depth;
    case "growth":
      return Number.isNaN(growthPerS) ? depth : growthPerS;
    case "handled":
      return Number.isNaN(handledPerS) ? handled : handledPerS;
    case "busy":
      return Number.isNaN(busy) ? keyOf("handled", { depth, handled, growthPerS, handledPerS, busy }) : busy;
    case "age":
      // Among equals the oldest comes first.
      return 0;
    default:
      return by satisfies never;
  }
}

function isMatch({ find, kind }: TopQuery, process: Process): boolean {
  if (kind !== undefined && kindOf(process) !== kind) return false;
  if (find === undefined) return true;
  const { pid, rare } = process;
  return (
    has(pid.label, find) ||
    has(rare?.name, find) ||
    has(`${pid.node.name}.${pid.id}`, find) ||
    has(kindOf(process), find)
  );
}

const has = (text: string | undefined, find: string): boolean => text?.toLowerCase().includes(find) === true;

/** Without digits that change with every look, and undefined for what is not known. */
const rounded = (value: number | undefined, scale: number): number | undefined =>
  value === undefined || Number.isNaN(value) ? undefined : Math.round(value * scale) / scale;

/** In whole seconds, which is as exact as it is. */
const seconds = (ms: number | undefined): number | undefined =>
  ms === undefined ? undefined : Math.floor(ms / 1_000) * 1_000;
