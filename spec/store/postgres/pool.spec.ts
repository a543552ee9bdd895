// What a wait for a connection says when it ends without one.

import { expect, it } from "vitest";
import { production } from "../../../lib/process/production.js";
import type { StoreContext } from "../../../lib/store/index.js";
import {
  type Connection,
  ConnectionLostError,
  type Connector,
} from "../../../lib/store/postgres/connection.js";
import { Pool } from "../../../lib/store/postgres/pool.js";
import { POSTGRES_DEFAULTS } from "../../../lib/store/postgres/settings.js";

/** A clock that a test moves on. */
function clock(): StoreContext & { pass(ms: number): Promise<void> } {
  let now = 1_000;
  const timers: { at: number; fn: () => void }[] = [];
  return {
    environment: { ...production, now: () => now },
    after: (ms, fn) => {
      const timer = { at: now + ms, fn };
      timers.push(timer);
      return () => void (timers.includes(timer) && timers.splice(timers.indexOf(timer), 1));
    },
    warn: () => undefined,
    pass: async (ms) => {
      for (const end = now + ms; ; ) {
        await new Promise(setImmediate);
        const next = timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
        now = Math.max(now, next?.at ?? end);
        if (next === undefined) return;
        timers.splice(timers.indexOf(next), 1);
        next.fn();
      }
    },
  };
}

const away: Connector = {
  label: "postgres shop",
  single: false,
  connect: async () => {
    throw new ConnectionLostError(new Error("refused"));
  },
};

it("an operation that finds no server says how long it has waited itself [K341]", async () => {
  const time = clock();
  const pool = new Pool(away, time, POSTGRES_DEFAULTS, 1);
  const short = pool.acquire(4_000);
  await time.pass(2_000);
  const late = pool.acquire(POSTGRES_DEFAULTS.unreachableMs);
  const ends = Promise.all([
    expect(short).rejects.toThrow(
      "postgres shop could not be reached by this operation, which waited 4000 ms",
    ),
    expect(late).rejects.toMatchObject({ waitedMs: POSTGRES_DEFAULTS.unreachableMs, known: "nothing" }),
  ]);
  await time.pass(2 * POSTGRES_DEFAULTS.unreachableMs);
  await ends;
});

it("an operation for which no connection is free does not call the server away [K341]", async () => {
  const time = clock();
  const connection = { isUsable: true } as unknown as Connection;
  const pool = new Pool({ ...away, connect: async () => connection }, time, POSTGRES_DEFAULTS, 1);
  await pool.acquire(10);
  const second = expect(pool.acquire(5_000)).rejects.toThrow(
    "had no free connection for this operation, which waited 5000 ms",
  );
  await time.pass(5_000);
  await second;
});
