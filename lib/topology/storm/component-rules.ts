// Rules about components of ours: where they run, and what they share.

import type { ComponentPlan } from "../definition/blueprint.js";
import type { BoltDefinition } from "../definition/component.js";
import { madeBy } from "../definition/made-by.js";
import type { StormFinding } from "./finding.js";
import { about, ofEach, type StormRule } from "./rule.js";

/** Rules about single components. */
export const componentRules: readonly StormRule[] = [
  ofEach(placed),
  ofEach(shared),
  ofEach(held),
  ofEach(flushes),
];

function placed({ name, definition }: ComponentPlan): readonly StormFinding[] {
  const made = madeBy(definition);
  if (made?.by !== "placed") return [];
  return [
    about("blocks", "placed-bolt", name, {
      text: `its option \`on\` gives its work to the program ${made.program} in a thread or on a node, but Storm places tasks by itself.`,
      instead:
        "leave out `on`, and give the bolt as many tasks: under Storm each task is a program of its own.",
    }),
  ];
}

/** The iterator of `spoutFrom` belongs to one program. */
function shared({ name, definition, tasks }: ComponentPlan): readonly StormFinding[] {
  if (madeBy(definition)?.by !== "iterable") return [];
  if (tasks > 1)
    return [
      about("blocks", "shared-iterable", name, {
        text: `its ${tasks} tasks share one iterator here. Under Storm each task is a program of its own, and would read the whole source.`,
        instead:
          "give it one task; or write a spout() whose tasks each take their share of the source, by `index` of the context.",
      }),
    ];
  return [
    about("differs", "iterable-again", name, {
      text: "when Storm starts its worker again, it reads its source from the beginning, and emits items again that were acked before.",
      instead:
        "write a spout() that keeps in a file or a database how far it has come, unless every item may be worked on more than once.",
    }),
  ];
}

/** Batches and windows hold tuples over the end of their program. */
function held({ name, definition }: ComponentPlan): readonly StormFinding[] {
  const made = madeBy(definition);
  if (made?.by !== "batch" && made?.by !== "window") return [];
  if (made.by === "window" && made.hasEventTime)
    return [
      about("differs", "event-window", name, {
        text:
          "Storm emits a failed tuple again as a new one. What has the values of an earlier tuple counts as its retry: its window is handed " +
          "over again. A tuple may be in a window twice, after a kill a window may have only what came again, and nothing is handed over when " +
          "the topology stops.",
        instead:
          "let a result say how many tuples it was made of, and keep the fullest of each window; group by fields, so that a retry comes to " +
          "the same task.",
      }),
    ];
  return [
    about("differs", made.by, name, {
      text: "what it holds is not handed over when the topology stops or its worker ends: these tuples expire, come again, and are in a later one.",
      instead:
        "deactivate the topology and wait for the message timeout before you kill it, unless lost or repeated work does no harm.",
    }),
  ];
}

function flushes({ name, kind, definition }: ComponentPlan): readonly StormFinding[] {
  const options = kind === "bolt" ? (definition as BoltDefinition).options : undefined;
  if (options?.flush === undefined || options.collects === true) return [];
  return [
    about("differs", "flush", name, {
      text: "Storm does not tell its components that a topology drains, so its `flush` is never called.",
      instead: "hand over what it holds in `tick`, too, with a `tickMs` in its configuration.",
    }),
  ];
}
