// A component of ours that prints wherever a program can: while it loads, before the first message of the host, in its
// work, and at its end. Its arguments are the place of the library, and a mode: `early` prints before `runComponent`,
// which cannot be redirected; `broken` throws while it loads.
import { pathToFileURL } from "node:url";

const dist = pathToFileURL(process.argv[2]);
const load = (path) => import(new URL(path, dist));
const { runComponent } = await load("topology/index.js");

if (process.argv[3] === "early") console.log("loading the model");

await runComponent(async () => {
  console.log("loading", { model: 1 });
  process.stdout.write("a line in ");
  await new Promise((resolve) => setImmediate(resolve));
  process.stdout.write("two parts\n");
  if (process.argv[3] === "broken") throw new Error("the model is broken");
  const { bolt, field, grouping, spout, topology } = await load("topology/index.js");
  const lines = spout({ streams: { lines: { text: field.text } }, next: () => undefined });
  const print = bolt({
    input: { text: field.text },
    init: () => console.log("init"),
    execute: ({ values }) => console.log(values.text),
    close: () => process.stdout.write("closed, without the end of a line"),
  });
  return topology("noisy")
    .spout("lines", lines)
    .bolt("print", print, { from: { "lines.lines": grouping.shuffle() } })
    .build();
});
console.log("free again");
