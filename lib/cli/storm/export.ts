// `signalbox storm export TOPOLOGY -o FILE`: writes the jar that `signalbox storm submit` takes to a cluster.

import { type FluxDefinition, fluxDefinition, fluxText } from "../../topology/storm/index.js";
import { Misuse, type OptionSpecs } from "../shell/arguments.js";
import { EXIT } from "../shell/exit.js";
import { count } from "../shell/style.js";
import { jsonGiven, whole } from "../shell/values.js";
import { blocks, findingLines } from "./check.js";
import { kit, type StormCommands } from "./context.js";
import { BUNDLE, COMPONENT, jarOf } from "./jar.js";
import { type PreparedTopology, prepared, TOPOLOGY } from "./prepared.js";
import { NODE_VERSION, nodeVersion, wrapperOf } from "./wrapper.js";

const OPTIONS = {
  output: {
    value: "FILE",
    short: "o",
    help: "the jar to write",
    needed: "--output is missing: -o topology.jar",
    read: (text: string, option: string): string => {
      if (text !== "") return text;
      throw new Misuse(`--${option} must be the path of a file; got ""`);
    },
  },
  name: { value: "NAME", help: "the name of the topology in the cluster. Default: its own" },
  workers: whole("COUNT", 1, "the worker processes that Storm spreads the tasks over. Default: 1"),
  env: {
    value: "NAME=VALUE",
    many: true,
    help: "a variable in the environment of every component; may be repeated",
    read: (text: string, option: string): readonly [string, string] => {
      const [name, value] = pair(text, option);
      if (/^[^\s\p{Cc}]+$/u.test(name)) return [name, value];
      throw new Misuse(`--${option} must begin with a name without spaces; got ${JSON.stringify(text)}`);
    },
  },
  conf: {
    value: "KEY=JSON",
    many: true,
    help: "a key of Storm's configuration; may be repeated",
    read: (text: string, option: string): readonly [string, unknown] => {
      const [key, value] = pair(text, option);
      return [key, jsonGiven(`--${option} ${key}`, value)];
    },
  },
  "subprocess-timeout": {
    ...whole("MS", 1, "after this time without an answer of a component, Storm ends its worker"),
    gives: "subprocessTimeoutMs",
  },
  node: {
    value: "PATH",
    help: "the program node on the machines of the cluster. Default: node, found in PATH",
  },
  "node-version": {
    value: "VERSION",
    help: `the least version of Node that a component runs on. Default: ${NODE_VERSION}`,
    gives: "nodeVersion",
    read: nodeVersion,
  },
  ...TOPOLOGY,
} as const satisfies OptionSpecs;

const exporting = kit.command({
  words: ["MODULE"],
  summary:
    "writes a topology as a jar for Storm; exit code 1, and no file, if Storm has no form for a part of it",
  options: OPTIONS,
  run: async ([module], given, context) => {
    const { host, json } = context;
    const { output, export: wanted, resources: folders, node = "node", nodeVersion: least, ...rest } = given;
    const read = { ...(wanted !== undefined && { export: wanted }), ...(folders && { resources: folders }) };
    const topology = await prepared(module, read, host);
    const { findings } = topology;
    if (!json) for (const line of findingLines(topology, context)) host.print(line);
    if (blocks(findings) > 0) {
      const name = topology.topology.name;
      context.show({ topology: name, blocks: blocks(findings), findings }, () => `${name} was not exported`);
      return EXIT.no;
    }
    const definition = fluxDefinition(topology.topology, {
      ...rest,
      env: Object.fromEntries(rest.env ?? []),
      conf: Object.fromEntries(rest.conf ?? []),
      command: [node, COMPONENT],
    });
    const jar = jarOf(
      fluxText(definition),
      resourcesOf(topology, least),
      await host.zip(),
      host.folders.zipTime(),
    );
    write(output, jar);
    const told = { topology: definition.name, file: output, bytes: jar.length, blocks: 0, findings };
    context.show(told, () => writtenText(definition, output, jar.length));
    return EXIT.fine;

    function write(path: string, bytes: Uint8Array): void {
      try {
        host.folders.replace(host.absolute(path), bytes);
      } catch (error) {
        throw new Misuse(`cannot write ${path}: ${(error as Error).message}`);
      }
    }
  },
});

function resourcesOf(
  { bundle, exported, resources }: PreparedTopology,
  least: string | undefined,
): Map<string, Uint8Array> {
  const utf8 = new TextEncoder();
  return new Map([
    ...resources,
    [BUNDLE, utf8.encode(bundle.text)],
    [COMPONENT, utf8.encode(wrapperOf(exported, least))],
  ]);
}

function writtenText({ name, spouts, bolts }: FluxDefinition, file: string, bytes: number): string {
  const number = (n: number, one: string): string => `${n} ${one}${n === 1 ? "" : "s"}`;
  const parts = [name, number(spouts.length, "spout"), number(bolts.length, "bolt")];
  return `wrote ${file}: ${parts.join(", ")}, ${count(Math.ceil(bytes / BYTES))} kB\nnext: signalbox storm submit ${quoted(file)}`;
}

/** A word as a shell takes it. */
const quoted = (word: string): string =>
  /^[\w./@%+=:,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** Bytes of a kB. */
const BYTES = 1_000;

/** @throws Misuse */
function pair(text: string, option: string): readonly [name: string, value: string] {
  const at = text.indexOf("=");
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  throw new Misuse(`--${option} must be a name, "=" and a value; got ${JSON.stringify(text)}`);
}

export const EXPORT: StormCommands = { export: exporting };
