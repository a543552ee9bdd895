// Three processes on one PostgreSQL, one of which is killed.

import { System } from "signalbox";
import { postgres } from "signalbox/store";
import { expect, it } from "vitest";
import { childProgram } from "../../support/child-program.js";
import { describePostgres, startPostgres } from "../../support/postgres.js";
import { audited, reading } from "../simulated/audit.js";
import { ENDED, EXECUTION, NUMBERS, PART } from "./pipeline.js";

describePostgres("three processes that share an execution", () => {
  it("settle every message once and complete it once, though one is killed in the middle [Y19]", async () => {
    await using server = await startPostgres();
    const program = await childProgram(new URL("child.ts", import.meta.url));
    try {
      const [first, ...others] = [0, 1, 2].map(() => program.start(server.url));
      // It works on parts, and it is the one that reads the source, or one of those that do not.
      await Promise.all([first, ...others].map((child) => child?.prints(PART)));
      first?.signal("SIGKILL");
      for (const other of others) other?.signal("SIGUSR2");
      const ends = await Promise.all([first, ...others].map((child) => child?.ended));
      expect(ends.map((end) => end?.signal ?? end?.code)).toEqual(["SIGKILL", 0, 0]);
      const expected = { status: "completed", inputs: NUMBERS, done: 3 * NUMBERS, dead: 0, pending: 0 };
      const lines = ends.map((end) => end?.stdout.split("\n") ?? []);
      const told = lines.map((of) => of.filter((line) => line.startsWith(ENDED)));
      const end = ENDED + JSON.stringify(expected);
      expect(told).toEqual([[], [end], [end]]);
      // Outputs are there once by their ids. What the dead process had in work is worked on again, with the same ids and values.
      const outputs = new Map<string, string>();
      for (const line of lines.flat().filter((one) => /^part \S+ -?\d+$/.test(one))) {
        const [, id = "", value = ""] = line.split(" ");
        expect(outputs.get(id) ?? value).toBe(value);
        outputs.set(id, value);
      }
      const parts = Array.from({ length: NUMBERS }, (_, n) => [`${n}`, `${n === 0 ? 0 : -n}`]).flat();
      expect([...outputs.values()].sort()).toEqual(parts.sort());
      expect(lines.every((of) => of.some((line) => line.startsWith(PART)))).toBe(true);
      const system = new System({ report: false });
      const store = await reading(system, postgres(server.connection));
      expect(await audited(store, EXECUTION)).toMatchObject({ ...expected, unannounced: null });
      await store.close();
      await system.stop();
    } finally {
      program.remove();
    }
  });
});
