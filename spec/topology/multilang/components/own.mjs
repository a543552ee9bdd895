// Components of ours as a program: which one it is to be, the host says. The library is the one built by `npm run build`;
// its place may be given, and then whether the one called `shell` is to be the bolt or the spout.
import { pathToFileURL } from "node:url";

const dist =
  process.argv[2] === undefined
    ? new URL("../../../../dist/", import.meta.url)
    : pathToFileURL(process.argv[2]);
const load = (path) => import(new URL(path, dist));
const { bolt, spout } = await load("topology/component.js");
const { field } = await load("topology/field.js");
const { fullConfig } = await load("topology/config.js");
const { runComponent } = await load("topology/multilang/index.js");

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

const plan = (name, definition) => ({
  name,
  kind: definition.kind,
  definition,
  streams: definition.streams,
  tasks: 1,
  executors: 1,
  config: fullConfig(),
});
const shell = process.argv[3] === "spout" ? numbers : split;
const components = [plan("split", split), plan("numbers", numbers), plan("shell", shell)];
await runComponent({ blueprint: { name: "own", config: fullConfig(), components, wires: [] } });
