// A jar without Storm: its files are unpacked as Storm unpacks them, and our own host runs every component from there, by the same protocol
// and by the command of the definition. The result must be that of the topology itself.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { System } from "signalbox";
import {
  type AnyValues,
  bolt,
  field,
  grouping,
  shellBolt,
  shellSpout,
  type Topology,
  topology,
} from "signalbox/topology";
import { expect, test } from "vitest";
import { EXIT } from "../../../lib/cli/shell/exit.js";
import { needsPython, python } from "../../support/python.js";
import { folderWith, jarTexts, runStorm, unpack } from "./support.js";

/** What a component is started with, by the definition of its jar. */
type Started = Readonly<Record<string, readonly [command: string, ...args: string[]]>>;

async function exported(
  contents: Readonly<Record<string, string>>,
  module: string,
  ...more: string[]
): Promise<{ readonly resources: string; readonly started: Started }> {
  const at = folderWith(contents);
  const node = process.execPath;
  const args = ["export", at(module), "-o", at("topology.jar"), "--node", node, ...more];
  const { code, printed, complaints } = await runStorm(args);
  expect({ code, complaints }, printed).toEqual({ code: EXIT.fine, complaints: "" });
  const jar = readFileSync(at("topology.jar"));
  const definition = JSON.parse(jarTexts(jar)["topology.json"] as string);
  const started = [...definition.spouts, ...definition.bolts].map(({ id, constructorArgs }) => [
    id,
    constructorArgs[0],
  ]);
  return { resources: unpack(jar), started: Object.fromEntries(started) };
}

const text = { text: field.text };
const word = { word: field.text };

/** Runs a topology until the words have come, and counts them. */
async function counted(
  words: number,
  make: (count: (values: AnyValues) => void) => Topology,
): Promise<Record<string, number>> {
  await using system = new System({ report: false });
  const counts: Record<string, number> = {};
  let seen = 0;
  let done = (): void => undefined;
  const all = new Promise<void>((resolve) => {
    done = resolve;
  });
  const running = await system.start(
    make(({ word }) => {
      counts[String(word)] = (counts[String(word)] ?? 0) + 1;
      if (++seen === words) done();
    }),
  );
  await all;
  await running.stop();
  return counts;
}

/** The word count whose spout and splitter are programs of the jar. */
function fromJar(
  { resources, started }: Awaited<ReturnType<typeof exported>>,
  count: (values: AnyValues) => void,
): Topology {
  const program = (name: string) => {
    const [command, ...args] = started[name] as readonly [string, ...string[]];
    return { command, args, cwd: resources };
  };
  // The handshake names the component, so the names here are those of the jar.
  const lines = shellSpout({
    ...program("lines"),
    streams: { items: text },
  });
  const split = shellBolt({
    ...program("split"),
    input: text,
    streams: { words: word },
  });
  const sink = bolt({ input: word, execute: ({ values }) => count(values) });
  return topology("words")
    .spout("lines", lines)
    .bolt("split", split, { tasks: 2, from: { "lines.items": grouping.shuffle() } })
    .bolt("count", sink, { from: { "split.words": grouping.fields("word") } })
    .build();
}

const TEXTS = ["the cow jumped over the moon", "the moon", "", "over and over"];
const WORDS = { the: 3, cow: 1, jumped: 1, over: 3, moon: 2, and: 1 };
const COUNT = 11;

/** A word count that prints wherever it can, split by a bolt of its own or by a program. */
const wordCount = (
  split: string,
): string => `import { bolt, field, grouping, shellBolt, spoutFrom, topology } from "signalbox/topology";
console.log("a line while it is loaded");
const lines = spoutFrom(${JSON.stringify(TEXTS)}.map((text) => ({ text })), { fields: { text: field.text } });
const split = ${split};
const count = bolt({ input: { word: field.text }, execute: ({ values }) => console.log(values.word) });
export const words = topology("words")
  .spout("lines", lines)
  .bolt("split", split, { tasks: 2, from: { "lines.items": grouping.shuffle() } })
  .bolt("count", count, { from: { "split.words": grouping.fields("word") } })
  .build();
`;
const OWN = `bolt({
  input: { text: field.text },
  streams: { words: { word: field.text } },
  execute: ({ values }, { emit }) => {
    console.log("splits", values.text);
    for (const word of values.text.split(" ")) if (word !== "") emit.words({ word });
  },
})`;
const shell = (command: string, ...args: string[]): string =>
  `shellBolt({ command: ${JSON.stringify(command)}, args: ${JSON.stringify(args)}, input: { text: field.text }, streams: { words: { word: field.text } } })`;

test("components from the jar count as the topology itself, whatever they print [N1462]", async () => {
  const jar = await exported({ "words.ts": wordCount(OWN) }, "words.ts");
  expect(jar.started.split).toEqual([process.execPath, "component.mjs"]);
  expect(await counted(COUNT, (count) => fromJar(jar, count))).toEqual(WORDS);
});

/** Multilang in Python, without a library: splits texts that it gets. */
const SPLIT_PY = `import json, os, sys
import common

def read():
    lines = []
    while True:
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        if line == "end\\n":
            return json.loads("".join(lines))
        lines.append(line)

def send(message):
    sys.stdout.write(json.dumps(message) + "\\nend\\n")
    sys.stdout.flush()

def main():
    setup = read()
    open(os.path.join(setup["pidDir"], str(os.getpid())), "w").close()
    send({"pid": os.getpid()})
    while True:
        message = read()
        if isinstance(message, list):
            continue
        if message["stream"] == "__heartbeat":
            send({"command": "sync"})
            continue
        for word in common.words(message["tuple"][0]):
            send({"command": "emit", "stream": "words", "tuple": [word], "anchors": [message["id"]], "need_task_ids": False})
        send({"command": "ack", "id": message["id"]})
`;
const COMMON_PY = "def words(text):\n    return text.split()\n";

test.skipIf(!python)(
  `a component in Python runs from the jar, with the files of a folder that is given [N1466]${needsPython}`,
  async () => {
    const files = {
      "words.ts": wordCount(shell("python3", "-u", "py/split.py")),
      "py/split.py": `${SPLIT_PY}main()\n`,
      "deps/py/common.py": COMMON_PY,
    };
    const at = folderWith();
    mkdirSync(at("deps/py"), { recursive: true });
    writeFileSync(at("deps/py/common.py"), COMMON_PY);
    const jar = await exported(files, "words.ts", "--resources", at("deps"));
    expect(jar.started.split).toEqual(["python3", "-u", "py/split.py"]);
    expect(await counted(COUNT, (count) => fromJar(jar, count))).toEqual(WORDS);
  },
);

/** What \`streamparse_run\` does: the folder is in the path of Python, and the class of the module is run. */
const RUN =
  'import importlib, sys\nsys.path.insert(0, "")\nmodule, name = sys.argv[1].rsplit(".", 1)\ngetattr(importlib.import_module(module), name)().run()\n';

test.skipIf(!python)(
  `a component by the conventions of streamparse runs from the jar, with its packages [N1467]${needsPython}`,
  async () => {
    const files = {
      "words.ts": wordCount(shell("streamparse_run", "bolts.split.Split")),
      "src/bolts/__init__.py": "",
      "src/bolts/split.py": `${SPLIT_PY}\nclass Split:\n    def run(self):\n        main()\n`,
      "src/common.py": COMMON_PY,
    };
    const { resources, started } = await exported(files, "words.ts");
    expect(started.split).toEqual(["streamparse_run", "bolts.split.Split"]);
    writeFileSync(join(resources, "run.py"), RUN);
    const python = ["python3", "run.py", "bolts.split.Split"] as const;
    const jar = { resources, started: { ...started, split: python } };
    expect(await counted(COUNT, (count) => fromJar(jar, count))).toEqual(WORDS);
  },
);
