// A word count of ours as a program; the host's handshake names the component. It uses the library that `npm run build`
// made, unless another place is given. As a module it makes the same components with any build of the library.
import { fileURLToPath, pathToFileURL } from "node:url";

export const LINES = ["to be or not to be", "that is the question", "to sleep to dream", "být 是 😀 to be"];

export function componentsOf({ bolt, field, spout }, print) {
  const lines = spout({
    streams: { lines: { text: field.text } },
    init: () => ({ next: 0 }),
    next: ({ emit, state }) => {
      const text = LINES[state.next];
      if (text === undefined) return;
      print("emitting", { text });
      emit.lines({ text }, { id: state.next++ });
    },
    ack: (id, { log }) => log("info", `done: ${LINES[id]}`),
  });
  const split = bolt({
    input: { text: field.text },
    streams: { words: { word: field.text } },
    execute: async ({ values }, { emit }) => {
      print("splitting", values);
      await undefined;
      for (const word of values.text.split(" ")) emit.words({ word });
    },
  });
  const count = bolt({
    input: { word: field.text },
    streams: { counts: { word: field.text, count: field.number } },
    init: () => new Map(),
    execute: ({ values: { word } }, { emit, state }) => {
      state.set(word, (state.get(word) ?? 0) + 1);
      emit.counts({ word, count: state.get(word) });
    },
  });
  return { lines, split, count };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const dist =
    process.argv[2] === undefined
      ? new URL("../../../../dist/", import.meta.url)
      : pathToFileURL(process.argv[2]);
  const library = await import(new URL("topology/index.js", dist));
  const { grouping, runComponent, topology } = library;
  const { lines, split, count } = componentsOf(library, console.log);
  const wordCount = topology("word-count")
    .spout("lines", lines)
    .bolt("split", split, { from: { "lines.lines": grouping.shuffle() } })
    .bolt("count", count, { from: { "split.words": grouping.fields("word") } })
    .build();
  await runComponent(wordCount);
}
