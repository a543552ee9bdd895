// One run: sends the text into the topology while its tasks are killed, and returns the counts.

import { System } from "signalbox";
import type { TopologyMetrics, TopologyRef } from "signalbox/topology";
import { Chaos, tasksOf } from "./chaos.js";
import { sharedLedger } from "./ledger.js";
import { OpenLines } from "./open-lines.js";
import type { Show, View } from "./screen.js";
import { wordsOf } from "./text.js";
import { StraightCount } from "./totals.js";
import { type Line, wordCount } from "./word-count.js";

export interface RunOptions {
  readonly lines: AsyncIterable<string>;
  readonly counters: number;
  /** Lines from one kill to the next, on average; 0 for no kills. */
  readonly killEvery: number;
  readonly seed: number;
  readonly dedupe: boolean;
  /** Shows the progress. */
  readonly show?: Show;
}

export interface RunResult {
  readonly straight: StraightCount;
  /** The counts of the topology. */
  readonly counts: ReadonlyMap<string, number>;
  /** Finished lines. */
  readonly done: number;
  /** Tasks killed by chaos. */
  readonly kills: number;
  /** Number of replayed lines. */
  readonly replayed: number;
  /** The highest number of lines with marks. */
  readonly mostOpen: number;
}

/** @throws the error of `lines` */
export async function run(options: RunOptions): Promise<RunResult> {
  const { counters, dedupe, show } = options;
  await using system = new System({ name: "wordcount" });
  const startedAt = performance.now();
  const straight = new StraightCount();
  const openLines = new OpenLines();
  const results = new Map<string, number>();
  let done = 0;
  let kills = 0;
  let failure: unknown;
  let running: TopologyRef | undefined;

  const victims = () => (running === undefined ? [] : tasksOf(running));
  const chaos = await system.start(Chaos, victims, options.killEvery, options.seed);

  async function* read(): AsyncGenerator<Line, void, undefined> {
    try {
      for await (const text of options.lines) {
        const words = wordsOf(text);
        straight.add(words);
        if (dedupe) openLines.open(straight.lines, words.length);
        yield { line: straight.lines, text };
      }
    } catch (error) {
      // No more can be read, so the text ends here. The error would crash the spout's task again at every restart.
      failure = error;
    }
  }

  const topology = wordCount({
    lines: read(),
    ledger: (task) => sharedLedger(task, dedupe ? openLines : undefined),
    write: (counts) => {
      for (const { word, count } of counts) results.set(word, Math.max(results.get(word) ?? 0, count));
    },
    counters,
    onDone: ({ line }) => {
      done++;
      openLines.close(line);
      chaos.cast.line();
    },
  });
  running = await system.start(topology);

  const view = (metrics: TopologyMetrics): View => ({
    ...{ read: straight.lines, done, kills, metrics },
    replayed: Math.max(0, emitted(metrics) - straight.lines),
    elapsedMs: performance.now() - startedAt,
  });
  const over = new AbortController();
  const watching = show === undefined ? undefined : watch(running, show, over.signal);
  await running.finished();
  await running.stop();
  over.abort();
  await watching;
  if (failure !== undefined) throw failure;

  kills = await chaos.call.kills();
  const last = view(running.metrics());
  show?.show(last);
  return { straight, counts: results, done, kills, replayed: last.replayed, mostOpen: openLines.most };

  /** Shows the progress at intervals until the run is over. */
  async function watch(
    topologyRef: TopologyRef,
    { everyMs, show: draw }: Show,
    signal: AbortSignal,
  ): Promise<void> {
    for await (const metrics of topologyRef.watch({ everyMs, signal })) {
      kills = await chaos.call.kills();
      draw(view(metrics));
    }
  }
}

/** Lines that the spout emitted, including replays. */
function emitted({ components }: TopologyMetrics): number {
  return components.find(({ name }) => name === "lines")?.emitted ?? 0;
}
