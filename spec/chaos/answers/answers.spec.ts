// Programs that are killed with SIGKILL at the answer of an operation, on SQLite: the next program finds its effect.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ChildProgram, childProgram } from "../../support/child-program.js";
import { proving, sized } from "../../support/proof.js";
import { FOUND, OPERATIONS } from "./operations.js";

let program: ChildProgram;
beforeAll(async () => {
  program = await childProgram(new URL("child.ts", import.meta.url));
});
afterAll(() => program.remove());

/** The one that was answered too early once; `npm run prove` asks all. */
const asked = proving ? OPERATIONS : (["execution cancel"] as const);

test.each(asked)("%s is durable when it is answered [J289]", async (operation) => {
  for (let round = sized(1, 0.001); round > 0; round--) {
    const folder = mkdtempSync(join(tmpdir(), "signalbox-answers-"));
    try {
      expect((await program.start(folder, operation).ended).signal).toBe("SIGKILL");
      const { stdout, stderr } = await program.start(folder).ended;
      expect(stderr).toBe("");
      expect(JSON.parse(stdout)).toMatchObject(FOUND[operation]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
});
