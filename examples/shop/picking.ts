// The pickers: consumers that fetch the articles of an order from the shelves. One that crashes loses nothing, since the order is
// dispatched to another picker at once.

import { setTimeout as sleep } from "node:timers/promises";
import { ConsumerGroup, consumer, leastLoaded, type SupervisorDefinition, supervisor } from "signalbox";
import type { Order } from "./order.js";

/** How long a picker walks for one line. */
const WALK_MS = 1;

export type Pickers = ConsumerGroup<Order>;

export function newPickers(): Pickers {
  return new ConsumerGroup<Order>({
    name: "pickers",
    route: leastLoaded(),
    deadlineMs: 10_000,
    maxAttempts: Number.POSITIVE_INFINITY,
    patienceMs: 10_000,
  });
}

export function pickingFloor(count: number, pickers: Pickers): SupervisorDefinition {
  const names = Array.from({ length: count }, (_, index) => `picker-${index + 1}`);
  return supervisor({
    label: "picking",
    // Pickers crash on purpose here, and often.
    intensity: 1_000,
    periodMs: 1_000,
    report: false,
    children: names.map((id) => ({
      id,
      start: consumer(({ lines }: Order) => sleep(WALK_MS * lines.length), { group: pickers, id }),
    })),
  });
}
