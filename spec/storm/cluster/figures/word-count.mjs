// The word count that is measured, for our own host and for the export to Storm.

import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bolt, field, grouping, spout, topology } from "signalbox/topology";
import { Pace } from "./pace.mjs";

export const PENDING = 1_000;
export const TASKS = 2;

const lines = spout({
  streams: { lines: { text: field.text }, end: { word: field.text } },
  init: () => new Pace(process.env),
  next: ({ emit, state }) => state.next(emit),
  ack: (id, { state }) => state.ack(id),
  fail: (_id, { state }) => state.fail(),
});

const split = bolt({
  input: { text: field.text },
  streams: { words: { word: field.text } },
  execute: ({ values }, { emit }) => {
    for (const word of values.text.split(" ")) emit.words({ word });
  },
});

const count = bolt({
  input: { word: field.text },
  init: ({ index }) => ({ counts: new Map(), path: join(process.env.FIGURES_FOLDER, `counts-${index}`) }),
  execute: ({ stream, values: { word } }, { state: { counts, path } }) => {
    if (stream === "words") counts.set(word, (counts.get(word) ?? 0) + 1);
    else {
      writeFileSync(`${path}.part`, JSON.stringify([...counts]));
      renameSync(`${path}.part`, path);
    }
  },
});

export default topology("ours", { maxPending: PENDING, ackers: 1, retries: 0 })
  .spout("lines", lines)
  .bolt("split", split, { tasks: TASKS, from: { "lines.lines": grouping.shuffle() } })
  .bolt("count", count, {
    tasks: TASKS,
    from: { "split.words": grouping.fields("word"), "lines.end": grouping.all() },
  })
  .build();
