// A topology that never ends: sentences are split into words, and the words are counted.

import { bolt, field, grouping, spoutFrom, type Topology, topology } from "signalbox/topology";

const SENTENCES = ["to be or not to be", "all the world is a stage", "brevity is the soul of wit"];

/** @param pace - resolves when the next sentence may come */
export function words(pace: () => Promise<void>): Topology {
  const sentences = spoutFrom(
    async function* () {
      for (let n = 0; ; n++) {
        await pace();
        yield { number: n, text: SENTENCES[n % SENTENCES.length] as string };
      }
    },
    { stream: "sentences", fields: { number: field.number, text: field.text } },
  );
  const split = bolt({
    input: { number: field.number, text: field.text },
    streams: { words: { word: field.text } },
    execute: ({ values: { text } }, { emit }) => {
      for (const word of text.split(" ")) emit.words({ word });
    },
  });
  const count = bolt({
    input: { word: field.text },
    init: () => new Map<string, number>(),
    execute: ({ values: { word } }, { state }) => void state.set(word, (state.get(word) ?? 0) + 1),
  });
  return topology("words")
    .spout("sentences", sentences)
    .bolt("split", split, { tasks: 2, from: { "sentences.sentences": grouping.shuffle() } })
    .bolt("count", count, { tasks: 3, from: { "split.words": grouping.fields("word") } })
    .build();
}
