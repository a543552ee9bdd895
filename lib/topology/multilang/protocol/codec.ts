// Frames of the multilang protocol: each message is JSON, then a line `end`. JSON has no line that reads `end`, so a
// message may span lines; and lines are found in bytes, so a chunk may end within a character.

import { count } from "../../../process/options.js";
import { excerpt, MultilangError } from "./errors.js";

/** Bytes of one message, unless said otherwise. */
export const MAX_MESSAGE: number = 16 * 1024 * 1024;

const NEWLINE = 0x0a;
/** `end` as bytes. */
const END: readonly number[] = [0x65, 0x6e, 0x64];
const RETURN = 0x0d;

/**
 * One message as text for the wire. A value `undefined` in an array becomes null, and in an object is left out.
 *
 * @throws MultilangError when it cannot be written as JSON: a bigint, or an object within itself
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

/** Finds messages in what a stream gives, chunk by chunk. */
export class Decoder {
  readonly #maxMessage: number;
  readonly #text: InstanceType<typeof TextDecoder> = new TextDecoder("utf-8", {
    fatal: true,
    ignoreBOM: true,
  });
  /** The message so far, as the chunks had it. */
  #parts: Uint8Array[] = [];
  #size = 0;
  /** Length of the line so far, and its first bytes: enough to know an `end` that came in pieces. */
  #line = 0;
  #head: number[] = [];

  /**
   * @param maxMessage - bytes that one message may have
   * @throws OptionError
   */
  constructor(maxMessage: number = MAX_MESSAGE) {
    this.#maxMessage = count("maxMessage", maxMessage, 1);
  }

  /** Bytes of a message that has begun: at the end of a stream, what was cut off. */
  get pending(): number {
    return this.#size;
  }

  /**
   * Takes a chunk in, and calls `message` for each message that it completes, before the next one is looked at.
   *
   * @throws MultilangError when a message is too long, or is no JSON in UTF-8; what follows is not looked at
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
    // Only the line `end` is left out, however it is written.
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
