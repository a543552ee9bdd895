// The history of a system, kept also while nobody looks.

import { keptFor } from "../admin/history/kept.js";
import { operationsOn } from "../admin/system/kernel-operations.js";
import type { Callbacks } from "../process/behaviour.js";
import { checked } from "../process/option-schema.js";
import { flag } from "../process/options.js";
import type { Pid } from "../process/pid.js";
import type { Process } from "../process/process.js";
import { type Launch, launch, type Startable } from "../process/start.js";
import { holdSpans } from "../service/telemetry/held-spans.js";
import { offerSpansOf } from "../service/telemetry/telemetry.js";

/** Options of {@link history}. */
export interface HistoryOptions {
  /**
   * Keeps the spans of messages, too: the way of one message can be looked at later. It costs what telemetry with a subscriber costs. Start it before
   * what it is to follow. Default false: spans are kept while somebody looks at traces.
   */
  readonly traces?: boolean;
}

/** The result of {@link history}: a child of a supervisor. */
export interface HistoryDefinition extends Startable<readonly [], Pid> {}

/**
 * Keeps the history of a system as long as it runs: crashes, restarts, dead letters and the like, in rings of a bounded size. An observer does the
 * same while it runs. Use this for a service without one, which `signalbox observe` and `signalbox top` look at from outside: they find what went
 * wrong before they came.
 *
 * @throws OptionError
 * @example
 * const Shop = supervisor({ children: [{ id: "history", start: history() }] });
 */
export function history(options: HistoryOptions = {}): HistoryDefinition {
  const { traces } = checked("", options, { traces: flag }, { traces: false });
  return {
    [launch]: (): Launch<Pid> => ({
      behaviour: keeper(traces),
      options: { label: "history" },
      ref: (pid) => pid,
    }),
  };
}

const keeper = (traces: boolean): Callbacks<never> => ({
  isHelper: true,
  init: (ctx) => {
    const { kernel } = ctx.self.process as Process;
    // The operations on the system have what there is to keep.
    operationsOn(kernel);
    ctx.signal.addEventListener("abort", keptFor(kernel).hold());
    if (traces) return holdSpans(ctx);
    offerSpansOf(kernel);
    return undefined;
  },
  handle: () => undefined,
});
