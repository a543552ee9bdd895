// Topologies whose Flux definitions are kept as files, for the real Flux to read (spec/storm/flux-dry-run.mjs).

import type { StormOptions } from "signalbox/storm";
import {
  bolt,
  field,
  grouping,
  shellBolt,
  shellSpout,
  spout,
  type Topology,
  topology,
} from "signalbox/topology";

const WORD = { word: field.text, at: field.number };
const LINE = { text: field.text };
const nothing = (): undefined => undefined;
const lines = spout({ streams: { lines: LINE }, next: nothing });
const split = bolt({ input: LINE, streams: { words: WORD }, execute: nothing });
const sink = bolt({ input: {}, execute: nothing });

/** Each with the options of its export. */
export const EXPORTED: Readonly<Record<string, readonly [Topology, StormOptions]>> = {
  "word-count": [
    topology("word-count", { maxPending: 50, messageTimeoutMs: 20_500 })
      .spout("lines", lines, { maxPending: 7 })
      .bolt("split", split, { tasks: 4, executors: 2, from: { "lines.lines": grouping.shuffle() } })
      .bolt("count", sink, { tasks: 2, debug: true, from: { "split.words": grouping.fields("word") } })
      .build(),
    { workers: 2 },
  ],
  groupings: [
    topology("groupings")
      .spout("s", spout({ streams: { default: WORD, empty: {}, straight: {} }, next: nothing }))
      .bolt("shuffle", sink, { from: { "s.default": grouping.shuffle(), "s.empty": grouping.shuffle() } })
      .bolt("fields", sink, { from: { "s.default": grouping.fields("word", "at") } })
      .bolt("partial", sink, { tasks: 3, from: { "s.default": grouping.partialKey("word") } })
      .bolt("other", sink, { tasks: 3, from: { "s.default": grouping.partialKey("at", "word") } })
      .bolt("all", sink, { tasks: 2, from: { "s.default": grouping.all(), "s.empty": grouping.all() } })
      .bolt("global", sink, { tasks: 2, from: { "s.default": grouping.global() } })
      .bolt("direct", sink, { tasks: 2, from: { "s.straight": grouping.direct() } })
      .bolt("local", sink, { from: { "s.default": grouping.localOrShuffle() } })
      .bolt("none", sink, { from: { "s.default": grouping.none(), "s.dead": grouping.none() } })
      .build(),
    {},
  ],
  shells: [
    topology("shells", { sampleRate: 1e-7, ackers: 1 })
      .spout(
        "lines",
        shellSpout({
          ...{ command: "python3", args: ["lines.py"], streams: { lines: LINE }, timeoutMs: 12_000 },
          env: { ref: "one" },
          config: { retries: 0 },
        }),
      )
      .bolt(
        "split",
        shellBolt({
          ...{ command: "./split", input: LINE, streams: { words: WORD }, timeoutMs: 12_000 },
          // biome-ignore lint/suspicious/noTemplateCurlyInString: Flux takes it for a property.
          env: { HOME: "${HOME} größer 😀", EMPTY: "" },
          conf: {
            "own.list": [],
            "own.map": { ref: "x" },
            "own.big": 1e21,
            "own.deep": { a: [null, 1.5, { b: "c" }] },
          },
          config: { tickMs: 2_500 },
        }),
        { tasks: 2, from: { "lines.lines": grouping.shuffle() } },
      )
      .bolt("count", sink, { from: { "split.words": grouping.global() } })
      .build(),
    {
      env: { NODE_ENV: "production" },
      command: ["/opt/node", "component.mjs"],
      conf: { "topology.workers": 3 },
    },
  ],
};
