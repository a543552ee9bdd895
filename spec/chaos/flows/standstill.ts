// What a PostgreSQL server knows of flows that stand still, in words: their rows, the claims of hosts, connections, and locks that are
// waited for.

import { Client } from "pg";
import type { PostgresServer } from "../../support/postgres.js";

/** What is asked, under its heading. `$1`: the ids of the flows that have no end; their children are asked for, too. */
const QUESTIONS = {
  claims: `select *, (extract(epoch from clock_timestamp()) * 1000)::float8 as now from signalbox."$claims" order by token limit 50`,
  flows: `select number, id, status, holder, epoch, due, mail, wish, waiting, slot, crashes, taken_at, parent, parent_key,
      left(hospital, 200) as hospital, created, updated, finished from signalbox.flows
    where id = any($1) or finished is null order by number limit 100`,
  connections: `select pid, application_name, state, wait_event_type, wait_event, clock_timestamp() - xact_start as in_transaction,
      clock_timestamp() - state_change as in_state, left(query, 160) as query from pg_stat_activity
    where backend_type = 'client backend' and pid <> pg_backend_pid() order by pid limit 100`,
  "waits for locks": `select pid, locktype, mode, relation::regclass, classid, objid, pg_blocking_pids(pid) as blocked_by
    from pg_locks where not granted limit 50`,
} as const;

/** How long the server may take for an answer. */
const ANSWER_MS = 5_000;
/** Most characters of all that is told. */
const MOST_TEXT = 40_000;

/** Tells what the server knows. Never throws: what cannot be asked is told as that. */
export async function standstill(server: PostgresServer, flows: readonly string[]): Promise<string> {
  const told: string[] = [];
  for (const [heading, text] of Object.entries(QUESTIONS)) {
    const lines = await rows(server, text, text.includes("$1") ? [flows] : []);
    told.push(`${heading}:`, ...lines.map((line) => `  ${line}`));
  }
  return told.join("\n").slice(0, MOST_TEXT);
}

/** Each question has a connection of its own: one that fails keeps no other from its answer. */
async function rows(server: PostgresServer, text: string, values: readonly unknown[]): Promise<string[]> {
  const client = new Client({
    ...server.connection,
    application_name: "standstill",
    connectionTimeoutMillis: ANSWER_MS,
    query_timeout: ANSWER_MS,
  });
  // The failure of a query is told below; what becomes of the connection after it is of no interest.
  client.on("error", () => undefined);
  try {
    await client.connect();
    const { rows: found } = await client.query<Record<string, unknown>>(text, [...values]);
    return found.map((row) => JSON.stringify(row));
  } catch (error) {
    return [`not known: ${(error as Error).message}`];
  } finally {
    await client.end().catch(() => undefined);
  }
}
