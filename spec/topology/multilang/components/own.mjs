// Components of ours as a program; the host's handshake says which one runs. Its arguments: the place of the library
// that `npm run build` made (optional), then `spout` when the component called `shell` is the spout and not the bolt.
import { pathToFileURL } from "node:url";

const dist =
  process.argv[2] === undefined
    ? new URL("../../../../dist/", import.meta.url)
    : pathToFileURL(process.argv[2]);
const load = (path) => import(new URL(path, dist));
const { bolt, field, grouping, runComponent, spout, topology } = await load("topology/index.js");

const split = bolt({
  input: { text: field.text },
  streams: { words: { word: field.text } },
  execute: async ({ values }, { emit, log }) => {
    console.log("splitting", values);
    process.stdout.write("a line in ");
    process.stdout.write("two parts\n");
    await undefined;
    for (const word of values.text.split(" ")) {
      if (word === "die") throw new Error("the word is die");
      emit.words({ word }, { onTasks: (tasks) => log("info", `${word} went to ${tasks}`) });
    }
  },
  close: () => console.log("closed"),
});

let last = 0;
const numbers = spout({
  streams: { numbers: { n: field.number } },
  next: ({ emit }) => {
    if (last < 2) emit.numbers({ n: ++last }, { id: { n: last } });
  },
  ack: ({ n }) => console.log(`acked ${n}`),
  close: () => console.log("closed"),
});

const lines = spout({ streams: { lines: { text: field.text } }, next: () => undefined });
const from = { "lines.lines": grouping.shuffle() };
const stage = topology("own").spout("lines", lines).bolt("split", split, { from });
const isSpout = process.argv[3] === "spout";
await runComponent((isSpout ? stage.spout("shell", numbers) : stage.bolt("shell", split, { from })).build());
