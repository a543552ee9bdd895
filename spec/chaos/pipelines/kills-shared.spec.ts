// Hosts of pipelines that share a real PostgreSQL server, and a real broker, under SIGKILL.

import { afterAll, beforeAll, expect, it } from "vitest";
import { type ChildProgram, childProgram } from "../../support/child-program.js";
import { describeNats } from "../../support/nats.js";
import { describePostgres, noPostgres } from "../../support/postgres.js";
import { proving, sized } from "../../support/proof.js";
import { killOnJetstream, killOnPostgres } from "./runs.js";

let program: ChildProgram;
beforeAll(async () => {
  program = await childProgram(new URL("child.ts", import.meta.url));
});
afterAll(() => program.remove());

const SEED = 7;

describePostgres("three hosts of a pipeline on PostgreSQL", () => {
  it.runIf(proving)(
    "account for every input once, whichever of them is killed or stands still [Y119]",
    async () => {
      const report = await killOnPostgres({ kills: sized(25, 0.005), seed: SEED, child: program.args });
      expect(report.findings).toEqual({ lost: [], duplicated: [], completions: 1, wrong: [] });
    },
  );
});

describeNats("three hosts of a pipeline over JetStream, with PostgreSQL", () => {
  it.runIf(proving && noPostgres === undefined)(
    "account for every input once, whichever of them is killed or stands still [Y119]",
    async () => {
      const report = await killOnJetstream({ kills: sized(15, 0.003), seed: SEED, child: program.args });
      expect(report.findings).toEqual({ lost: [], duplicated: [], completions: 1, wrong: [] });
    },
  );
});
