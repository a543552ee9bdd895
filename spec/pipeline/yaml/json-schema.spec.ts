import { Ajv } from "ajv";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { parse as parseYaml } from "yaml";
import * as z from "zod";
import { jsonSchemaOf } from "../../../lib/pipeline/yaml/json-schema.js";
import { adapterType, pipelineRegistry } from "../../../lib/pipeline/yaml/registry.js";
import { faultsOf, parse } from "./support.js";

interface Tree {
  readonly name: string;
  readonly inner?: Tree | undefined;
}
const create = (config: unknown) => ({ name: "x", process: () => config });
const tree: z.ZodType<Tree> = z.strictObject({
  name: z.string(),
  get inner() {
    return tree.optional();
  },
});
const registry = pipelineRegistry({
  adapters: [
    adapterType({ type: "plain", create }),
    adapterType({
      type: "zod",
      description: "Made with zod.",
      config: z.strictObject({
        size: z.number().int().min(1),
        mode: z.enum(["fast", "safe"]).default("safe"),
        on: z.boolean().optional(),
      }),
      create,
    }),
    adapterType({
      type: "arktype",
      config: type({ "+": "reject", url: "string", "tries?": "number.integer >= 1" }),
      create,
    }),
    adapterType({ type: "valibot", config: v.strictObject({ url: v.string() }), create }),
    adapterType({
      type: "given",
      config: v.strictObject({ url: v.string() }),
      jsonSchema: {
        type: "object",
        properties: { url: { type: "string" } },
        required: ["url"],
        additionalProperties: false,
      },
      create,
    }),
    adapterType({ type: "tree", config: tree, create }),
    adapterType({ type: "dates", config: z.object({ since: z.date() }), create }),
  ],
});
const schema = jsonSchemaOf(registry);
const isValid = new Ajv({ strict: false, allErrors: true }).compile(schema);

const file = (adapter: string, more = ""): string =>
  `version: 1\nname: a\n${more}\nroutes:\n  a:\n    from: a\n    adapters:\n      - ${adapter}\n`;

describe("the JSON Schema of files", () => {
  it.each([
    file("{ type: plain }"),
    file("{ type: zod, config: { size: 1 } }"),
    file(
      "{ type: zod, name: z, config: { size: 1, mode: fast, on: true }, when: { field: x, operator: exists } }",
    ),
    file("{ type: arktype, config: { url: x, tries: 2 } }"),
    file("{ type: valibot, config: { url: x } }"),
    file("{ type: given, config: { url: x } }"),
    file("{ type: tree, config: { name: a, inner: { name: b, inner: { name: c } } } }"),
    file("{ type: plain }", "defaults: { fanOut: 9, retry: { attempts: 3 } }\nmaxHops: 2"),
    file("{ type: plain }", "defaults: { breaker: { failureRate: 0.1 }, adaptive: none }"),
    file("{ type: plain }", "defaults: { breaker: none }"),
    file(
      "{ type: plain }",
      "sources: { s: { type: messages, to: a, config: { values: [1, { a: 2 }], key: x } } }",
    ),
  ])("accepts what the parser accepts: %s [Y80]", async (text) => {
    await parse(text, { registry });
    expect(isValid(parseYaml(text)), JSON.stringify(isValid.errors)).toBe(true);
  });

  it.each([
    file("{ type: other }"),
    file("{ type: plain, config: { a: 1 } }"),
    file("{ type: zod }"),
    file("{ type: zod, config: { size: 0 } }"),
    file("{ type: zod, config: { size: 1, mode: slow } }"),
    file("{ type: zod, config: { size: 1, more: 1 } }"),
    file("{ type: arktype, config: { url: 1 } }"),
    file("{ type: given, config: {} }"),
    file("{ type: tree, config: { name: a, inner: { name: 1 } } }"),
    file("{ type: plain, when: { field: x, operator: is } }"),
    file("{ type: plain }", "maxHops: 0"),
    file("{ type: plain }", "defaults: { breaker: off }"),
    file("{ type: plain }", "defaults: { breaker: { failureRate: 0 } }"),
    file("{ type: plain }", "max: 0"),
    file("{ type: plain }", "sources: { s: { type: messages, to: a, config: { value: [] } } }"),
    "version: 1\nname: a\nroutes: {}\n",
    "version: 1\nname: a b\nroutes: { a: { from: a } }\n",
  ])("refuses, as the parser does: %s [Y80]", async (text) => {
    await faultsOf(text, { registry });
    expect(isValid(parseYaml(text))).toBe(false);
  });

  it("takes a variable for any scalar", async () => {
    const text = file(
      `{ type: zod, config: { size: '$\{N:-1}', mode: '$\{M:-fast}', on: '$\{B}' } }`,
      `maxHops: $\{N:-3}`,
    );
    expect(isValid(parseYaml(text)), JSON.stringify(isValid.errors)).toBe(true);
  });

  it("says where it knows nothing", () => {
    const { definitions } = schema as { definitions: Record<string, { description?: string }> };
    expect(definitions["adapter-valibot"]).toEqual({
      description: "Anything, for an editor: the schema of valibot (valibot) has no JSON Schema.",
    });
    expect(definitions["adapter-dates"]?.description).toMatch(/dates cannot be written as JSON Schema/);
    expect(Object.keys(definitions)).not.toContain("adapter-plain");
    expect(JSON.stringify(schema)).toContain("Made with zod.");
  });
});
