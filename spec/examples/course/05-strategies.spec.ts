// The answer to page 05 of the course: a failure takes along those that hold something of the failed part, and no others.

import { System } from "signalbox";
import { expect, it } from "vitest";
import { type Name, replaced, startsOf } from "../../../examples/course/05-strategies.js";

it.each<[Name, Name[]]>([
  ["till", ["till"]],
  ["recipes", ["recipes", "kitchen"]],
  ["kitchen", ["kitchen"]],
  ["orders", ["orders"]],
])("after the end of %s, the new ones are %j", async (victim, names) => {
  await using system = new System({ report: false });
  expect(await replaced(system, victim)).toEqual(names);
});

it.each([
  ["kill", 2],
  ["shutdown", 1],
] as const)("starts an order that ends with %s %i times", async (end, starts) => {
  await using system = new System({ report: false });
  expect(await startsOf(system, end)).toBe(starts);
});
