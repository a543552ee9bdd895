// The signals of durable hosts as gauges: what an autoscaler compares with its target.

import { shownSignals } from "../../host/signals.js";
import type { Kernel } from "../../process/kernel.js";
import type { Instrument, Instruments } from "./instruments.js";
import type { TakeGauge } from "./sources.js";

function gauge(name: string, unit: string, help: string): Instrument {
  return { name: `signalbox.host.${name}`, kind: "gauge", unit, help, labels: ["kind", "host"] };
}

/** In the order of the page. */
export const HOST_METRICS: Instruments<"due" | "oldest" | "room" | "held"> = {
  due: gauge(
    "due",
    "{item}",
    "Work in the store that is due and that no host holds. All hosts of a store say the same: take the maximum, not the sum.",
  ),
  oldest: gauge("due.oldest", "s", "How long the oldest work that is due has waited."),
  room: gauge("room", "{item}", "How much more a host could take."),
  held: gauge("held", "{item}", "How much a host holds."),
};

const SECOND = 1_000;

/** Takes what the hosts of a system saw last, and asks them to look again. */
export function readHosts(kernel: Kernel, take: TakeGauge): void {
  for (const source of shownSignals(kernel)) {
    const { kind, host, seen } = source;
    source.look();
    if (seen === undefined) continue;
    take(HOST_METRICS.due, seen.due, kind, host);
    take(HOST_METRICS.oldest, seen.oldestDueMs / SECOND, kind, host);
    take(HOST_METRICS.room, seen.room, kind, host);
    take(HOST_METRICS.held, seen.held, kind, host);
  }
}
