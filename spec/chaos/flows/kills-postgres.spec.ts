// Hosts of flows on a real PostgreSQL server under SIGKILL, and whatever else can befall them.

import { afterAll, beforeAll, expect, it } from "vitest";
import { type ChildProgram, childProgram } from "../../support/child-program.js";
import { describePostgres } from "../../support/postgres.js";
import { graded, proving, sized } from "../../support/proof.js";
import { killOnPostgres, strikePostgres } from "./runs.js";

let program: ChildProgram;
beforeAll(async () => {
  program = await childProgram(new URL("child.ts", import.meta.url));
});
afterAll(() => program.remove());

const SEED = 7;

describePostgres("flows on PostgreSQL", () => {
  it("lose nothing and repeat no step, however often their host is killed [J53]", async () => {
    const report = await killOnPostgres({
      kills: graded({ quick: 2, short: 30, full: sized(100, 0.02) }),
      seed: SEED,
      child: program.args,
    });
    expect(report.findings).toMatchObject({ lost: [], repeated: [], bookings: [], wrong: [] });
  });

  it.runIf(proving)(
    "that move money between ten accounts on three hosts, which are killed on a busy machine, all end, with exact sums and none in the hospital [J420]",
    async () => {
      const load = { hosts: 3, accounts: 10, busy: 4, seed: SEED, child: program.args };
      const report = await strikePostgres({
        kills: graded({ quick: 1, short: 3, full: 10 }),
        cuts: 0,
        ...load,
      });
      expect(report.findings).toMatchObject({ lost: [], repeated: [], bookings: [], wrong: [] });
    },
  );

  it.runIf(proving)(
    "lose nothing on two hosts that are killed, stopped and cut off while the server restarts [J57]",
    async () => {
      const strikes = { kills: 4, stops: 2, cuts: 3, restarts: 2 };
      const places = { hosts: 2, leaseMs: 500, seed: SEED, child: program.args };
      const report = await strikePostgres({ ...strikes, ...places });
      expect(report.line).toBe(
        "4 kills, 55 flows, 0 lost, 0 steps repeated, transactions exact, 2 stops, 2 server restarts, 3 cuts",
      );
    },
  );
});
