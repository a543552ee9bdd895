// Whoever has the answer of a queue may lose the machine at that instant: the next program finds its effect.

import { memory } from "signalbox/store";
import { test } from "vitest";
import { drilled } from "../../support/drilled.js";
import { LossySource } from "../../support/lossy-store.js";
import { QUEUE_DRILLS } from "./answer-drills.js";

test.each(QUEUE_DRILLS)("%s is durable when it is answered [Y281]", async (_name, drill) => {
  await drilled(drill, new LossySource(memory()));
});
