// Lines out of the bytes of a connection, with a bound on their length.

const NEWLINE = 10;

/** Takes bytes as they come, and gives the lines that they complete. */
export class LineSplitter {
  readonly #maxBytes: number;
  #parts: Uint8Array[] = [];
  #length = 0;

  /** @param maxBytes - most bytes of a line */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The lines that end in these bytes, without their ends. Undefined: a line is too long, and the following bytes are lost. */
  push(bytes: Uint8Array): string[] | undefined {
    const lines: string[] = [];
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      if (!this.#keep(bytes.subarray(start, end))) return undefined;
      lines.push(this.#take());
      start = end + 1;
    }
    return this.#keep(bytes.subarray(start)) ? lines : undefined;
  }

  #keep(part: Uint8Array): boolean {
    this.#length += part.length;
    if (this.#length > this.#maxBytes) return false;
    if (part.length > 0) this.#parts.push(part);
    return true;
  }

  #take(): string {
    const whole = new Uint8Array(this.#length);
    let at = 0;
    for (const part of this.#parts) {
      whole.set(part, at);
      at += part.length;
    }
    this.#parts = [];
    this.#length = 0;
    return new TextDecoder().decode(whole);
  }
}
