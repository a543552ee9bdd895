// Whoever has the answer of an operation may lose the machine at that instant: the next host finds its effect.

import { memory } from "signalbox/store";
import { test } from "vitest";
import { drilled } from "../../support/drilled.js";
import { LossySource } from "../../support/lossy-store.js";
import { FLOW_DRILLS } from "./answer-drills.js";

test.each(FLOW_DRILLS)("%s is durable when it is answered [J288]", async (_name, drill) => {
  await drilled(drill, new LossySource(memory()));
});
