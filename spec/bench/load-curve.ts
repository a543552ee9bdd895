// What a topology gets done when it is offered less, as much and more than it can do. In virtual time, so that the figures
// are the same on every machine.

import { System } from "signalbox";
import { testClock } from "signalbox/testing";
import { bolt, field, grouping, spout, type TopologyConfig, topology } from "signalbox/topology";

/** The topology that is loaded: by default four tasks of 40 ms, with the default limits of a topology divided by ten. */
export interface Loaded {
  readonly tasks: number;
  /** Milliseconds that a task works on a tuple. */
  readonly workMs: number;
  readonly config: TopologyConfig;
}

export const LOADED: Loaded = {
  tasks: 4,
  workMs: 40,
  config: { messageTimeoutMs: 3_000, maxPending: 512, retryBackoff: { minMs: 10, maxMs: 1_000 } },
};

/** What was done in the measured time, a second. */
export interface LoadPoint {
  /** Tuples offered, as a share of what the tasks can do. */
  readonly load: number;
  readonly offered: number;
  readonly acked: number;
  /** Tuples worked on whose trees had expired when the work was done, or that were worked on before. */
  readonly inVain: number;
  /** Tuples that failed for good. */
  readonly dead: number;
  /** Median time from the emit to the ack, in milliseconds. */
  readonly p50Ms: number;
  /** Warnings in the log, in the whole time. */
  readonly warnings: number;
}

const WARM_UP_MS = 30_000;
const MEASURED_MS = 60_000;
/** The pause of a spout that has nothing to emit. */
const SPOUT_WAIT_MS = 5;

/** Offers a topology so much for a while. */
export async function loadPoint(
  load: number,
  { tasks, workMs, config }: Loaded = LOADED,
): Promise<LoadPoint> {
  const clock = testClock();
  await using system = new System({ environment: clock.environment, report: () => undefined });
  const perMs = (load * tasks) / workMs;
  let [emitted, acked, executed, dead, warnings] = [0, 0, 0, 0, 0];
  const source = spout({
    streams: { work: { n: field.number } },
    init: () => undefined,
    next: ({ emit, now }) => {
      if (emitted < now() * perMs) emit.work({ n: emitted }, { id: emitted++ });
    },
    ack: (_id: number) => {
      acked++;
    },
    fail: () => {
      dead++;
    },
  });
  const sleeper = system.spawn<() => void>({ handle: (ctx, wake) => void ctx.runAfter(workMs, wake) });
  const worker = bolt({
    input: { n: field.number },
    execute: () => {
      executed++;
      return new Promise<void>((wake) => system.send(sleeper, wake));
    },
  });
  const loaded = topology("loaded", { spoutWaitMs: SPOUT_WAIT_MS, sampleRate: 1, ...config })
    .spout("source", source)
    .bolt("worker", worker, { tasks, from: { "source.work": grouping.shuffle() } })
    .build();
  const running = await system.start(loaded, {
    log: ({ level }) => {
      if (level === "warn") warnings++;
    },
  });
  await clock.advance(WARM_UP_MS);
  const before = { acked, executed, dead };
  await clock.advance(MEASURED_MS);
  const perSecond = (count: number): number => count / (MEASURED_MS / 1_000);
  const { completeLatency } = running.metrics().components.find(({ name }) => name === "source") ?? {};
  const point: LoadPoint = {
    load,
    offered: perMs * 1_000,
    acked: perSecond(acked - before.acked),
    inVain: perSecond(executed - before.executed - (acked - before.acked)),
    dead: perSecond(dead - before.dead),
    p50Ms: completeLatency?.p50Ms ?? 0,
    warnings,
  };
  await clock.until(running.stop({ drainMs: 0 }));
  await clock.until(system.stop());
  return point;
}

/** From a tenth to three times of what the topology can do. */
export const LOADS: readonly number[] = [0.1, 0.25, 0.5, 0.75, 0.9, 1, 1.1, 1.25, 1.5, 2, 2.5, 3];

/** The curve as a table of Markdown. */
export function curveTable(points: readonly LoadPoint[]): string {
  const head = ["load", "offered/s", "acked/s", "in vain/s", "dead/s", "median ms"];
  const rows = points.map(({ load, offered, acked, inVain, dead, p50Ms }) => [
    `${Math.round(load * 100)} %`,
    offered.toFixed(1),
    acked.toFixed(1),
    inVain.toFixed(1),
    dead.toFixed(1),
    p50Ms.toFixed(0),
  ]);
  const widths = head.map((title, at) =>
    Math.max(title.length, ...rows.map((row) => (row[at] as string).length)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => cell.padStart(widths[at] as number)).join(" | ")} |`;
  return [
    line(head),
    `|${widths.map((width) => `${"-".repeat(width + 1)}:`).join("|")}|`,
    ...rows.map(line),
  ].join("\n");
}
