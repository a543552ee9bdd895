// A host with one shell bolt, as a program. Its arguments are the place of the library, then the command of the bolt. The
// program prints the log of the bolt, and sends the bolt the word `hang`.
import { pathToFileURL } from "node:url";

const dist = pathToFileURL(process.argv[2]);
const load = (path) => import(new URL(path, dist));
const { System } = await load("index.js");
const { field, grouping, shellBolt, spout, topology } = await load("topology/index.js");

const input = { text: field.text };
let said = false;
const lines = spout({
  streams: { lines: input },
  next: ({ emit }) => {
    if (!said) emit.lines({ text: "hang" });
    said = true;
  },
});
const [command, ...args] = process.argv.slice(3);
const hangs = shellBolt({ command, args, input, heartbeatMs: Number.POSITIVE_INFINITY });
const built = topology("hangs")
  .spout("lines", lines)
  .bolt("hangs", hangs, { from: { "lines.lines": grouping.shuffle() } })
  .build();
const system = new System({ name: "host" });
await system.start(built, { logLevel: "info", log: ({ text }) => console.log(text) });
process.on("message", () => process.exit(0));
