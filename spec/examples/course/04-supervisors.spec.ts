// The answer to page 04 of the course: a worker comes back alone, and a supervisor with its children.

import { System } from "signalbox";
import { expect, it } from "vitest";
import { type Name, replaced } from "../../../examples/course/04-supervisors.js";

it.each<[Name, Name[]]>([
  ["till", ["till"]],
  ["kettle", ["kettle"]],
  ["kitchen", ["kitchen", "kettle", "oven"]],
])("after the end of %s, the new ones are %j", async (victim, names) => {
  await using system = new System({ report: false });
  expect(await replaced(system, victim)).toEqual(names);
  for (const name of names) expect(system.whereis(name)).toBeDefined();
});
