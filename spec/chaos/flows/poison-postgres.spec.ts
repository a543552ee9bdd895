// Who is blamed when one of three hosts on PostgreSQL dies: with the default options of the hospital.

import { setTimeout as pause } from "node:timers/promises";
import { expect, it } from "vitest";
import { Random } from "../../../lib/testing/kit/random.js";
import type { Child } from "../../support/child-program.js";
import { describePostgres, startPostgres } from "../../support/postgres.js";
import { graded, proving } from "../../support/proof.js";
import { HURT, POISON, POISON_KINDS, type PoisonKind, READY } from "../poison/deeds.js";
import { poisonProgram } from "../poison/program.js";
import { SupervisedHosts } from "../poison/supervised.js";
import { patientsIn } from "./patients.js";

const program = poisonProgram(new URL("poison-child.ts", import.meta.url));

const SEED = 7;
const HOSTS = 3;
const KILLS = graded({ quick: 0, short: 5, full: 12 });
/** A host that is killed and starts again waits for its claim to lapse. */
const LEASE_MS = 2_000;
/** Over all hosts. Without a last word it takes a life that is not watched and five that are; one host may be faster than the news of another. */
const MOST_DEATHS = 8;
const PATIENCE_MS = 120_000;
const kinds = graded<readonly PoisonKind[]>({ quick: ["stack"], short: ["stack"], full: POISON_KINDS });

/** Three hosts on a server. */
const placeOf = ({ url }: { readonly url: string }): string => JSON.stringify({ type: "postgres", url });

describePostgres("the flow that ends the programs of three hosts", () => {
  it.runIf(proving).each(kinds)(
    "is in hospital after eight deaths of programs at most, and no other one is: %s [N400]",
    async (kind) => {
      await using server = await startPostgres();
      const start = (host: number): Child =>
        program.start(placeOf(server), kind, `h${host}`, String(LEASE_MS));
      const hosts = new SupervisedHosts(HOSTS, start);
      try {
        await hosts.until((printed) => printed.includes(HURT), PATIENCE_MS);
      } finally {
        await hosts.stop();
      }
      expect(patientsIn(hosts.printed())).toEqual([POISON]);
      expect(hosts.deaths).toBeLessThanOrEqual(MOST_DEATHS);
    },
  );
});

describePostgres("flows of three hosts that are killed from outside", () => {
  it.runIf(proving)("are never in hospital, whichever host is killed, and when [N202]", async () => {
    await using server = await startPostgres();
    const start = (host: number): Child =>
      program.start(placeOf(server), "none", `h${host}`, String(LEASE_MS));
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
