// What an observer in a command asks of a running program: the operations at its admin socket. The program may be started again meanwhile.

import { RemoteOperationError } from "../../admin/errors.js";
import type { Json } from "../../admin/json-view.js";
import { OFFERS_OP, type Offers } from "../../admin/protocol.js";
import type { AdminClient } from "../shell/admin-client.js";
import { Misuse } from "../shell/arguments.js";
import type { Observed } from "./observe.js";

type Leave = ReturnType<Observed["leaveOf"]>;

/** Connections at a time: a request that takes long holds up those behind it on its own connection alone. */
const CONNECTIONS = 4;
/** How often the program is asked what it offers: hosts come and go. What it keeps for observers it keeps for longer than this. */
const OFFERS_MS = 10_000;
/** A look-operation that has the history of a program kept. */
const KEPT_BY = "system.overview";

export interface ProgramSurroundings {
  /** Connects to the program. @throws Error when it does not listen */
  reach(): Promise<AdminClient>;
  /** Calls `fn` after so many milliseconds; returns the call that cancels it. */
  after(ms: number, fn: () => void): () => void;
}

interface Connection {
  /** Rejects when the program does not listen. */
  readonly client: Promise<AdminClient>;
  /** Requests on it without an answer. */
  open: number;
}

/** The operations of a program. Made by {@link openProgram}. */
class ProgramSource implements Observed {
  readonly #surroundings: ProgramSurroundings;
  readonly #connections: Connection[] = [];
  readonly #system: Offers["systems"][number] | undefined;
  #offers: Offers;
  #isClosed = false;

  /** @param system - the one that is meant */
  constructor(
    surroundings: ProgramSurroundings,
    first: AdminClient,
    offers: Offers,
    system: Offers["systems"][number] | undefined,
  ) {
    this.#surroundings = surroundings;
    this.#connections.push({ client: Promise.resolve(first), open: 0 });
    this.#offers = offers;
    this.#system = system;
  }

  get name(): string {
    return this.#system?.name ?? "signalbox";
  }

  get through(): string {
    return `the running program ${this.name}`;
  }

  get systems(): Offers["systems"] {
    return this.#system === undefined ? [] : [this.#system];
  }

  get names(): readonly string[] {
    return this.#offers.operations.map(({ name }) => name);
  }

  get stores(): Offers["stores"] {
    return this.#offers.stores;
  }

  leaveOf(op: string): Leave {
    return this.#offers.operations.find(({ name }) => name === op)?.leave;
  }

  async look(op: string, args: object, signal: AbortSignal): Promise<Json> {
    const changes = (this.leaveOf(op) ?? "look") !== "look";
    return this.#ask(op, this.#placed(op, args), signal, changes);
  }

  /** Asks again and again what the program offers, and has its history kept meanwhile. */
  hold(): () => void {
    let cancel = (): void => undefined;
    let isOver = false;
    const again = (): void => {
      if (isOver || this.#isClosed) return;
      cancel = this.#surroundings.after(OFFERS_MS, () => void this.#renew().then(again));
    };
    void this.#renew().then(again);
    return () => {
      isOver = true;
      cancel();
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const connection of this.#connections.splice(0)) close(connection);
  }

  /** Where several systems listen at a socket, operations on one name it. A program that was started again has another id. */
  #placed(op: string, args: object): object {
    if (this.#offers.systems.length < 2 || !op.startsWith("system.")) return args;
    const names = this.#offers.systems.filter(({ name }) => name === this.#system?.name);
    return { ...args, system: names.length > 1 ? this.#system?.id : this.#system?.name };
  }

  /** A program that does not answer keeps what it has offered: viewers see why, and it may come back. */
  async #renew(): Promise<void> {
    try {
      this.#offers = (await this.#ask(OFFERS_OP, {})) as unknown as Offers;
      if (this.leaveOf(KEPT_BY) !== undefined) await this.#ask(KEPT_BY, this.#placed(KEPT_BY, {}));
    } catch {
      // Each view gets the same error, with its own question.
    }
  }

  async #ask(op: string, args: object, signal?: AbortSignal, changes = false): Promise<Json> {
    if (this.#isClosed) throw new Error("the observer is closed");
    const connection = this.#connection();
    connection.open++;
    try {
      return await (await connection.client).ask(op, args, signal, changes);
    } catch (error) {
      // What the program has answered leaves the connection as it is.
      if (!(error instanceof RemoteOperationError && error.request === undefined) && signal?.aborted !== true)
        this.#drop(connection);
      throw error;
    } finally {
      connection.open--;
    }
  }

  /** An idle connection, or a new one, or the one with the fewest requests. */
  #connection(): Connection {
    const [least] = [...this.#connections].sort((a, b) => a.open - b.open);
    if (least !== undefined && (least.open === 0 || this.#connections.length >= CONNECTIONS)) return least;
    const made: Connection = { client: this.#surroundings.reach(), open: 0 };
    this.#connections.push(made);
    return made;
  }

  #drop(connection: Connection): void {
    const at = this.#connections.indexOf(connection);
    if (at >= 0) this.#connections.splice(at, 1);
    close(connection);
  }
}

/** Closes a connection, also one that is being made. */
function close({ client }: Connection): void {
  client.then(
    (made) => made.close(),
    () => undefined,
  );
}

/**
 * Connects to a program, and asks what it offers.
 *
 * @param wanted - the name or the id of the system that is meant
 * @throws Misuse, or an Error when it does not listen, or cannot say
 */
export async function openProgram(
  surroundings: ProgramSurroundings,
  wanted: string | undefined,
): Promise<Observed> {
  const client = await surroundings.reach();
  try {
    const offers = (await client.ask(OFFERS_OP, {})) as unknown as Offers;
    return new ProgramSource(surroundings, client, offers, meant(offers, wanted));
  } catch (error) {
    client.close();
    if (!/no operation/.test((error as Error).message)) throw error;
    throw new Error(
      "the program cannot be observed: it runs an earlier release of signalbox, which does not say what it offers",
    );
  }
}

/** @throws Misuse when it is not there, or when it is not said which one of several is meant */
function meant({ systems }: Offers, wanted: string | undefined): Offers["systems"][number] | undefined {
  const found = systems.filter(({ name, id }) => wanted === undefined || wanted === name || wanted === id);
  const list = systems.map(({ name, id }) => `${id} (${name})`).join(", ");
  if (found.length > 1)
    throw new Misuse(`several systems listen at the socket: name one with --system: ${list}`);
  if (found.length === 0 && wanted !== undefined)
    throw new Misuse(`no system ${JSON.stringify(wanted)} listens at the socket: there is only ${list}`);
  return found[0];
}
