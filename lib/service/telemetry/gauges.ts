// Gauges: the state of all processes at one moment, by label.

import type { Kernel } from "../../process/kernel.js";
import type { Recorder } from "./recorder.js";

export interface Depths {
  readonly label: string;
  readonly processes: number;
  readonly depth: number;
  readonly deepest: number;
}

/** The entries that wait in the mailboxes of a system, sorted by label. */
export function mailboxDepths(kernel: Kernel, { labels }: Recorder): readonly Depths[] {
  kernel.shared?.listed();
  const byLabel = new Map<string, { processes: number; depth: number; deepest: number }>();
  for (let process = kernel.newest; process !== undefined; process = process.next) {
    kernel.shared?.mailbox(process.pid, "read");
    const label = labels.of(process.pid);
    const sum = byLabel.get(label) ?? { processes: 0, depth: 0, deepest: 0 };
    byLabel.set(label, sum);
    const { depth } = process;
    sum.processes++;
    sum.depth += depth;
    sum.deepest = Math.max(sum.deepest, depth);
  }
  return [...byLabel]
    .map(([label, sum]) => ({ label, ...sum }))
    .sort((a, b) => (a.label < b.label ? -1 : a.label > b.label ? 1 : 0));
}
