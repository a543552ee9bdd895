// Our word count as a program under Apache Storm; Storm's handshake names the component. Arguments: the place of the
// library, the number of lines, a file for the finished lines, and the mode: calm, throws, batches or kills.
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [dist, lineCount, doneFile, mode] = process.argv.slice(2);
const { runComponent } = await import(new URL("topology/index.js", pathToFileURL(dist)));
const LINES = Number(lineCount);
const WORDS_OF_A_LINE = 10;

const wordOf = (line, at) => `w${(line * 7 + at * 3) % 50}`;
const textOf = (line) => Array.from({ length: WORDS_OF_A_LINE }, (_, at) => wordOf(line, at)).join(" ");

/** Work that has thrown in this process, and succeeds the next time. */
const thrown = new Set();
function throwOnce(what) {
  if (mode !== "throws" || thrown.has(what)) return;
  thrown.add(what);
  throw new Error(`the first time of ${what}`);
}

/** Lines that this process has emitted, or that were done before. */
const emitted = new Set();
if (existsSync(doneFile))
  for (const line of readFileSync(doneFile, "utf8").split("\n")) if (line !== "") emitted.add(Number(line));

const LINE = (field) => ({ line: field.number, text: field.text });
const WORD = (field) => ({ line: field.number, at: field.number, word: field.text });

const linesOf = ({ spout, field }) =>
  spout({
    streams: { lines: LINE(field) },
    config: { intensity: 1_000, retryBackoff: { minMs: 10, maxMs: 100 } },
    init: () => console.log("a line of an init"),
    next: ({ emit }) => {
      for (let line = 0; line < LINES; line++) {
        if (emitted.has(line)) continue;
        emitted.add(line);
        emit.lines({ line, text: textOf(line) }, { id: line });
        if (line % 40 === 21) throwOnce(`line ${line} of the spout`);
        return;
      }
    },
    ack: (line) => appendFileSync(doneFile, `${line}\n`),
    fail: (line) => {
      emitted.delete(line);
    },
  });

const splitOf = ({ bolt, field }) =>
  bolt({
    input: LINE(field),
    streams: { words: WORD(field) },
    execute: async ({ values: { line, text } }, { emit }) => {
      if (line % 10 === 3) throwOnce(`line ${line}`);
      await undefined;
      for (const [at, word] of text.split(" ").entries()) emit.words({ line, at, word });
    },
  });

/** Acks its tuples itself, so that a throw crashes its task. */
const countOf = ({ bolt, field }) =>
  bolt({
    input: WORD(field),
    streams: { counts: { ...WORD(field), count: field.number } },
    config: { intensity: 1_000 },
    mode: "manual",
    init: () => new Map(),
    execute: (tuple, { emit, state, ack }) => {
      const { line, at, word } = tuple.values;
      if (line % 25 === 7 && at === 5) throwOnce(`word ${at} of line ${line}`);
      state.set(word, (state.get(word) ?? 0) + 1);
      emit.counts({ line, at, word, count: state.get(word) });
      ack(tuple);
    },
  });

/** The last batches never fill, so only the clock closes them. */
const batchesOf = ({ batchBolt, field }) =>
  batchBolt({
    input: WORD(field),
    streams: { counts: { ...WORD(field), count: field.number } },
    size: 7,
    everyMs: 200,
    execute: (batch, { emit }) => {
      for (const [index, { values }] of batch.entries()) emit.counts({ ...values, count: index });
    },
  });

await runComponent(async () => {
  console.log("a line of a module that is loaded");
  const library = await import(new URL("topology/index.js", pathToFileURL(dist)));
  const { grouping, topology } = library;
  return topology("word-count")
    .spout("lines", linesOf(library))
    .bolt("split", splitOf(library), { from: { "lines.lines": grouping.shuffle() } })
    .bolt("count", mode === "batches" ? batchesOf(library) : countOf(library), {
      from: { "split.words": grouping.fields("word") },
    })
    .build();
});
