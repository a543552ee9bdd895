// All drills of answers, by the name of the operation: what a program asks before it is killed, and what the next one has to find.

import { FLOW_DRILLS } from "../../flow/operations/answer-drills.js";
import { PIPELINE_DRILLS } from "../../pipeline/operations/answer-drills.js";
import { QUEUE_DRILLS } from "../../pipeline/queues/answer-drills.js";
import type { NamedDrills } from "../../support/answer-drills.js";

const named = (part: string, drills: NamedDrills): NamedDrills =>
  drills.map(([name, drill]) => [`${part} ${name}`, drill] as const);

export const DRILLS: NamedDrills = [
  ...named("flow", FLOW_DRILLS),
  ...named("pipeline", PIPELINE_DRILLS),
  ...named("queue", QUEUE_DRILLS),
];
