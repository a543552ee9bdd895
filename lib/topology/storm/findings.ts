// What Storm has no form for, and what behaves differently there. The rules ask the blueprint only, which is plain data: it may be that of
// another copy of this library.

import type { Blueprint } from "../definition/blueprint.js";
import type { Topology } from "../topology.js";
import { componentRules } from "./component-rules.js";
import type { StormFinding } from "./finding.js";
import { optionRules } from "./option-rules.js";
import { checkTopology } from "./options.js";
import { shellRules } from "./shell-rules.js";
import { streamRules } from "./stream-rules.js";

/**
 * Finds everything in a topology that Storm has no form for, or does in another way. The findings that block an export come first;
 * otherwise they have the order of the components.
 *
 * @throws OptionError when the argument is no topology
 * @example
 * const lines = spoutFrom([{ text: "to be" }], { fields: { text: field.text } });
 * const print = bolt({ input: { text: field.text }, execute: ({ values }) => console.log(values.text) });
 * const printed = topology("printed").spout("lines", lines).bolt("print", print, { from: { "lines.items": () => "" } }).build();
 * console.log(stormFindings(printed).map(({ code }) => code)); // ["custom-grouping"]
 */
export function stormFindings(topology: Topology): readonly StormFinding[] {
  return findingsOf(checkTopology(topology));
}

const RULES = [...componentRules, ...shellRules, ...streamRules, ...optionRules];

/** The findings of a checked topology. */
export function findingsOf(blueprint: Blueprint): readonly StormFinding[] {
  const found = RULES.flatMap((rule) => rule(blueprint));
  return [
    ...found.filter(({ effect }) => effect === "blocks"),
    ...found.filter(({ effect }) => effect === "differs"),
  ];
}
