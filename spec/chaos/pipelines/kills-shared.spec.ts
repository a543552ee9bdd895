// Hosts of pipelines that share a real PostgreSQL server, and a real broker, under SIGKILL.

import { afterAll, beforeAll, expect, it } from "vitest";
import { type ChildProgram, childProgram } from "../../support/child-program.js";
import { describeNats } from "../../support/nats.js";
import { describePostgres, noPostgres } from "../../support/postgres.js";
import { graded, proving, sized } from "../../support/proof.js";
import { killOnJetstream, killOnPostgres } from "./runs.js";

let program: ChildProgram;
beforeAll(async () => {
  program = await childProgram(new URL("child.ts", import.meta.url));
});
afterAll(() => program.remove());

const SEED = 7;

/** A third of the kills comes with a stop, a third with a restart of a server. */
const strikes = (kills: number) => ({
  ...{ kills, stops: Math.ceil(kills / 3), restarts: Math.ceil(kills / 3) },
  ...{ hosts: 3, leaseMs: 500, seed: SEED, child: program.args },
});

describePostgres("three hosts of a pipeline on PostgreSQL", () => {
  it.runIf(proving)(
    "account for every input once, whichever of them is killed or stands still [Y119]",
    async () => {
      const report = await killOnPostgres(strikes(graded({ quick: 1, short: 10, full: sized(25, 0.005) })));
      expect(report.findings).toEqual({ lost: [], duplicated: [], completions: 1, wrong: [] });
    },
  );
});

describeNats("three hosts of a pipeline over JetStream, with PostgreSQL", () => {
  it.runIf(proving && noPostgres === undefined)(
    "account for every input once, whichever of them is killed or stands still [Y119]",
    async () => {
      const report = await killOnJetstream(strikes(graded({ quick: 1, short: 6, full: sized(15, 0.003) })));
      expect(report.findings).toEqual({ lost: [], duplicated: [], completions: 1, wrong: [] });
    },
  );
});
