// The history of a system, kept also while nobody looks.

import { keptFor } from "../admin/history/kept.js";
import type { Callbacks } from "../process/behaviour.js";
import type { Pid } from "../process/pid.js";
import type { Process } from "../process/process.js";
import { type Launch, launch, type Startable } from "../process/start.js";

/** The result of {@link history}: a child of a supervisor. */
export interface HistoryDefinition extends Startable<readonly [], Pid> {}

/**
 * Keeps the history of a system as long as it runs: crashes, restarts, dead letters and the like, in rings of a bounded size. An observer does the
 * same while it runs. Use this for a service without one, which `signalbox observe` and `signalbox top` look at from outside: they find what went
 * wrong before they came.
 *
 * @example
 * const Shop = supervisor({ children: [{ id: "history", start: history() }] });
 */
export function history(): HistoryDefinition {
  return {
    [launch]: (): Launch<Pid> => ({
      behaviour: KEEPER as Callbacks<never>,
      options: { label: "history" },
      ref: (pid) => pid,
    }),
  };
}

const KEEPER: Callbacks<unknown> = {
  isHelper: true,
  init: ({ self, signal }) => {
    const { kernel } = self.process as Process;
    signal.addEventListener("abort", keptFor(kernel).hold());
  },
  handle: () => undefined,
};
