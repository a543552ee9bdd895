// The client of a host's admin socket: one connection, one request after another.

import { RemoteOperationError } from "../../admin/errors.js";
import type { Json } from "../../admin/json-view.js";
import { LineSplitter } from "../../admin/line-splitter.js";
import { type Ask, PROTOCOL_LIMITS, readAnswer, requestLine } from "../../admin/protocol.js";
import { connect, type Socket } from "./host.js";

/** How long a host may take for an answer. */
const ANSWER_TIMEOUT_MS = 30_000;
/** How long it may take for these: longer than it gives itself. */
const LONG: readonly string[] = ["backup", "prune"];
const LONG_TIMEOUT_MS = 615_000;
/** Characters may have three bytes. */
const MAX_ANSWER_BYTES = 3 * PROTOCOL_LIMITS.answerLength + 1_000;

export interface AdminClient {
  readonly ask: Ask;
  close(): void;
}

interface Waiting {
  readonly id: number;
  answered(line: string): void;
  failed(error: Error): void;
}

/**
 * Connects to a host. Undefined: no host listens there.
 *
 * @throws Error when the socket may not be opened
 */
export async function adminClient(
  target: string,
  timeoutMs: number = ANSWER_TIMEOUT_MS,
): Promise<AdminClient | undefined> {
  const socket = await connect(target);
  return socket && new Client(socket, timeoutMs);
}

class Client implements AdminClient {
  readonly #socket: Socket;
  readonly #timeoutMs: number;
  readonly #splitter = new LineSplitter(MAX_ANSWER_BYTES);
  #waiting: Waiting | undefined;
  #lost: Error | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #id = 0;

  constructor(socket: Socket, timeoutMs: number) {
    this.#socket = socket;
    this.#timeoutMs = timeoutMs;
    socket.on("data", (bytes: Uint8Array) => {
      const lines = this.#splitter.push(bytes);
      if (lines === undefined) this.#lose("its answer is too long");
      for (const line of lines ?? []) this.#waiting?.answered(line);
    });
    socket.on("error", ({ message }) => this.#lose(message));
    socket.on("close", () => this.#lose("it closed the connection"));
  }

  /** Requests wait for those before them. */
  readonly ask: Ask = (op, args, signal) => {
    const asked = this.#last.then(() => this.#ask(op, args, signal));
    this.#last = asked.catch(() => undefined);
    return asked;
  };

  readonly close = (): void => this.#lose("this program closed the connection");

  #ask(op: string, args: object, signal: AbortSignal | undefined): Promise<Json> {
    const id = ++this.#id;
    const timeoutMs = LONG.includes(op) ? Math.max(this.#timeoutMs, LONG_TIMEOUT_MS) : this.#timeoutMs;
    const limit = AbortSignal.timeout(timeoutMs);
    const slow = (): void => this.#lose(`it did not answer within ${timeoutMs} ms`);
    const aborted = (): void => this.#waiting?.failed(signal?.reason as Error);
    return new Promise<Json>((resolve, reject) => {
      if (this.#lost !== undefined) return reject(this.#lost);
      if (signal?.aborted) return reject(signal.reason);
      const over = (): void => {
        this.#waiting = undefined;
        limit.removeEventListener("abort", slow);
        signal?.removeEventListener("abort", aborted);
      };
      this.#waiting = {
        id,
        answered: (line) => {
          over();
          try {
            resolve(readAnswer(id, line));
          } catch (error) {
            reject(error);
          }
        },
        failed: (error) => {
          over();
          reject(error);
        },
      };
      limit.addEventListener("abort", slow);
      signal?.addEventListener("abort", aborted);
      this.#socket.write(`${requestLine(id, op, args)}\n`);
    });
  }

  /** No answer can come any more. */
  #lose(problem: string): void {
    this.#lost ??= new RemoteOperationError(`the host did not answer: ${problem}`, { name: "Error" });
    this.#waiting?.failed(this.#lost);
    this.#socket.destroy();
  }
}
