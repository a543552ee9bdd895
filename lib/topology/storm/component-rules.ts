// Rules about single components: where they run, and what they were made of.

import type { ComponentPlan } from "../definition/blueprint.js";
import { madeBy } from "../definition/made-by.js";
import type { StormFinding } from "./finding.js";
import type { StormRule } from "./rule.js";

/** Rules that look at one component after the other. */
export const componentRules: readonly StormRule[] = [ofEach(placed)];

function ofEach(rule: (plan: ComponentPlan) => readonly StormFinding[]): StormRule {
  return ({ components }) => components.flatMap(rule);
}

function placed({ name, definition }: ComponentPlan): readonly StormFinding[] {
  const made = madeBy(definition);
  if (made?.by !== "placed") return [];
  return [
    {
      ...{ effect: "blocks", code: "placed-bolt", component: name, place: name },
      text: `its option \`on\` gives its work to the program ${made.program} in a thread or on a node. Storm places tasks by itself.`,
      instead:
        "leave out `on`, and give the bolt as many tasks: under Storm each task is a program of its own.",
    },
  ];
}
