// Which export of a module is the topology.

import { bolt, field, spoutFrom, topology } from "signalbox/topology";
import { expect, test } from "vitest";
import { Misuse } from "../../../lib/cli/shell/arguments.js";
import { exportedTopology } from "../../../lib/cli/storm/exported.js";

const fields = { text: field.text };
const builderOf = (name: string) =>
  topology(name)
    .spout("lines", spoutFrom([{ text: "to be" }], { fields }))
    .bolt("print", bolt({ input: fields, execute: () => undefined }), { from: { "lines.items": () => "" } });
const [builder, words, flights] = [
  builderOf("words"),
  builderOf("words").build(),
  builderOf("flights").build(),
];
const find = (exports: object, wanted?: string) =>
  exportedTopology("topo.ts", exports as Readonly<Record<string, unknown>>, wanted);

test("is the only topology, under its first name, or the one that is named [N1464]", () => {
  expect(find({ words, other: 7 })).toEqual({ name: "words", topology: words });
  expect(find({ default: words })).toEqual({ name: "default", topology: words });
  expect(find({ words, flights }, "flights")).toEqual({ name: "flights", topology: flights });
});

test("a topology that has two names is one", () => {
  expect(find({ default: words, words }).topology).toBe(words);
});

test.each([
  [
    { words, flights },
    undefined,
    "exports several topologies; which one? Pass --export words or --export flights",
  ],
  [
    { builder },
    undefined,
    "exports builder, a topology that is not built: end its declaration with .build()",
  ],
  [{ builder, words }, "builder", "exports builder, a topology that is not built"],
  [{ a: 1, b: null }, undefined, "exports no topology, only: a, b"],
  [{}, undefined, "exports no topology, only: nothing"],
  [{ words }, "toString", "exports no topology toString, only: words"],
  [{ words, a: 1 }, "a", "exports no topology a, only: words, a"],
])("%# says what is exported instead [N1464]", (exports, wanted, text) => {
  expect(() => find(exports, wanted)).toThrow(Misuse);
  expect(() => find(exports, wanted)).toThrow(`topo.ts ${text}`);
});
