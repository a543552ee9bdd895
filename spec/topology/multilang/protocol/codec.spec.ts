// Frames: by examples, and any messages through any chunks against the plainest reading of the format.

import { test as check, fc } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import { OptionError } from "../../../../lib/process/errors.js";
import { Decoder, encode } from "../../../../lib/topology/multilang/protocol/codec.js";
import { MultilangError } from "../../../../lib/topology/multilang/protocol/errors.js";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** What a decoder makes of chunks. */
function decode(chunks: readonly (string | Uint8Array)[], maxMessage?: number): unknown[] {
  const decoder = new Decoder(maxMessage);
  const found: unknown[] = [];
  for (const chunk of chunks)
    decoder.push(typeof chunk === "string" ? bytesOf(chunk) : chunk, (message) => found.push(message));
  return found;
}

function errorOf(work: () => unknown): MultilangError {
  try {
    work();
  } catch (error) {
    if (error instanceof MultilangError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

/** Cuts bytes at the places given. */
function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const at = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((from, index) => bytes.slice(from, at[index] ?? bytes.length));
}

describe("a message", () => {
  test("is JSON, then a line `end`", () => {
    expect(encode({ command: "sync" })).toBe('{"command":"sync"}\nend\n');
    expect(decode(['{"command":"sync"}\nend\n'])).toEqual([{ command: "sync" }]);
  });

  test("may be any JSON: task ids are a bare array", () => {
    expect(decode(["[1,2]\nend\n5\nend\nnull\nend\n"])).toEqual([[1, 2], 5, null]);
  });

  test("may span lines, and its strings may say `end`", () => {
    expect(decode(['{\n  "a":\n"end"\n}\nend\n'])).toEqual([{ a: "end" }]);
    expect(decode([encode("a\nend\nb")])).toEqual(["a\nend\nb"]);
  });

  test("may have lines that end as on Windows", () => {
    expect(decode(['{"a":1}\r\nend\r\n[2]\r\ne', "nd\r", "\n"])).toEqual([{ a: 1 }, [2]]);
  });

  test("is not there before its last line is whole", () => {
    expect(decode(["[1]\nend"])).toEqual([]);
    expect(decode(["[1]\nen", "d", "\n"])).toEqual([[1]]);
  });

  test("may be cut within a character", () => {
    const bytes = bytesOf(encode("ä😀"));
    for (let at = 0; at < bytes.length; at++)
      expect(decode([bytes.slice(0, at), bytes.slice(at)])).toEqual(["ä😀"]);
  });

  check.prop([fc.array(fc.jsonValue(), { maxLength: 6 }), fc.array(fc.nat(), { maxLength: 12 })])(
    "comes out as it went in, however it was cut",
    (messages, places) => {
      const plain = messages.map((message) => JSON.parse(JSON.stringify(message)));
      expect(decode(cut(bytesOf(messages.map(encode).join("")), places))).toEqual(plain);
    },
  );

  check.prop([
    fc.array(fc.constantFrom("[1]", "end", "en", "", '"end"', "[", "2]", "end ", "ende"), { maxLength: 10 }),
    fc.array(fc.nat(), { maxLength: 6 }),
  ])("ends where a line reads `end` and nowhere else", (lines, places) => {
    const expected: unknown[] = [];
    let wrong = false;
    for (const text of lines.join("\n").concat("\n").split("\nend\n").slice(0, -1)) {
      try {
        if (!wrong) expected.push(JSON.parse(text));
      } catch {
        wrong = true;
      }
    }
    // Where the text begins with `end`, there is no line before it for the plain reading to see.
    fc.pre(lines[0] !== "end" && !lines.some((line, index) => line === "end" && lines[index + 1] === "end"));
    const found: unknown[] = [];
    const decoder = new Decoder();
    const work = (): void => {
      for (const chunk of cut(bytesOf(lines.join("\n").concat("\n")), places))
        decoder.push(chunk, (message) => found.push(message));
    };
    if (wrong) expect(errorOf(work).problem).toBe("json");
    else work();
    expect(found).toEqual(expected);
  });
});

describe("what is no message", () => {
  test("is shown in the error: junk before a message", () => {
    const { message, problem, code } = errorOf(() => decode(['loading model…\n{"a":1}\nend\n']));
    expect([problem, code]).toEqual(["json", "ERR_MULTILANG"]);
    expect(message).toContain("loading model…");
  });

  test("is shown in part when it is long", () => {
    expect(errorOf(() => decode([`${"x".repeat(5_000)}\nend\n`])).message.length).toBeLessThan(300);
  });

  test("is an empty message", () => {
    expect(errorOf(() => decode(["end\n"])).problem).toBe("json");
  });

  test("is one that is not UTF-8", () => {
    const bytes = Uint8Array.of(0x22, 0xff, 0x22, 0x0a, ...bytesOf("end\n"));
    expect(errorOf(() => decode([bytes])).problem).toBe("encoding");
  });

  test("is one that is too long, whole or without an end", () => {
    expect(decode([encode("x".repeat(85))], 100)).toHaveLength(1);
    expect(errorOf(() => decode([encode("x".repeat(105))], 100)).problem).toBe("size");
    const { message, problem } = errorOf(() => decode(Array(20).fill("nothing but noise "), 100));
    expect(problem).toBe("size");
    expect(message).toContain("nothing but noise");
    expect(message).toContain("100 bytes");
  });

  test("does not keep what came before it from being heard", () => {
    const found: unknown[] = [];
    expect(() =>
      new Decoder().push(bytesOf("[1]\nend\nx\nend\n[2]\nend\n"), (one) => found.push(one)),
    ).toThrow();
    expect(found).toEqual([[1]]);
  });

  test("cannot be sent either", () => {
    expect(errorOf(() => encode({ big: 1n })).problem).toBe("json");
    expect(errorOf(() => encode(undefined)).problem).toBe("json");
  });
});

test("the limit is checked", () => {
  expect(() => new Decoder(0)).toThrow(OptionError);
});

test("a message that was cut off is known by what is pending", () => {
  const decoder = new Decoder();
  decoder.push(bytesOf("[1]\nend\n[2"), () => undefined);
  expect(decoder.pending).toBe(2);
});
