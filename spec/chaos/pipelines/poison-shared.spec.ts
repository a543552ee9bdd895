// Which message is blamed when three hosts share a server, with and without a broker: with default options, and with adapters that fail at first.

import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { PIPELINE_SCHEMA } from "../../../lib/pipeline/ledger/tables.js";
import { Random } from "../../../lib/testing/kit/random.js";
import { graded } from "../../support/proof.js";
import { GOOD, POISON_KINDS, type PoisonKind } from "../poison/deeds.js";
import { canHost, HOSTS, hosted, MOST_DEATHS, PLACES } from "../poison/hosted.js";
import { poisonProgram } from "../poison/program.js";
import { left } from "./left.js";

const program = poisonProgram(new URL("poison-child.ts", import.meta.url));

const SEED = 7;
/** A kill comes at this time after the one before, at the latest. */
const MOST_KILL_MS = 1_000;

const kinds = graded<readonly PoisonKind[]>({ quick: ["stack"], short: ["stack"], full: POISON_KINDS });

describe.each(PLACES)("%s", (_, isBrokered) => {
  const canRun = canHost(isBrokered);

  it.runIf(canRun).each(kinds)(
    "the message that ends programs is in quarantine after eight deaths of programs at most, no other one is, and all others are done: %s [Y401]",
    async (kind) => {
      const quarantined = new Set<unknown>();
      const dead = new Set<unknown>();
      let deaths: number | undefined;
      let done = 0;
      await hosted({ program, schema: PIPELINE_SCHEMA, kind, isBrokered }, async (store, hosts) => {
        const now = await left(store);
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
      const places = { program, schema: PIPELINE_SCHEMA, isBrokered };
      await hosted({ ...places, kind: "none" }, async (store, hosts) => {
        const now = await left(store);
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
