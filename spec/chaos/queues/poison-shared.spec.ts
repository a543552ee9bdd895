// Which message of a durable queue is blamed when three programs share a server, with and without a broker: with default options.

import { describe, expect, it } from "vitest";
import { deadMessages, QUEUE_SCHEMA, queued } from "../../../lib/pipeline/queues/tables.js";
import { graded } from "../../support/proof.js";
import { GOOD, POISON_KINDS, type PoisonKind } from "../poison/deeds.js";
import { canHost, hosted, MOST_DEATHS, PLACES } from "../poison/hosted.js";
import { poisonProgram } from "../poison/program.js";

const program = poisonProgram(new URL("poison-child.ts", import.meta.url));

const kinds = graded<readonly PoisonKind[]>({ quick: ["abort"], short: ["abort"], full: POISON_KINDS });

describe.each(PLACES)("%s", (_, isBrokered) => {
  const canRun = canHost(isBrokered);

  it.runIf(canRun).each(kinds)(
    "the message of a durable queue that ends programs is in quarantine after eight deaths of programs at most, no other one is, and all others are done: %s [Y603]",
    async (kind) => {
      const blamed = new Set<string>();
      const dead = new Set<string>();
      let deaths: number | undefined;
      let done = 0;
      await hosted({ program, schema: QUEUE_SCHEMA, kind, isBrokered }, async (store, hosts) => {
        const rows = await store.scan(queued, {});
        for (const { id } of await store.scan(deadMessages, {})) dead.add(id);
        for (const { queue, id, history } of rows)
          if (queue === "work" && history?.includes('"evidence"')) blamed.add(id);
        done = rows.filter(({ queue }) => queue === "results").length;
        if (blamed.size > 0) deaths ??= hosts.deaths;
        return blamed.size > 0 && done >= GOOD;
      });
      expect({ blamed: [...blamed], dead: [...dead], done }).toEqual({
        blamed: [kind],
        dead: [],
        done: GOOD,
      });
      expect(deaths).toBeLessThanOrEqual(MOST_DEATHS);
    },
  );
});
