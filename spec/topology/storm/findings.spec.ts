// What Storm has no form for.

import { leastLoaded } from "signalbox";
import { fluxDefinition, StormExportError, stormFindings } from "signalbox/storm";
import { bolt, field, grouping, spoutFrom, topology } from "signalbox/topology";
import { expect, it } from "vitest";

const lines = spoutFrom([{ text: "to be" }], { fields: { text: field.text } });
const print = bolt({ input: { text: field.text }, execute: () => undefined });

it("a grouping that is a function is a finding, and blocks the export [N1441]", () => {
  const printed = topology("printed")
    .spout("lines", lines)
    .bolt("a", print, { from: { "lines.items": (_tuple, tasks) => tasks[0] } })
    .bolt("b", print, { from: { "lines.items": leastLoaded() } })
    .bolt("c", print, { from: { "lines.items": grouping.shuffle() } })
    .build();
  expect(
    stormFindings(printed).map(({ effect, code, component, place }) => [effect, code, component, place]),
  ).toEqual([
    ["blocks", "custom-grouping", "a", "a <- lines.items"],
    ["blocks", "custom-grouping", "b", "b <- lines.items"],
  ]);
  expect(() => fluxDefinition(printed)).toThrow(StormExportError);
  expect(() => fluxDefinition(printed)).toThrow(/a <- lines\.items: .* Instead: .*grouping\.fields/);
});
