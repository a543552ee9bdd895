// A route as it stands on one host: what it works on, how fast, and which gates are closed. Pure.

import type { RouteBreaker, RouteFigures, RouteGate, RouteRates } from "../operations/figures.js";
import type { RoutePlan } from "./plan.js";
import type { ProcessorState } from "./processor-machine.js";

/** What the processor of a route knows beside its state. */
export interface RouteSurroundings {
  /** Messages in batches that are not due. */
  readonly held: number;
  /** No permits of the execution are left. */
  readonly isFull: boolean;
  readonly breakers: readonly RouteBreaker[];
  readonly rates: RouteRates;
}

export function routeFigures(
  { name, policy }: Pick<RoutePlan, "name" | "policy">,
  state: ProcessorState,
  { held, isFull, breakers, rates }: RouteSurroundings,
): RouteFigures {
  const { buffer, batches, inWork, batching, limit, publishing, above, phase, admits, workers } = state;
  let busy = 0;
  for (const { type } of workers.values()) if (type === "working" || type === "batching") busy++;
  const waiting = buffer.length + batches.length;
  const gate = (of: RouteGate["name"], isClosed: boolean, by?: readonly string[]): RouteGate => ({
    name: of,
    state: isClosed ? "closed" : "open",
    waiting: isClosed ? waiting : 0,
    ...(isClosed && by !== undefined && { by }),
  });
  const broken = breakers.flatMap((one) => (one.state === "closed" ? [] : [one.name]));
  return {
    name,
    inWork: inWork + batching,
    limit,
    buffered: waiting,
    held,
    rates,
    gates: [
      gate("paused", phase === "paused"),
      gate("in flight", isFull),
      gate("concurrency", busy >= limit),
      gate("high water", above.size > 0, [...above].sort()),
      gate("fan-out", publishing >= policy.fanOut),
      gate("breakers", busy >= admits, broken),
    ],
    breakers,
  };
}
