// As outcomes.spec.ts, for a process per key: who asks, who gives up and what becomes of the child meet in an order that matters.

import { type Callbacks, dynamicSupervisor, Registry, stop } from "signalbox";
import type { Simulation } from "signalbox/testing";
import { describe, test } from "vitest";
import { expectAllOutcomes } from "../support/outcomes.js";

/** A supervisor whose child of the key stays until it gets a message. `started` counts the starts. */
async function keyed(sim: Simulation, seen: Record<string, unknown>) {
  const system = sim.system();
  const keys = new Registry<string, undefined, string>(system);
  let started = 0;
  const start: Callbacks<string> = {
    init: (ctx) => {
      ctx.trapExit(true);
      seen.started = ++started;
    },
    handle: () => stop(),
    parentExit: () => undefined,
  };
  const all = await system.start(
    dynamicSupervisor({
      report: false,
      child: {
        id: "a",
        start,
        restart: "temporary",
        shutdown: Number.POSITIVE_INFINITY,
        name: () => keys.claim("a"),
      },
    }),
  );
  return { system, keys, all };
}

describe("a search with reduction sees the outcomes of one without:", () => {
  test("two callers of a key, and the end of its process", () =>
    expectAllOutcomes(async (sim, seen) => {
      const { system, keys, all } = await keyed(sim, seen);
      await all.startOrGet();
      system.send(keys.via("a"), "end");
      system.spawn(async () => void (await all.startOrGet()));
    }));

  test("a caller that waits for the end of a process gives up [V38]", () =>
    expectAllOutcomes(
      async (sim, seen) => {
        const { system, keys, all } = await keyed(sim, seen);
        void all.terminateChild(await all.startOrGet());
        const caller = new AbortController();
        all.startOrGet([], { signal: caller.signal }).catch(() => undefined);
        await sim.quiet();
        system.spawn(() => caller.abort());
        system.spawn(() => system.send(keys.via("a"), "end"));
      },
      ["started: 1", "started: 2"],
    ));
});
