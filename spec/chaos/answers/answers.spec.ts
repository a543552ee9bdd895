// Programs that are killed with SIGKILL at the answer of an operation, on SQLite: the next program finds its effect.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { proving, sized } from "../../support/proof.js";
import { DRILLS } from "./all.js";
import { answersKilled } from "./killed.js";

const killed = answersKilled();

/** The one that was answered too early once; `npm run prove` asks all. */
const asked = proving ? DRILLS : DRILLS.filter(([name]) => name === "pipeline run.cancel");

test.each(asked)("%s is durable when it is answered [J289]", async (name, drill) => {
  for (let round = sized(1, 0.000_1); round > 0; round--) {
    const folder = mkdtempSync(join(tmpdir(), "signalbox-answers-"));
    try {
      await killed(name, drill, { type: "sqlite", path: join(folder, "store.db") });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
});
