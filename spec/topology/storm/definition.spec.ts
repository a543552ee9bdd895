// A topology as a Flux definition.

import { fluxDefinition, fluxText, shellPrograms } from "signalbox/storm";
import { bolt, field, grouping, shellBolt, spoutFrom, topology } from "signalbox/topology";
import { describe, expect, it } from "vitest";
import { OptionError } from "../../../lib/process/errors.js";

const WORD = { word: field.text };
const lines = spoutFrom([{ text: "to be" }], { fields: { text: field.text } });
const count = bolt({ input: WORD, execute: () => undefined });
const split = bolt({ input: { text: field.text }, streams: { words: WORD }, execute: () => undefined });
const wordCount = topology("word-count", { messageTimeoutMs: 20_500, maxPending: 50 })
  .spout("lines", lines, { maxPending: 7 })
  .bolt("split", split, { tasks: 4, executors: 2, from: { "lines.items": grouping.shuffle() } })
  .bolt("count", count, { tasks: 2, from: { "split.words": grouping.fields("word") } })
  .build();

describe("the Flux definition of a word count", () => {
  it("has each component with its tasks, executors and streams, and each subscription [N1440]", () => {
    const { name, config, spouts, bolts, streams } = fluxDefinition(wordCount, { workers: 2 });
    expect(name).toBe("word-count");
    expect(config).toEqual({
      "topology.workers": 2,
      "topology.acker.executors": 2,
      "topology.max.spout.pending": 50,
      "topology.message.timeout.secs": 21,
      "topology.stats.sample.rate": 0.05,
      "topology.subprocess.timeout.secs": 30,
      "topology.skip.missing.kryo.registrations": true,
      "topology.kryo.register": expect.any(Array),
    });
    expect(spouts).toEqual([
      {
        id: "lines",
        className: "org.apache.storm.flux.wrappers.spouts.FluxShellSpout",
        parallelism: 1,
        numTasks: 1,
        constructorArgs: [["node", "component.mjs"]],
        configMethods: [
          { name: "setNamedStream", args: ["items", ["text"]] },
          { name: "setNamedStream", args: ["dead", ["id", "stream", "values", "attempts", "reason"]] },
          { name: "addComponentConfig", args: ["topology.max.spout.pending", 7] },
        ],
      },
    ]);
    expect(bolts.map(({ id, parallelism, numTasks }) => [id, parallelism, numTasks])).toEqual([
      ["split", 2, 4],
      ["count", 2, 2],
    ]);
    expect(streams).toEqual([
      {
        ...{ name: "lines.items -> split", from: "lines", to: "split" },
        grouping: { type: "SHUFFLE", streamId: "items" },
      },
      {
        ...{ name: "split.words -> count", from: "split", to: "count" },
        grouping: { type: "FIELDS", streamId: "words", args: ["word"] },
      },
    ]);
  });

  it("has the options: name, environment, command, keys of Storm", () => {
    const { name, config, bolts } = fluxDefinition(wordCount, {
      ...{ name: "other", env: { A: "1" }, command: ["/opt/node", "component.mjs"] },
      conf: { "topology.workers": 3, mine: [1] },
    });
    expect(name).toBe("other");
    expect(config).toMatchObject({ "topology.workers": 3, mine: [1] });
    expect(bolts[1]?.constructorArgs).toEqual([["/opt/node", "component.mjs"]]);
    expect(bolts[1]?.configMethods).toEqual([{ name: "setEnv", args: [{ A: "1" }] }]);
  });

  it("runs a shell component by its own command", () => {
    const shell = shellBolt({ command: "python3", args: ["count.py"], input: WORD, timeoutMs: 45_000 });
    const built = topology("words")
      .spout("lines", lines)
      .bolt("split", split, { from: { "lines.items": grouping.shuffle() } })
      .bolt("count", shell, { from: { "split.words": grouping.partialKey("word") } })
      .build();
    const { bolts, config } = fluxDefinition(built);
    expect(bolts[1]?.constructorArgs).toEqual([["python3", "count.py"]]);
    expect(config["topology.subprocess.timeout.secs"]).toBe(45);
    expect(shellPrograms(built)).toEqual([{ component: "count", command: "python3", args: ["count.py"] }]);
  });

  it.each([
    ["name", { name: "a.b" }],
    ["workers", { workers: 0 }],
    ["command", { command: [] }],
    ["env.A", { env: { A: 1 } }],
    ['conf["a"].b', { conf: { a: { b: () => 1 } } }],
  ])("refuses a wrong %s", (path, options) => {
    expect(() => fluxDefinition(wordCount, options as never)).toThrow(
      expect.objectContaining({ constructor: OptionError, path }),
    );
  });
});

describe("its text", () => {
  it("is ASCII without `${`, which Flux would take for a property", () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is no template.
    const definition = fluxDefinition(wordCount, { env: { A: "${HOME} é 😀" } });
    const text = fluxText(definition);
    expect(text).toMatch(/^[\n\x20-\x7e]*$/);
    expect(text).not.toContain("$");
    expect(JSON.parse(text)).toEqual(definition);
  });
});
