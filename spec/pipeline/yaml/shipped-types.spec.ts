import { describe, expect, test } from "vitest";
import { pipelineRegistry } from "../../../lib/pipeline/yaml/registry.js";
import { shippedAdapters, shippedSources } from "../../../lib/pipeline/yaml/shipped-types.js";
import { OptionError } from "../../../lib/process/errors.js";

const registry = pipelineRegistry({ adapters: shippedAdapters, sources: shippedSources });
const made = { name: "here", pipeline: "p", route: "r" };
const create = (type: string, config: unknown) =>
  (registry.adapters.get(type) ?? registry.sources.get(type))?.create(config as never, made);

describe("types that come with the library", () => {
  test("make adapters and sources of plain data, under the file's name", () => {
    const good: [string, object][] = [
      ["filter", { condition: { field: "cost", operator: "gt", value: 5 } }],
      ["deduplicate", { field: "id.number" }],
      ["deduplicate", {}],
      ["throttle", { permits: 5, perMs: 100 }],
      ["http-request", { url: "http://a.example", send: true, attempts: 2 }],
      ["write-json-lines", { path: "out.jsonl" }],
      ["write-csv", { path: "out.csv", columns: ["a"] }],
      ["json-lines", { path: "in.jsonl", damaged: "pass" }],
      ["csv", { path: "in.csv", delimiter: ";" }],
      ["timer", { everyMs: 100 }],
    ];
    for (const [type, config] of good) expect(create(type, config)).toMatchObject({ name: "here" });
    const filter = create("filter", good[0]?.[1]) as { process(value: unknown, ctx: never): unknown };
    expect(filter.process({ cost: 6 }, undefined as never)).toEqual({ cost: 6 });
    expect(filter.process({ cost: 5 }, undefined as never)).toBeUndefined();
  });

  test("name the option that is wrong", () => {
    const wrong: [string, unknown, string][] = [
      ["filter", {}, "condition"],
      ["filter", { condition: { field: "a", operator: "like" } }, "condition.operator"],
      ["deduplicate", { field: 7 }, "field"],
      ["throttle", { permits: "5" }, "permits"],
      ["http-request", { url: "nowhere" }, "url"],
      ["http-request", { url: "http://a.example", send: "yes" }, "send"],
      ["http-request", { url: "http://a.example", fetch: 1 }, "fetch"],
      ["write-json-lines", {}, "path"],
      ["write-csv", { path: "x" }, "columns"],
      ["json-lines", { path: 7 }, "path"],
      ["csv", { path: "x", quote: "''" }, "quote"],
      ["timer", { everyMs: "5s" }, "everyMs"],
      ["timer", { at: [] }, "at"],
    ];
    for (const [type, config, path] of wrong) {
      expect(() => create(type, config)).toThrow(OptionError);
      expect(() => create(type, config)).toThrow(path);
    }
  });

  test("need a mapping, and have a JSON Schema for editors", () => {
    for (const type of [...shippedAdapters, ...shippedSources]) {
      if (type.config === undefined) continue;
      expect(type.jsonSchema).toMatchObject({ type: "object", additionalProperties: false });
      for (const config of [null, 7, "x", []])
        expect(type.config["~standard"].validate(config)).toMatchObject({ issues: [{}] });
    }
  });
});
