// Who is blamed when one of three hosts on PostgreSQL dies: with the default options of the hospital.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Random } from "../../../lib/testing/kit/random.js";
import { type Child, type ChildProgram, childProgram } from "../../support/child-program.js";
import { describePostgres, startPostgres } from "../../support/postgres.js";
import { graded, proving } from "../../support/proof.js";
import { READY } from "../poison/deeds.js";
import { patientsIn } from "./patients.js";

let program: ChildProgram;
const folder = mkdtempSync(join(tmpdir(), "signalbox-poison-"));
beforeAll(async () => {
  program = await childProgram(new URL("poison-child.ts", import.meta.url));
});
afterAll(() => {
  program.remove();
  rmSync(folder, { recursive: true });
});

const SEED = 7;
const HOSTS = 3;
const KILLS = graded({ quick: 0, short: 5, full: 12 });
/** A host that is killed and starts again waits for its claim to lapse. */
const LEASE_MS = 2_000;

describePostgres("flows of three hosts that are killed from outside", () => {
  it.runIf(proving)("are never in hospital, whichever host is killed, and when [N202]", async () => {
    await using server = await startPostgres();
    const place = JSON.stringify({ type: "postgres", url: server.url });
    const start = (host: number): Child => program.start(place, "none", `h${host}`, String(LEASE_MS));
    const random = new Random(SEED);
    const hosts = Array.from({ length: HOSTS }, (_, host) => start(host));
    let out = "";
    for (let kill = 0; kill < KILLS; kill++) {
      const at = random.below(HOSTS);
      const host = hosts[at] as Child;
      // On a busy machine a host may lose its claim, and end.
      await host.prints(READY).catch(() => host.ended);
      await pause(random.unit() * LEASE_MS);
      host.signal("SIGKILL");
      out += (await host.ended).stdout;
      await pause(LEASE_MS);
      hosts[at] = start(at);
    }
    for (const host of hosts) {
      // On a busy machine a host may lose its claim, and end.
      await host.prints(READY).catch(() => host.ended);
      host.signal("SIGKILL");
      out += (await host.ended).stdout;
    }
    expect(out.split(READY).length).toBeGreaterThan(KILLS);
    expect(patientsIn(out)).toEqual([]);
  });
});
