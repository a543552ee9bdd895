// A topology as a graph of cards: rates, capacity and latency, and its bottleneck. Pure.

import type { GraphComponent, TopologyGraph } from "../../../admin/system/graph-operations.js";
import { type Card, type CardGraph, cardLine, graphOf, rate } from "./card-graph.js";
import { countText, numberText, plural } from "./format.js";

/** From here on a bolt needs more executors soon; see docs/guide on capacity. */
const WARN_CAPACITY = 0.7;
const BAD_CAPACITY = 0.9;

/** Ackers have no subscriptions: they are in the table only. */
export function cardsOfTopology({ components, edges, bottleneck }: TopologyGraph): CardGraph {
  const drawn = edges.map((edge) => ({
    ...edge,
    title: `${edge.from} to ${edge.to}: stream ${edge.stream}, ${edge.grouping}`,
    id: `${edge.from}|${edge.stream}|${edge.to}|${edge.grouping}`,
  }));
  const shown = components.filter(({ kind }) => kind !== "acker");
  return graphOf(
    shown.map((one) => componentCard(one, bottleneck)),
    drawn,
  );
}

function componentCard(component: GraphComponent, bottleneck: TopologyGraph["bottleneck"]): Card {
  const { name, kind, tasks, waiting, pending, executedPerS, emittedPerS, capacity, executeMs, completeMs } =
    component;
  const isSpout = kind === "spout";
  return {
    id: name,
    title: name,
    kind: `${kind}, ${plural(tasks, "task")}`,
    lines: isSpout
      ? [
          cardLine(rate(emittedPerS), `${countText(pending)} pending`),
          cardLine(completeMs === undefined ? undefined : `${numberText(completeMs, "ms")} complete`),
        ]
      : [
          cardLine(rate(executedPerS), `${countText(waiting)} waiting`),
          cardLine(
            capacity === undefined ? undefined : `capacity ${numberText(capacity, "percent")}`,
            executeMs === undefined ? undefined : numberText(executeMs, "ms"),
          ),
        ],
    ...componentLook(component, bottleneck),
  };
}

function componentLook(
  { name, capacity = 0, errors }: GraphComponent,
  bottleneck: TopologyGraph["bottleneck"],
): Pick<Card, "tone" | "why"> {
  if (bottleneck?.component === name) return { tone: "bad", why: `bottleneck: ${bottleneck.why}` };
  if (capacity >= WARN_CAPACITY)
    return {
      tone: capacity >= BAD_CAPACITY ? "bad" : "warn",
      why: `its busiest task works for ${numberText(capacity, "percent")} of the time`,
    };
  if (errors > 0) return { tone: "warn", why: plural(errors, "error") };
  return { tone: "calm", why: undefined };
}
