// Programs that are killed with SIGKILL at the answer of an operation, on PostgreSQL: the next program finds its effect.

import { afterAll, beforeAll, describe, test } from "vitest";
import { noPostgres, type PostgresServer, startPostgres } from "../../support/postgres.js";
import { proving } from "../../support/proof.js";
import { DRILLS } from "./all.js";
import { answersKilled } from "./killed.js";

/** Programs at a time: most of the time of each goes by while it waits for the lease of the one that was killed. */
const AT_ONCE = 4;
/** Those who look keep their connections until the end. */
const CONNECTIONS = { max_connections: "1000" };

describe.skipIf(!proving || noPostgres !== undefined)("on PostgreSQL", () => {
  const killed = answersKilled();
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres({ settings: CONNECTIONS });
  });
  afterAll(() => server.stop());

  const waves = Array.from({ length: Math.ceil(DRILLS.length / AT_ONCE) }, (_, i) =>
    DRILLS.slice(i * AT_ONCE, (i + 1) * AT_ONCE),
  );
  const titled = waves.map((wave, i) => [wave.map(([name]) => name).join(", "), wave, i] as const);
  test.each(titled)("%s: durable when it is answered [J580]", async (_names, wave, i) => {
    const { url } = server;
    await Promise.all(
      wave.map(([name, drill], j) =>
        killed(name, drill, { type: "postgres", url, schema: `answers_${i * AT_ONCE + j}` }),
      ),
    );
  });
});
