// Connections by `pg`, an optional peer.

import type { Client, QueryArrayConfig, QueryArrayResult } from "pg";
import { PackageMissingError } from "../../process/package-missing.js";
import type { StoreContext } from "../store.js";
import {
  type Answer,
  type Command,
  type Connection,
  type ConnectionEvents,
  ConnectionLostError,
  type Connector,
  serverError,
} from "./connection.js";
import type { PostgresConnection } from "./settings.js";
import { parserOf } from "./types.js";

type Pg = typeof import("pg")["default"];

/** Which versions of `pg` are supported. */
const VERSIONS = "^8.16.0";

/** Loads `pg`. @throws PackageMissingError */
export async function loadPg(load: () => Promise<{ default: Pg }> = () => import("pg")): Promise<Pg> {
  try {
    return (await load()).default;
  } catch (error) {
    throw new PackageMissingError("pg", VERSIONS, "a store on PostgreSQL", error);
  }
}

/** The settings of a connection. */
export interface PgSettings {
  readonly client: PostgresConnection;
  /** How long a connection may take to be made, in milliseconds. */
  readonly connectMs: number;
  /** A server that gives no answer for so long is gone. */
  readonly answerMs: number;
  /** Whether statements of the library are prepared; a pooler may not know prepared statements. */
  readonly prepare: boolean;
  /** Run on each new connection. */
  readonly setUp: string;
  load?(): Promise<{ default: Pg }>;
}

/** Also where the options of the client ask for the binary format: `parserOf` reads text alone. */
const TEXT_FORMAT = { binary: false };

/** Connections to a server. */
export function pgConnector(label: string, settings: PgSettings): Connector {
  return {
    label,
    single: false,
    connect: async (events, after) => {
      const { Client: Constructor } = await loadPg(settings.load);
      const client = new Constructor({
        ...settings.client,
        connectionTimeoutMillis: settings.connectMs,
        keepAlive: true,
        pipeline: true,
        ...TEXT_FORMAT,
        types: { getTypeParser: parserOf as never },
      });
      const connection = new PgConnection(client, settings, events, after);
      try {
        await client.connect();
        const [, role] = await connection.send([{ text: settings.setUp }, { text: ROLE }]);
        if (role?.rows[0]?.[0] === STANDBY) throw new ConnectionLostError(standbyError());
      } catch (error) {
        connection.destroy();
        throw error instanceof ConnectionLostError ? error : serverError(error);
      }
      connection.isReady = true;
      return connection;
    },
  };
}

const STANDBY = "standby";
const ROLE = `select case when pg_is_in_recovery() then '${STANDBY}' else 'primary' end`;

/**
 * A standby only reads, and refuses the default isolation as a statement that it does not know. So a connection to it is as none: there will be
 * one when it is promoted, or when the way leads to another server.
 */
function standbyError(): Error {
  return Object.assign(new Error("the server is a standby, which only reads"), { code: "25006" });
}

class PgConnection implements Connection {
  /** If a connection is lost before it is ready, only `connect` reports the loss. */
  isReady = false;
  readonly #client: Client;
  readonly #settings: PgSettings;
  readonly #events: ConnectionEvents;
  readonly #after: StoreContext["after"];
  readonly #names = new Map<string, string>();
  #hasGone = false;
  #isClosing = false;

  constructor(client: Client, settings: PgSettings, events: ConnectionEvents, after: StoreContext["after"]) {
    this.#client = client;
    this.#settings = settings;
    this.#events = events;
    this.#after = after;
    client.on("notification", ({ channel, payload = "" }) => events.notification(channel, payload));
    client.on("error", () => this.#gone());
    client.on("end", () => this.#gone());
  }

  get processId(): number {
    return (this.#client as unknown as { processID: number }).processID;
  }

  get isUsable(): boolean {
    return !this.#hasGone && !this.#isClosing;
  }

  send(commands: readonly Command[]): Promise<Answer[]> {
    if (!this.isUsable) return Promise.reject(new ConnectionLostError(new Error("it is closed")));
    return new Promise((resolve, reject) => {
      const answers: Answer[] = [];
      let failure: Error | undefined;
      let open = commands.length;
      // Gone without a word, it would be waited for until the operating system gives up, which takes hours.
      const cancel = this.#after(this.#settings.answerMs, () => this.destroy());
      for (const [i, command] of commands.entries())
        this.#client.query(this.#query(command), (error: Error | null, result: QueryArrayResult) => {
          open--;
          // Errors of the statements behind the first one only say that the transaction has failed.
          if (error) failure ??= serverError(error);
          else answers[i] = answered(result);
          if (failure instanceof ConnectionLostError) this.#gone();
          if (open > 0) return;
          cancel();
          if (failure === undefined) resolve(answers);
          else reject(failure);
        });
    });
  }

  hold<T>(use: () => Promise<T>): Promise<T> {
    return use();
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    const cancel = this.#after(GOODBYE_MS, () => this.destroy());
    await this.#client.end().catch(() => {});
    cancel();
  }

  destroy(): void {
    this.#isClosing = true;
    const { connection } = this.#client as unknown as { connection: { stream: { destroy(): void } } };
    connection.stream.destroy();
  }

  #query({ text, values, prepared = false }: Command): QueryArrayConfig {
    const query: PgQuery = { text, rowMode: "array" };
    if (values !== undefined) {
      query.values = values as unknown[];
      // The server takes one statement alone, also where there are no parameters.
      query.queryMode = "extended";
    }
    if (prepared && this.#settings.prepare) query.name = this.#nameOf(text);
    return query;
  }

  #nameOf(text: string): string {
    let name = this.#names.get(text);
    if (name === undefined) {
      name = `signalbox_${this.#names.size + 1}`;
      this.#names.set(text, name);
    }
    return name;
  }

  #gone(): void {
    if (this.#hasGone) return;
    this.#hasGone = true;
    if (this.isReady && !this.#isClosing) this.#events.lost();
    if (!this.#isClosing) this.destroy();
  }
}

interface PgQuery {
  readonly text: string;
  readonly rowMode: "array";
  values?: unknown[];
  name?: string;
  queryMode?: "extended";
}

/** How long the server has to end a connection of which the client has taken leave. */
const GOODBYE_MS = 1_000;

function answered(result: QueryArrayResult | readonly QueryArrayResult[]): Answer {
  // A text of several statements has several results: the last one counts.
  const one = Array.isArray(result) ? (result.at(-1) as QueryArrayResult) : (result as QueryArrayResult);
  return {
    names: one.fields.map((field) => field.name),
    rows: one.rows,
    count: one.rowCount ?? 0,
    done: one.command,
  };
}
