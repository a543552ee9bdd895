// Which message is blamed when three hosts share a server, with and without a broker: with default options, and with adapters that fail at first.

import { setTimeout as pause } from "node:timers/promises";
import { System } from "signalbox";
import { openStore, postgres } from "signalbox/store";
import { describe, expect, it } from "vitest";
import { PIPELINE_SCHEMA } from "../../../lib/pipeline/ledger/tables.js";
import { Random } from "../../../lib/testing/kit/random.js";
import { noNats, startNats } from "../../support/nats.js";
import { noPostgres, startPostgres } from "../../support/postgres.js";
import { graded, proving } from "../../support/proof.js";
import { GOOD, POISON_KINDS, type PoisonKind } from "../poison/deeds.js";
import { poisonProgram } from "../poison/program.js";
import { SupervisedHosts } from "../poison/supervised.js";
import { type Left, left } from "./left.js";

const program = poisonProgram(new URL("poison-child.ts", import.meta.url));

const SEED = 7;
const HOSTS = 3;
const LEASE_MS = 2_000;
/** Over all hosts. Without a last word it takes a life of each that is not watched, and three that are; one host may be faster than the news. */
const MOST_DEATHS = 8;
const LOOK_MS = 200;
const MOST_LOOKS = 600;
/** A kill comes at this time after the one before, at the latest. */
const MOST_KILL_MS = 1_000;

/** Three hosts, and what is in their store again and again until `isDone`. */
async function hosted(
  kind: string,
  isBrokered: boolean,
  isDone: (now: Left, hosts: SupervisedHosts) => boolean | Promise<boolean>,
): Promise<SupervisedHosts> {
  await using server = await startPostgres();
  await using nats = isBrokered ? await startNats() : undefined;
  const place = JSON.stringify({ type: "postgres", url: server.url });
  const broker = nats === undefined ? [] : [nats.address];
  await using system = new System({ report: false });
  const store = await openStore(system, postgres(server.url), [PIPELINE_SCHEMA]);
  const hosts = new SupervisedHosts(HOSTS, (host) =>
    program.start(place, kind, `h${host}`, String(LEASE_MS), ...broker),
  );
  try {
    for (let looks = 0; looks < MOST_LOOKS && !(await isDone(await left(store), hosts)); looks++)
      await pause(LOOK_MS);
  } finally {
    await hosts.stop();
    await store.close();
  }
  return hosts;
}

const kinds = graded<readonly PoisonKind[]>({ quick: ["stack"], short: ["stack"], full: POISON_KINDS });
const places = [
  ["on PostgreSQL", false],
  ["over JetStream", true],
] as const;

describe.each(places)("%s", (_, isBrokered) => {
  const canRun = proving && noPostgres === undefined && (!isBrokered || noNats === undefined);

  it.runIf(canRun).each(kinds)(
    "the message that ends programs is in quarantine after eight deaths of programs at most, no other one is, and all others are done: %s [Y401]",
    async (kind) => {
      const quarantined = new Set<unknown>();
      const dead = new Set<unknown>();
      let deaths: number | undefined;
      let done = 0;
      await hosted(kind, isBrokered, (now, hosts) => {
        for (const body of now.quarantined) quarantined.add(body);
        for (const body of now.dead) dead.add(body);
        if (quarantined.size > 0) deaths ??= hosts.deaths;
        done = now.execution?.done ?? 0;
        return quarantined.size > 0 && done >= GOOD;
      });
      expect({ quarantined: [...quarantined], dead: [...dead], done }).toEqual({
        quarantined: [JSON.stringify(kind)],
        dead: [],
        done: GOOD,
      });
      expect(deaths).toBeLessThanOrEqual(MOST_DEATHS);
    },
  );

  it.runIf(canRun)(
    "messages of programs that are killed from outside are never blamed, and none is a dead letter [Y402]",
    async () => {
      const random = new Random(SEED);
      let kills = graded({ quick: 0, short: 6, full: 50 });
      let done = 0;
      const blamed: unknown[] = [];
      await hosted("none", isBrokered, async (now, hosts) => {
        blamed.push(...now.quarantined, ...now.dead);
        done = now.execution?.done ?? 0;
        if (kills > 0) {
          await pause(random.unit() * MOST_KILL_MS);
          hosts.kill(random.below(HOSTS));
          kills--;
          return false;
        }
        return done === GOOD;
      });
      expect({ blamed, done }).toEqual({ blamed: [], done: GOOD });
    },
  );
});
