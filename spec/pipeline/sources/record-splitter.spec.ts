import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type FilePlace,
  type RawRecord,
  RecordSplitter,
  type SplitterConfig,
} from "../../../lib/pipeline/sources/record-splitter.js";

const LINES: SplitterConfig = { csv: undefined, maxBytes: 12 };
const CSV: SplitterConfig = { csv: { quote: 34, delimiter: 44 }, maxBytes: 12 };
const START: FilePlace = { byte: 0, line: 0 };
const bytesOf = (text: string) => new TextEncoder().encode(text);
const shown = (records: readonly RawRecord[]) =>
  records.map(({ bytes, damage, from, to }) => ({ text: new TextDecoder().decode(bytes), damage, from, to }));
const texts = (records: readonly RawRecord[]) =>
  records.map(({ bytes, damage }) => (damage === undefined ? "" : "!") + new TextDecoder().decode(bytes));

function split(config: SplitterConfig, chunks: readonly Uint8Array[], from = START): RawRecord[] {
  const splitter = new RecordSplitter(config, from);
  // Each chunk is a copy, as each read of a file is.
  const records = chunks.flatMap((chunk) => splitter.push(chunk.slice()));
  return [...records, ...splitter.end()];
}
const whole = (config: SplitterConfig, text: string) => texts(split(config, [bytesOf(text)]));

describe("lines", () => {
  test("end with LF or CRLF, and the last one may lack it", () => {
    expect(whole(LINES, "a\nb\r\n\n\r\nc")).toEqual(["a", "b", "c"]);
    expect(whole(LINES, "a\nb\n")).toEqual(["a", "b"]);
    expect(whole(LINES, "")).toEqual([]);
  });

  test("have a byte order mark in front of the first alone", () => {
    expect(split(LINES, [bytesOf("\ufeffa\n\ufeffb")]).map(({ bytes }) => bytes.length)).toEqual([1, 4]);
    expect(whole(LINES, "\ufeff")).toEqual([]);
  });

  test("that are too long are damaged alone", () => {
    expect(whole(LINES, "12345678901\n123456789012\n123456789012345\nz")).toEqual([
      "12345678901",
      "!123456789012",
      "!123456789012",
      "z",
    ]);
  });
});

describe("CSV records", () => {
  test("may hold line ends and delimiters in quotes", () => {
    expect(whole(CSV, 'a,"b\nc"\r\n"x""\n",y\nz')).toEqual(['a,"b\nc"', '"x""\n",y', "z"]);
  });

  test("begin anew behind the line whose quote never closes", () => {
    expect(whole(CSV, '"a\nb\nc\nd\ne')).toEqual(['!"a', "b", "c", "d", "e"]);
    expect(whole(CSV, '"a\nb\nc\nd\ne\nf\ng\nh\ni\nj')).toEqual(['!"a', ..."bcdefghij"]);
    expect(whole(CSV, '"abc')).toEqual(['!"abc']);
  });

  test("begin anew behind each of several lines whose quotes never close, however far they are apart", () => {
    const wide = { ...CSV, maxBytes: 1_000 };
    expect(whole(wide, '"a,1\nb\nc\n"d,2\ne\n')).toEqual(['!"a,1', "b", "c", '!"d,2', "e"]);
    expect(whole(wide, '"a\r\nb\n"c\n"d\ne')).toEqual(['!"a', "b", '!"c', '!"d', "e"]);
    // As RFC 4180 has it: behind a closing quote is a delimiter, a line end, or nothing.
    expect(whole(wide, '"a\nb",c\n"d\ne"\r\n"f\n"')).toEqual(['"a\nb",c', '"d\ne"', '"f\n"']);
  });

  test("keep quotes inside of a field that does not begin with one", () => {
    expect(whole(CSV, 'a"b\nc"d\n')).toEqual(['a"b', 'c"d']);
  });
});

/** Texts with what matters in them. */
const text = fc
  .array(fc.constantFrom("a", "é", '"', '""', ",", "\n", "\r\n", "\r", "\ufeff", "123456"), { maxLength: 40 })
  .map((parts) => parts.join(""));
const config = fc.constantFrom(LINES, CSV, { ...CSV, maxBytes: 1 }, { ...CSV, maxBytes: 1_000 });

function cut(bytes: Uint8Array, at: readonly number[]): Uint8Array[] {
  const places = [0, ...at.map((n) => n % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return places.slice(1).map((place, i) => bytes.subarray(places[i], place));
}

describe("records", () => {
  test("are the same however the bytes are cut into chunks [Y85]", () => {
    fc.assert(
      fc.property(config, text, fc.array(fc.nat()), (of, given, at) => {
        const bytes = bytesOf(given);
        expect(shown(split(of, cut(bytes, at)))).toEqual(shown(split(of, [bytes])));
      }),
      { numRuns: 500 },
    );
  });

  test("are the same behind each of them [Y86]", () => {
    fc.assert(
      fc.property(config, text, (of, given) => {
        const bytes = bytesOf(given);
        const all = shown(split(of, [bytes]));
        for (const [i, { to }] of all.entries())
          expect(shown(split(of, [bytes.subarray(to.byte)], to))).toEqual(all.slice(i + 1));
      }),
      { numRuns: 300 },
    );
  });

  test("count the lines before them", () => {
    fc.assert(
      fc.property(config, text, (of, given) => {
        const bytes = bytesOf(given);
        for (const { from, to } of split(of, [bytes])) {
          expect(from.line).toBe(bytes.subarray(0, from.byte).filter((byte) => byte === 10).length);
          expect(to.line).toBe(bytes.subarray(0, to.byte).filter((byte) => byte === 10).length);
        }
      }),
    );
  });
});
