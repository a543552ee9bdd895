// The one connection of a PGlite database: PostgreSQL within this process.

import {
  type Answer,
  type Command,
  type Connection,
  ConnectionLostError,
  type Connector,
  type Received,
  serverError,
} from "./connection.js";
import { PARSED, parserOf } from "./types.js";

/**
 * A PGlite database, as far as a store uses it. Declared here, as the types of the package need those of browsers and of Emscripten.
 */
export interface PgliteDatabase {
  /** Fulfilled when the database can be used. */
  readonly waitReady: PromiseLike<unknown>;
  /** Whether it was closed. */
  readonly closed: boolean;
  /** Keeps all others out while `run` runs. */
  transaction<T>(run: (transaction: PgliteTransaction) => Promise<T>): Promise<T>;
}

/** A transaction of a {@link PgliteDatabase}. */
export interface PgliteTransaction {
  /** Runs statements without parameters. */
  exec(sql: string, options?: PgliteQueryOptions): Promise<PgliteResults[]>;
  /** Runs one statement. */
  query(sql: string, parameters?: unknown[], options?: PgliteQueryOptions): Promise<PgliteResults>;
}

/** How a {@link PgliteTransaction} gives rows and takes parameters. */
export interface PgliteQueryOptions {
  /** Rows as arrays. */
  rowMode?: "array" | "object";
  /** By the number of a type: makes a value of what the server sends. */
  parsers?: Record<number, (value: string, typeId?: number) => unknown>;
  /** By the number of a type: makes a text of a parameter. */
  serializers?: Record<number, (value: never) => string>;
}

/** The result of a statement. */
export interface PgliteResults {
  /** The rows. */
  rows: unknown[];
  /** The columns. */
  fields: { name: string; dataTypeID: number }[];
  /** How many rows were changed. */
  affectedRows?: number;
  /** How many rows the server counted. */
  rowCount?: number;
  /** The tag of the command. */
  command?: string;
}

/** Array types whose parameters come as bytes in the server's format, see arrays.ts; and bytes themselves. */
const BYTES = [17, 1001, 1009, 1016, 1022];
const asTheyAre = (value: string): string => value;

const OPTIONS = {
  rowMode: "array",
  parsers: { ...Object.fromEntries(PARSED.map((type) => [type, parserOf(type)])) },
  serializers: Object.fromEntries(BYTES.map((type) => [type, asTheyAre])),
} satisfies PgliteQueryOptions;

/** The connection of a database that the user has made, and closes. */
export function pgliteConnector(label: string, database: PgliteDatabase, setUp: string): Connector {
  return {
    label,
    single: true,
    connect: async () => {
      await database.waitReady;
      const connection = new PgliteConnection(database);
      await connection.hold(() => connection.send([{ text: setUp }]));
      return connection;
    },
  };
}

class PgliteConnection implements Connection {
  readonly processId = 0;
  readonly #database: PgliteDatabase;
  #transaction: PgliteTransaction | undefined;

  constructor(database: PgliteDatabase) {
    this.#database = database;
  }

  get isUsable(): boolean {
    return !this.#database.closed;
  }

  /**
   * A transaction of PGlite keeps all others out, those of the user's own code included. Within it the library begins and commits
   * transactions of its own; the server only warns of a BEGIN in a transaction and of a COMMIT outside of one.
   */
  async hold<T>(use: () => Promise<T>): Promise<T> {
    let outcome: { value: T } | { error: unknown } | undefined;
    await this.#database.transaction(async (transaction) => {
      this.#transaction = transaction;
      try {
        outcome = { value: await use() };
      } catch (error) {
        outcome = { error };
      } finally {
        this.#transaction = undefined;
      }
    });
    if (outcome !== undefined && "value" in outcome) return outcome.value;
    throw outcome?.error;
  }

  async send(commands: readonly Command[]): Promise<Answer[]> {
    const transaction = this.#transaction;
    if (transaction === undefined || !this.isUsable)
      throw new ConnectionLostError(new Error("the database is closed"));
    const answers: Answer[] = [];
    for (const { text, values } of commands)
      try {
        if (values === undefined) answers.push(answered((await transaction.exec(text, OPTIONS)).at(-1)));
        else answers.push(answered(await transaction.query(text, [...values], OPTIONS)));
      } catch (error) {
        throw serverError(error);
      }
    return answers;
  }

  async close(): Promise<void> {}

  destroy(): void {}
}

function answered(result: PgliteResults | undefined): Answer {
  return {
    names: result?.fields.map((field) => field.name) ?? [],
    rows: (result?.rows ?? []) as unknown as readonly Received[][],
    count: result?.rowCount ?? result?.affectedRows ?? 0,
    done: result?.command ?? "",
  };
}
