// Cuts bytes into records: lines, or CSV records, whose quoted fields may hold line ends. Pure: the records depend on the bytes
// alone, and not on how they were cut into chunks.
//
// Only bytes are compared, which is right for UTF-8: no byte of a character beyond ASCII looks like a quote or a line end. A record
// that is too long, or whose quote never closes, is damaged; then the next line begins a new record, so one stray quote costs one line
// and not the rest of the file, nor the lines up to the next stray quote.

import { SOURCE_DEFAULTS } from "./defaults.js";

/** A place in a file: what a checkpoint of a file is made of. */
export interface FilePlace {
  /** Bytes before the place. */
  readonly byte: number;
  /** Line ends before the place. */
  readonly line: number;
}

/** A record that was cut out. */
export interface RawRecord {
  /** Where it begins. */
  readonly from: FilePlace;
  /** Where the next one begins. */
  readonly to: FilePlace;
  /** Its bytes, without the line end; of a damaged record only the first ones. */
  readonly bytes: Uint8Array;
  /** Why it cannot be used. */
  readonly damage: string | undefined;
}

/** How records are cut. Without `quote` each line is one. */
export interface SplitterConfig {
  /** The bytes that quote a field and divide fields. */
  readonly csv: { readonly quote: number; readonly delimiter: number } | undefined;
  /** Most bytes of a record, its line end included. */
  readonly maxBytes: number;
}

const LF = 10;
const CR = 13;
const BOM = [0xef, 0xbb, 0xbf] as const;

/** Where the scan is in a CSV record. */
const FIELD_START = 0;
const PLAIN = 1;
const QUOTED = 2;
const QUOTE_IN_QUOTED = 3;

/** Cuts the bytes behind a place. */
export class RecordSplitter {
  readonly #config: SplitterConfig;
  /** Begins at `#place`. */
  #buffer: Uint8Array = new Uint8Array(0);
  #place: FilePlace;
  /** How far the buffer was scanned. */
  #at = 0;
  #state = FIELD_START;
  /** Line ends inside the quotes of the record at hand, and the index behind the first. */
  #newlines = 0;
  #firstLine = 0;
  /** The beginning of a record that is too long: its bytes are discarded until its line ends. */
  #skipping: { readonly from: FilePlace; readonly head: Uint8Array } | undefined;

  constructor(config: SplitterConfig, place: FilePlace) {
    this.#config = config;
    this.#place = place;
  }

  /** Whether a record has begun and not ended. */
  get isInside(): boolean {
    return this.#buffer.length > 0 || this.#skipping !== undefined;
  }

  /** Takes further bytes. @returns the records that they complete */
  push(chunk: Uint8Array): RawRecord[] {
    this.#append(chunk);
    const records: RawRecord[] = [];
    if (this.#place.byte === 0 && !this.#skipBom(false)) return records;
    this.#scan(records);
    return records;
  }

  /** There are no further bytes. @returns the records that were not complete: the last line may have no line end */
  end(): RawRecord[] {
    const records: RawRecord[] = [];
    if (this.#place.byte === 0) this.#skipBom(true);
    this.#scan(records);
    while (this.#buffer.length > 0 && this.#skipping === undefined) {
      if (this.#state !== QUOTED) this.#cut(records, this.#buffer.length, undefined);
      else if (this.#newlines === 0) this.#cut(records, this.#buffer.length, UNCLOSED);
      else this.#cutFirstLine(records);
      this.#scan(records);
    }
    if (this.#skipping !== undefined) this.#cut(records, this.#buffer.length, this.#tooLong);
    return records;
  }

  get #tooLong(): string {
    return `longer than ${this.#config.maxBytes} bytes`;
  }

  #append(chunk: Uint8Array): void {
    if (this.#buffer.length === 0) {
      this.#buffer = chunk;
      return;
    }
    const both = new Uint8Array(this.#buffer.length + chunk.length);
    both.set(this.#buffer);
    both.set(chunk, this.#buffer.length);
    this.#buffer = both;
  }

  /** @returns false as long as it is not known whether there is one */
  #skipBom(isEnd: boolean): boolean {
    const buffer = this.#buffer;
    const seen = Math.min(buffer.length, BOM.length);
    for (let i = 0; i < seen; i++) if (buffer[i] !== BOM[i]) return true;
    if (seen < BOM.length) return isEnd;
    this.#buffer = buffer.subarray(BOM.length);
    this.#place = { byte: BOM.length, line: 0 };
    return true;
  }

  #scan(records: RawRecord[]): void {
    while (this.#at < this.#buffer.length) {
      if (this.#skipping !== undefined) this.#skip(records);
      else if (this.#config.csv === undefined) this.#line(records);
      else this.#csv(records, this.#config.csv.quote, this.#config.csv.delimiter);
    }
  }

  #line(records: RawRecord[]): void {
    const buffer = this.#buffer;
    const { maxBytes } = this.#config;
    const end = buffer.indexOf(LF, this.#at);
    if ((end < 0 ? buffer.length : end + 1) > maxBytes) this.#skipFrom(maxBytes);
    else if (end >= 0) this.#cut(records, end + 1, undefined);
    else this.#at = buffer.length;
  }

  #csv(records: RawRecord[], quote: number, delimiter: number): void {
    const buffer = this.#buffer;
    const most = Math.min(buffer.length, this.#config.maxBytes);
    let state = this.#state;
    let at = this.#at;
    for (; at < most; at++) {
      const byte = buffer[at];
      if (state === QUOTED) {
        if (byte === quote) state = QUOTE_IN_QUOTED;
        else if (byte === LF && this.#newlines++ === 0) this.#firstLine = at + 1;
      } else if (byte === LF) {
        this.#cut(records, at + 1, undefined);
        return;
      } else if (byte === quote) state = state === PLAIN ? PLAIN : QUOTED;
      else if (byte === delimiter) state = FIELD_START;
      else if (state === QUOTE_IN_QUOTED && this.#newlines > 0 && byte !== CR) {
        // This quote closes no field, so it opens one, and the quote before it was never closed.
        this.#state = QUOTED;
        this.#cutFirstLine(records);
        return;
      } else state = PLAIN;
    }
    this.#state = state;
    this.#at = at;
    if (at >= buffer.length) return;
    if (this.#newlines > 0) this.#cutFirstLine(records);
    else this.#skipFrom(at);
  }

  /** The record at hand is too long: the rest of its line is discarded. */
  #skipFrom(at: number): void {
    this.#skipping = {
      from: this.#place,
      head: this.#buffer.slice(0, Math.min(at, SOURCE_DEFAULTS.damageBytes)),
    };
    this.#place = { byte: this.#place.byte + at, line: this.#place.line };
    this.#buffer = this.#buffer.subarray(at);
    this.#at = 0;
  }

  #skip(records: RawRecord[]): void {
    const end = this.#buffer.indexOf(LF, this.#at);
    if (end >= 0) {
      this.#cut(records, end + 1, this.#tooLong);
      return;
    }
    this.#place = { byte: this.#place.byte + this.#buffer.length, line: this.#place.line };
    this.#buffer = new Uint8Array(0);
    this.#at = 0;
  }

  /** A record of several lines does not end: it ends with its first line after all. */
  #cutFirstLine(records: RawRecord[]): void {
    this.#newlines = 0;
    this.#cut(records, this.#firstLine, this.#state === QUOTED ? UNCLOSED : this.#tooLong);
  }

  /** Cuts the record that ends before an index of the buffer. */
  #cut(records: RawRecord[], end: number, damage: string | undefined): void {
    const buffer = this.#buffer;
    const hasLineEnd = end > 0 && buffer[end - 1] === LF;
    const to = {
      byte: this.#place.byte + end,
      line: this.#place.line + this.#newlines + (hasLineEnd ? 1 : 0),
    };
    const skipped = this.#skipping;
    const content = contentOf(buffer, end);
    const bytes =
      skipped?.head ?? (damage === undefined ? content : content.slice(0, SOURCE_DEFAULTS.damageBytes));
    // Empty lines are skipped.
    if (content.length > 0 || skipped !== undefined)
      records.push({ from: skipped?.from ?? this.#place, to, bytes, damage });
    this.#buffer = buffer.subarray(end);
    this.#place = to;
    this.#at = 0;
    this.#state = FIELD_START;
    this.#newlines = 0;
    this.#skipping = undefined;
  }
}

const UNCLOSED = "a quote is never closed";

/** The bytes before an index, without their line end. */
function contentOf(buffer: Uint8Array, end: number): Uint8Array {
  let to = end;
  if (to > 0 && buffer[to - 1] === LF) {
    to--;
    if (to > 0 && buffer[to - 1] === CR) to--;
  }
  return buffer.subarray(0, to);
}
