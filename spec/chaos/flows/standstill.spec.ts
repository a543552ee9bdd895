// A host that hangs does not only fail its test: the error says what stood still.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type ChildProgram, childProgram } from "../../support/child-program.js";
import { describePostgres, type PostgresServer, startPostgres } from "../../support/postgres.js";
import { until } from "../../support/until.js";
import { ANSWERED, ASK } from "../under-way.js";
import { strikeHosts } from "./hosts.js";
import { standstill } from "./standstill.js";

let program: ChildProgram;
let server: PostgresServer;
beforeAll(async () => {
  program = await childProgram(new URL("child.ts", import.meta.url));
});
afterAll(() => program.remove());

const HOUR_MS = 3_600_000;

describePostgres("a host that stands still", () => {
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  it("says what is under way in it, and its server has its claim, flows and connections", async () => {
    const folder = mkdtempSync(join(tmpdir(), "signalbox-standstill-"));
    const file = join(folder, "plan.json");
    const sleep = { type: "sleep", name: "long", ms: HOUR_MS };
    const store = { type: "postgres", url: server.url };
    const flows = [{ id: "sleeper", program: sleep }];
    writeFileSync(file, JSON.stringify({ store, record: join(folder, "record"), flows, host: "host-7" }));
    const child = program.start(file);
    await child.prints("up");
    // It is asked again, after each answer, until it has come so far.
    const isAsleep = (): boolean => child.printed().includes("the result of sleeper for ");
    for (let asked = 0; !isAsleep(); ) {
      child.signal(ASK);
      asked++;
      await until(() => child.printed().split(ANSWERED).length > asked);
    }
    expect(child.printed()).toMatch(/\d+ processes:\n {2}supervisor \w+, \d+ in its mailbox\n {2}flows /);
    expect(child.printed()).toMatch(/\d+ PipeWrap/);
    const known = await standstill(server, ["sleeper"]);
    expect(known).toMatch(/claims:\n {2}\{"name":"flows\//);
    expect(known).toMatch(/flows:\n {2}\{"number":"\d+","id":"sleeper","status":"/);
    expect(known).toMatch(/connections:\n {2}\{"pid":\d+,"application_name":"signalbox"/);
    child.signal("SIGKILL");
    await child.ended;
    rmSync(folder, { recursive: true });
  });

  it("fails its run with an error that says all that", async () => {
    const stuck = ["-e", "setInterval(() => undefined, 1000)", "--"];
    const run = strikeHosts({
      ...{ kills: 0, stops: 0, cuts: 0, restarts: 1, flowsPerStrike: 1, hosts: 1, accounts: 0, busy: 0 },
      ...{ leaseMs: undefined, seed: 1, server, child: stuck, hangMs: 1, bookings: async () => new Map() },
    });
    await expect(run).rejects.toThrow(
      /host-0 had not ended after 1 ms.*No end is recorded of: f0\n.*claims:/s,
    );
  });

  it("is told of also when its server cannot be asked", async () => {
    const away = { connection: { ...server.connection, port: 1 } } as PostgresServer;
    expect(await standstill(away, [])).toMatch(/^claims:\n {2}not known: /);
  });
});
