// The client of a host's admin socket: one request after another, over one connection as long as each request gets its answer.

import { RemoteOperationError } from "../../admin/errors.js";
import type { Json } from "../../admin/json-view.js";
import { LineSplitter } from "../../admin/line-splitter.js";
import { type Ask, PROTOCOL_LIMITS, readAnswer, requestLine } from "../../admin/protocol.js";
import type { RequestFate } from "../../process/errors.js";
import { orAborted } from "../../process/or-aborted.js";
import { after, connect, type Socket } from "./host.js";

/** How long a host may take for an answer, in milliseconds. */
const LOOK_MS = 30_000;
/** How long it may take for a change: longer than it gives itself, so that its own answer is the one that counts. */
const CHANGE_MS = 615_000;
/** Characters may have three bytes. */
const MAX_ANSWER_BYTES = 3 * PROTOCOL_LIMITS.answerLength + 1_000;

export interface AdminClient {
  readonly ask: Ask;
  close(): void;
}

/** The options of a client. */
export interface AdminClientOptions {
  /** How long a host may take for the answer to a request that changes nothing, in milliseconds. Default 30,000. */
  readonly lookMs?: number;
  /** Calls `fn` after so many milliseconds; returns the call that cancels it. */
  readonly after?: typeof after;
}

/**
 * Connects to a host. Undefined: no host listens there.
 *
 * @throws Error when the socket may not be opened
 */
export async function adminClient(
  target: string,
  options: AdminClientOptions = {},
): Promise<AdminClient | undefined> {
  const socket = await connect(target);
  return socket && new Client(target, { lookMs: LOOK_MS, after, ...options }, new Connection(socket));
}

class Client implements AdminClient {
  readonly #target: string;
  readonly #options: Required<AdminClientOptions>;
  #connection: Connection;
  #isClosed = false;
  #last: Promise<unknown> = Promise.resolve();
  #id = 0;

  constructor(target: string, options: Required<AdminClientOptions>, connection: Connection) {
    this.#target = target;
    this.#options = options;
    this.#connection = connection;
  }

  /** Requests wait for those before them, and end at once when their callers go. */
  readonly ask: Ask = (op, args, signal, changes) => {
    const asked = this.#last.then(() => this.#ask(op, args, signal, changes === true));
    this.#last = asked.catch(() => undefined);
    return signal === undefined ? asked : orAborted(asked, signal);
  };

  readonly close = (): void => {
    this.#isClosed = true;
    this.#connection.lose("this program closed the connection");
  };

  async #ask(op: string, args: object, signal: AbortSignal | undefined, changes: boolean): Promise<Json> {
    signal?.throwIfAborted();
    if (this.#connection.isGivenUp && !this.#isClosed) {
      await this.#connectAgain();
      // The caller may have gone meanwhile.
      signal?.throwIfAborted();
    }
    const { lookMs } = this.#options;
    const limitMs = changes ? Math.max(lookMs, CHANGE_MS) : lookMs;
    const id = ++this.#id;
    const connection = this.#connection;
    const cancel = this.#options.after(limitMs, () => connection.lose(`it was given up after ${limitMs} ms`));
    const aborted = (): void => connection.giveUp(signal?.reason as Error);
    signal?.addEventListener("abort", aborted);
    try {
      return readAnswer(id, await connection.answerTo(requestLine(id, op, args)));
    } finally {
      cancel();
      signal?.removeEventListener("abort", aborted);
    }
  }

  /** The connection of a request whose caller has gone is closed: its answer may come late, and it holds up those behind it. */
  async #connectAgain(): Promise<void> {
    const socket = await connect(this.#target);
    if (socket === undefined) throw noAnswer("no host listens there any more", "withdrawn");
    this.#connection = new Connection(socket);
    // It was closed while it connected.
    if (this.#isClosed) this.close();
  }
}

/** One connection: at most one request is under way. */
class Connection {
  /** Its caller waits no longer for the answer, which may still come. */
  isGivenUp = false;
  readonly #socket: Socket;
  readonly #splitter = new LineSplitter(MAX_ANSWER_BYTES);
  #waiting: { answered(line: string): void; failed(error: Error): void } | undefined;
  /** Why no answer can come any more. */
  #lost: string | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (bytes: Uint8Array) => {
      const lines = this.#splitter.push(bytes);
      if (lines === undefined) this.lose("its answer is too long");
      for (const line of lines ?? []) this.#waiting?.answered(line);
    });
    socket.on("error", ({ message }) => this.lose(message));
    socket.on("close", () => this.lose("it closed the connection"));
  }

  answerTo(line: string): Promise<string> {
    if (this.#lost !== undefined) return Promise.reject(noAnswer(this.#lost, "withdrawn"));
    return new Promise<string>((answered, failed) => {
      this.#waiting = { answered, failed };
      this.#socket.write(`${line}\n`);
    }).finally(() => {
      this.#waiting = undefined;
    });
  }

  giveUp(reason: Error): void {
    this.isGivenUp = true;
    this.#waiting?.failed(reason);
    this.#socket.destroy();
  }

  /** No answer can come any more. */
  lose(problem: string): void {
    this.#lost ??= problem;
    this.#waiting?.failed(noAnswer(this.#lost, "kept"));
    this.#socket.destroy();
  }
}

function noAnswer(problem: string, request: RequestFate): RemoteOperationError {
  return new RemoteOperationError(`the host did not answer: ${problem}`, { name: "Error" }, request);
}
