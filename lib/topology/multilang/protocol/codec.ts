// Frames of the multilang protocol: each message is JSON, followed by a line `end`. No line of JSON is `end`, so a message
// may span several lines. The decoder looks for lines in bytes, so a chunk may end within a character.

import { count } from "../../../process/options.js";
import { excerpt, MultilangError } from "./errors.js";

/** Default limit for the bytes of one message. */
export const MAX_MESSAGE: number = 16 * 1024 * 1024;

const NEWLINE = 0x0a;
/** `end` as bytes. */
const END: readonly number[] = [0x65, 0x6e, 0x64];
const RETURN = 0x0d;

/**
 * Writes one message as a frame. A value `undefined` becomes null in an array, and is left out of an object.
 *
 * @throws MultilangError when the message cannot be written as JSON, for instance because of a bigint
 */
export function encode(message: unknown): string {
  let json: string | undefined;
  try {
    json = JSON.stringify(message);
  } catch (error) {
    throw new MultilangError("json", `cannot be written as JSON: ${(error as Error).message}`, {
      cause: error,
    });
  }
  if (json === undefined) throw new MultilangError("json", `${typeof message} cannot be written as JSON`);
  return `${json}\nend\n`;
}

/** Finds messages in the chunks of a stream. */
export class Decoder {
  readonly #maxMessage: number;
  readonly #text: InstanceType<typeof TextDecoder> = new TextDecoder("utf-8", {
    fatal: true,
    ignoreBOM: true,
  });
  /** The parts of the message that is being read. */
  #parts: Uint8Array[] = [];
  #size = 0;
  /** Length and first bytes of the current line: enough to recognize an `end` that is split over chunks. */
  #line = 0;
  #head: number[] = [];

  /**
   * @param maxMessage - bytes that one message may have
   * @throws OptionError
   */
  constructor(maxMessage: number = MAX_MESSAGE) {
    this.#maxMessage = count("maxMessage", maxMessage, 1);
  }

  /** Bytes of an incomplete message. At the end of a stream, that message was cut off. */
  get pending(): number {
    return this.#size;
  }

  /**
   * Reads a chunk, and calls `message` for each message that it completes.
   *
   * @throws MultilangError when a message is too long, or is no JSON in UTF-8; the rest of the chunk is discarded
   */
  push(chunk: Uint8Array, message: (value: unknown) => void): void {
    let first = 0;
    for (let at = 0; at < chunk.length; ) {
      const found = chunk.indexOf(NEWLINE, at);
      const lineEnd = found < 0 ? chunk.length : found;
      for (let i = at; i < lineEnd && this.#head.length <= END.length; i++)
        this.#head.push(chunk[i] as number);
      this.#line += lineEnd - at;
      at = lineEnd + 1;
      if (found < 0) break;
      const whole = this.#isEnd();
      this.#line = 0;
      this.#head = [];
      if (!whole) continue;
      this.#keep(chunk.subarray(first, at));
      first = at;
      message(this.#take());
    }
    if (first < chunk.length) this.#keep(chunk.slice(first));
  }

  #isEnd(): boolean {
    const head = this.#head;
    if (this.#line !== END.length && (this.#line !== END.length + 1 || head[END.length] !== RETURN))
      return false;
    return END.every((byte, index) => head[index] === byte);
  }

  #keep(part: Uint8Array): void {
    this.#parts.push(part);
    this.#size += part.length;
    if (this.#size <= this.#maxMessage) return;
    const start = new TextDecoder().decode((this.#parts[0] as Uint8Array).subarray(0, 300));
    throw new MultilangError(
      "size",
      `a message is longer than ${this.#maxMessage} bytes (maxMessage); it begins with ${excerpt(start)}`,
    );
  }

  #take(): unknown {
    const bytes = this.#parts.length === 1 ? (this.#parts[0] as Uint8Array) : joined(this.#parts, this.#size);
    this.#parts = [];
    this.#size = 0;
    let text: string;
    try {
      text = this.#text.decode(bytes);
    } catch (error) {
      const near = excerpt(new TextDecoder().decode(bytes));
      throw new MultilangError("encoding", `a message is not UTF-8: ${near}`, { cause: error });
    }
    // Cuts off the line `end`, with either line ending.
    const json = text.slice(0, text.lastIndexOf("end"));
    try {
      return JSON.parse(json);
    } catch (error) {
      throw new MultilangError("json", `a message is not JSON: ${excerpt(json)}`, { cause: error });
    }
  }
}

function joined(parts: readonly Uint8Array[], size: number): Uint8Array {
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
