// The types of adapters that work on fields, as a file names them.

import { System } from "signalbox";
import { memory } from "signalbox/store";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Many } from "../../../lib/pipeline/definition/adapter.js";
import {
  type AnyPipeline,
  parsePipeline,
  pipelineHost,
  pipelineRegistry,
} from "../../../lib/pipeline/index.js";
import { collect, drop, pick, rename, set, split } from "../../../lib/pipeline/yaml/shipped-fields.js";
import { shippedAdapters } from "../../../lib/pipeline/yaml/shipped-types.js";

const ORDER = { id: 7, buyer: { name: "Ada", city: "Ely" }, items: ["pen", "ink"], note: "" };
type Made = { process(value: unknown, ctx: never): unknown };
const done = (made: unknown, value: unknown = ORDER): unknown => (made as Made).process(value, {} as never);
/** As a file makes it. */
const made = (type: string, config: object): unknown =>
  shippedAdapters
    .find((one) => one.type === type)
    ?.create(config as never, { name: "p", pipeline: "p", route: "r" });
const values = (made: unknown): unknown[] => (made as Many<unknown>).values.map(({ value }) => value);

describe("fields", () => {
  test.each([
    [pick("p", { fields: ["id", "buyer.city", "gone"] }), { id: 7, city: "Ely" }],
    [pick("p", { fields: { no: "id", first: "items.0" } }), { no: 7, first: "pen" }],
    [drop("d", { fields: ["buyer", "items"] }), { id: 7, note: "" }],
    [rename("r", { fields: { id: "no" } }), { no: 7, buyer: ORDER.buyer, items: ORDER.items, note: "" }],
    [set("s", { fields: { note: "n", at: null } }), { ...ORDER, note: "n", at: null }],
  ])("are kept, left out, renamed and set", (adapter, wanted) => {
    expect(done(adapter)).toEqual(wanted);
    expect(Object.keys(done(adapter) as object)).toEqual(Object.keys(wanted));
  });

  test("that are lists are split, alone or with their message", () => {
    expect(values(done(split("s", { field: "items" })))).toEqual(["pen", "ink"]);
    expect(values(done(split("s", {}), [1, 2]))).toEqual([1, 2]);
    const { items: _, ...rest } = ORDER;
    expect(values(done(split("s", { field: "items", as: "item" })))).toEqual([
      { ...rest, item: "pen" },
      { ...rest, item: "ink" },
    ]);
  });

  test("change no prototype and no value that others hold", () => {
    const hostile = JSON.parse('{ "__proto__": { "isAdmin": true }, "constructor": 1 }');
    for (const adapter of [
      pick("p", { fields: ["__proto__", "constructor"] }),
      set("s", { fields: hostile }),
    ]) {
      const made = done(adapter, hostile) as { isAdmin?: boolean };
      expect([made.isAdmin, Object.hasOwn(made, "__proto__"), ({} as { isAdmin?: boolean }).isAdmin]).toEqual(
        [...[undefined, true, undefined]],
      );
    }
    expect(ORDER).toEqual({ id: 7, buyer: { name: "Ada", city: "Ely" }, items: ["pen", "ink"], note: "" });
  });

  test.each([[7], ["text"], [null], [[1]]])("of %j are none: a dead letter at once", (value) => {
    for (const adapter of [
      pick("p", { fields: ["a"] }),
      drop("p", { fields: ["a"] }),
      set("p", { fields: { a: 1 } }),
    ])
      expect(() => done(adapter, value)).toThrow(expect.objectContaining({ retriable: false }));
    expect(() => done(split("p", { field: "items" }), value)).toThrow("p needs a list in items");
  });

  test.each([
    [() => pick("p", {}), "fields"],
    [() => pick("p", { fields: [] }), "fields"],
    [() => pick("p", { fields: ["a.x", "b.x"] }), "fields"],
    [() => pick("p", { fields: { a: 1 } }), "fields.a"],
    [() => drop("p", { fields: [7] }), "fields[0]"],
    [() => rename("p", { fields: "a" }), "fields"],
    [() => made("set", { field: {} }), "field"],
    [() => made("throttle", { permits: 1, per: 5 }), "per"],
    [() => split("p", { as: "x" }), "as"],
    [() => collect("p", { size: 0 }), "size"],
  ])("that are asked for wrongly are refused", (make, path) => {
    expect(make).toThrow(expect.objectContaining({ code: "ERR_OPTION", path }));
  });
});

test("a file of these types runs without code [Y113]", async () => {
  const text = `version: 1
name: orders
sources:
  orders:
    type: messages
    to: orders
    config: { values: [{ id: 1, lines: [{ sku: a, n: 2 }, { sku: b, n: 0 }] }, { id: 2, lines: [] }, { id: 3 }] }
routes:
  lines:
    from: orders
    retry: { attempts: 1 }
    adapters:
      - { type: split, config: { field: lines, as: line } }
      - { type: pick, config: { fields: { order: id, sku: line.sku, n: line.n } } }
      - { type: filter, config: { condition: { field: n, operator: gt, value: 0 } } }
      - { type: set, config: { fields: { state: open } } }
    to: open
  open:
    from: open
    adapters:
      - { type: collect, config: { size: 10 } }
      - { type: show }
`;
  const shown: unknown[] = [];
  const show = {
    ...{ type: "show", description: undefined, config: undefined, jsonSchema: undefined },
    create: () => ({ name: "show", process: (value: unknown) => void shown.push(value) }),
  };
  const registry = pipelineRegistry({ adapters: [...shippedAdapters, show as never] });
  const pipeline = (await parsePipeline(text, { registry })) as AnyPipeline;
  const system = new System({ report: false });
  onTestFinished(() => system.stop());
  const host = await system.start(pipelineHost({ store: memory(), pipelines: [pipeline] }));
  const run = await host.start(pipeline as never);
  expect(await run.completed()).toMatchObject({ inputs: 3, done: 4, dead: 1 });
  expect(shown).toEqual([[{ order: 1, sku: "a", n: 2, state: "open" }]]);
});
