// One run: the text into the topology, while its tasks are killed, and the counts out of it.

import { System } from "signalbox";
import type { TopologyMetrics, TopologyRef } from "signalbox/topology";
import { Chaos, tasksOf } from "./chaos.js";
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
  /** Where to show how it goes. */
  readonly show?: Show;
}

export interface RunResult {
  readonly straight: StraightCount;
  /** What the topology counted. */
  readonly counts: ReadonlyMap<string, number>;
  /** Lines that are done. */
  readonly done: number;
  /** Tasks that chaos killed. */
  readonly kills: number;
  /** How often a line was emitted again. */
  readonly replayed: number;
  /** The most lines whose marks were kept at once. */
  readonly mostOpen: number;
}

/** @throws what `lines` throws */
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
      // Thrown on, it would crash the spout's task, again at every restart. No more can be read: so the text ends here.
      failure = error;
    }
  }

  const topology = wordCount({
    lines: read(),
    openLines: dedupe ? openLines : undefined,
    results,
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

  /** Shows it again and again until it is over. */
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

/** Lines that the spout emitted, those that it emitted again included. */
function emitted({ components }: TopologyMetrics): number {
  return components.find(({ name }) => name === "lines")?.emitted ?? 0;
}
