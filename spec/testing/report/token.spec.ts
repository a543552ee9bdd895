// A run as a token: everything that a replay needs comes back, and a token that was mangled is never taken for another.

import { fc, test as property } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { OptionError } from "../../../lib/index.js";
import {
  decodeToken,
  encodeToken,
  InvalidTokenError,
  scenarioHash,
  type TokenInput,
  type TokenProblem,
} from "../../../lib/testing/report/token.js";

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const run: TokenInput = {
  scenario: "two clerks",
  choices: [0, 0, 2, 1],
  sizes: [4, 2, 3, 2],
  digest: 7,
  settings: 0,
};
const TOKEN = "sb1.ZAAxbHmAAAAAAHCBAAAABsoXjD";

function problemOf(token: unknown): TokenProblem | "none" {
  try {
    decodeToken(token as string);
    return "none";
  } catch (error) {
    if (error instanceof InvalidTokenError) return error.problem;
    throw error;
  }
}

/** Choices with their sizes; mostly zeros, as those of a shrunk run are. */
const choice = (most: number): fc.Arbitrary<readonly [choice: number, size: number]> =>
  fc
    .integer({ min: 2, max: most })
    .chain((size) => fc.tuple(fc.integer({ min: 0, max: size - 1 }), fc.constant(size)));
const zero = fc.constant([0, 5] as const);
const decisions = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: zero },
      { weight: 2, arbitrary: choice(6) },
      choice(Number.MAX_SAFE_INTEGER),
    ),
  )
  .map((pairs) => ({ choices: pairs.map(([one]) => one), sizes: pairs.map(([, size]) => size) }));
const word = fc.integer({ min: 0, max: 0xffff_ffff });
const runs: fc.Arbitrary<TokenInput> = fc
  .record({
    scenario: fc.string({ unit: "binary", minLength: 1 }),
    decisions,
    digest: word,
    settings: fc.maxSafeNat(),
  })
  .map(({ decisions, ...rest }) => ({ ...rest, ...decisions }));

describe("a token", () => {
  it("is one line, safe in a URL or a shell, and the same in every version", () => {
    expect(encodeToken(run)).toBe(TOKEN);
  });

  it("gives back the run, without the zeros at its end and the sizes of zeros", () => {
    expect(
      decodeToken(encodeToken({ ...run, choices: [...run.choices, 0, 0], sizes: [...run.sizes, 9, 9] })),
    ).toEqual({
      scenario: scenarioHash("two clerks"),
      choices: [0, 0, 2, 1],
      sizes: [0, 0, 3, 2],
      digest: 7,
      settings: 0,
    });
  });

  it("may have white space around it, as copied text has", () => {
    expect(decodeToken(`\n  ${TOKEN}\r\n`)).toEqual(decodeToken(TOKEN));
  });

  it("is there for a run without any choice", () => {
    const token = encodeToken({ ...run, choices: [], sizes: [] });
    expect(decodeToken(token)).toMatchObject({ choices: [], sizes: [] });
    expect(encodeToken({ ...run, choices: [0, 0], sizes: [2, 2] })).toBe(token);
  });

  it("is short: 10,000 zeros and five other choices take less than 60 characters", () => {
    for (const [value, size] of [
      [1, 2],
      [7, 20],
      [31, 64],
    ] as const) {
      const choices = new Array<number>(10_005).fill(0);
      for (const at of [0, 3_000, 3_001, 9_000, 10_004]) choices[at] = value;
      const sizes = choices.map(() => size);
      const token = encodeToken({ ...run, choices, sizes, digest: 0xffff_ffff, settings: 0xffff });
      expect(token.length).toBeLessThan(60);
      expect(decodeToken(token).choices).toEqual(choices);
    }
  });

  property.prop([runs])("gives back any run, with the sizes of all choices that are not 0", (run) => {
    const token = encodeToken(run);
    expect(token).toMatch(/^sb1\.[\w-]+$/);
    const last = run.choices.findLastIndex((one) => one !== 0) + 1;
    expect(decodeToken(token)).toEqual({
      scenario: scenarioHash(run.scenario),
      choices: run.choices.slice(0, last),
      sizes: run.sizes.slice(0, last).map((size, i) => (run.choices[i] === 0 ? 0 : size)),
      digest: run.digest,
      settings: run.settings,
    });
  });

  property.prop([runs])("is made as its format says, read here in another way", (run) => {
    const body = encodeToken(run).slice("sb1.".length);
    const numberOf = (digits: string): bigint =>
      [...digits].reduceRight((sum, digit) => sum * 32n + BigInt(DIGITS.indexOf(digit) % 32), 0n);
    const wordOf = (digits: string): bigint =>
      [...digits].reduce((sum, digit) => sum * 64n + BigInt(DIGITS.indexOf(digit)), 0n);
    const parts =
      /^([g-z0-9_-]*[A-Za-f])([g-z0-9_-]*[A-Za-f])(.{6})(.{6})((?:[g-z0-9_-]*[A-Za-f])*)(.{6})$/.exec(body);
    const [, length = "", settings = "", scenario = "", digest = "", rest = ""] = parts ?? [];
    expect(numberOf(length)).toBe(BigInt(body.length - length.length));
    expect([numberOf(settings), wordOf(digest)]).toEqual([BigInt(run.settings), BigInt(run.digest)]);
    expect(wordOf(scenario)).toBe(BigInt(scenarioHash(run.scenario)));
    const numbers = (rest.match(/[g-z0-9_-]*[A-Za-f]/g) ?? []).map((digits) => Number(numberOf(digits)));
    const choices: number[] = [];
    for (let i = 0; i < numbers.length; i += 3) {
      choices.push(...new Array<number>(numbers[i] as number).fill(0), (numbers[i + 1] as number) + 1);
    }
    expect([...choices, ...run.choices.slice(choices.length)]).toEqual(run.choices);
  });
});

describe("a mangled token is recognised", () => {
  const long = encodeToken({
    scenario: "long",
    choices: Array.from({ length: 120 }, (_, i) => (i % 7 === 0 ? (i % 3) + 1 : 0)),
    sizes: Array.from({ length: 120 }, () => 5),
    digest: 0xdead_beef,
    settings: 3,
  });

  it.each([TOKEN, long])("each change of one of its characters: %s", (token) => {
    const mangled: string[] = [];
    for (let i = 0; i < token.length; i++) {
      for (const char of `${DIGITS}. é\n%`)
        if (char !== token[i]) mangled.push(token.slice(0, i) + char + token.slice(i + 1));
    }
    expect(mangled.length).toBeGreaterThan(1_900);
    expect(mangled.filter((text) => problemOf(text) === "none")).toEqual([]);
  });

  it.each([TOKEN, long])("each character left out, put in, or changed with its neighbour: %s", (token) => {
    const mangled: string[] = [];
    for (let i = 0; i < token.length; i++) {
      mangled.push(token.slice(0, i) + token.slice(i + 1));
      for (const char of DIGITS) mangled.push(token.slice(0, i) + char + token.slice(i));
      const [one, two] = [token[i], token[i + 1]];
      if (one !== two) mangled.push(token.slice(0, i) + (two ?? "") + one + token.slice(i + 2));
    }
    expect(mangled.length).toBeGreaterThan(1_900);
    expect(mangled.filter((text) => text !== token && problemOf(text) === "none")).toEqual([]);
  });

  it.each([TOKEN, long])("each beginning of it: %s", (token) => {
    expect(problemOf("")).toBe("prefix");
    for (let i = 1; i < token.length; i++) expect(problemOf(token.slice(0, i))).toBe("truncated");
  });

  property.prop([runs, fc.nat(), fc.constantFrom(...DIGITS)])(
    "in any run: a character changed or left out, the end cut off",
    (run, place, char) => {
      const token = encodeToken(run);
      const at = place % token.length;
      const [before, after] = [token.slice(0, at), token.slice(at + 1)];
      if (token[at] !== char) expect(problemOf(before + char + after)).not.toBe("none");
      expect(problemOf(before + after)).not.toBe("none");
      expect(problemOf(before)).toBe(before === "" ? "prefix" : "truncated");
      expect(problemOf(token + char)).toBe("surplus");
    },
  );

  property.prop([fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: fc.constantFrom(...DIGITS) }))])(
    "no other text is taken for one, and none leads to another error",
    (text) => {
      expect(problemOf(text)).not.toBe("none");
      expect(problemOf(`sb1.${text}`)).not.toBe("none");
    },
  );
});

describe("the error explains the problem", () => {
  const textOf = (token: unknown): string => {
    try {
      decodeToken(token as string);
      return "";
    } catch (error) {
      return (error as Error).message;
    }
  };

  it("has a code, as all errors have", () => {
    expect(() => decodeToken("")).toThrow(
      expect.objectContaining({ code: "ERR_SIM_TOKEN", name: "InvalidTokenError", problem: "prefix" }),
    );
  });

  it("with the beginning", () => {
    expect(textOf("hello world, this is long")).toMatchInlineSnapshot(
      `"this is not the token of a run: it begins with "hello wor…", not with "sb1.""`,
    );
    expect(textOf(undefined)).toMatchInlineSnapshot(
      `"this is not the token of a run: it is no text but undefined"`,
    );
    expect([problemOf("sb"), problemOf("sbx."), problemOf("sb01.A"), problemOf(12)]).toEqual([
      "truncated",
      "prefix",
      "prefix",
      "prefix",
    ]);
  });

  it("with the version", () => {
    expect(textOf(TOKEN.replace("sb1", "sb2"))).toMatchInlineSnapshot(
      `"this is not the token of a run: a newer signalbox wrote it, in format 2; use that one, or make the token again with this one, which reads format 1"`,
    );
    expect(textOf(TOKEN.replace("sb1", "sb0"))).toMatchInlineSnapshot(
      `"this is not the token of a run: an older signalbox wrote it, in format 0; use that one, or make the token again with this one, which reads format 1"`,
    );
    expect(problemOf("sb17.whatever comes then")).toBe("version");
  });

  it("with a character", () => {
    expect(textOf(`${TOKEN.slice(0, 10)}é${TOKEN.slice(11)}`)).toMatchInlineSnapshot(
      `"this is not the token of a run: "é", its character 11, is in no token"`,
    );
    expect(problemOf(`${TOKEN.slice(0, 20)}\n${TOKEN.slice(20)}`)).toBe("characters");
  });

  it("with the length", () => {
    expect(textOf(TOKEN.slice(0, -3))).toMatchInlineSnapshot(
      `"this is not the token of a run: it says that it has 30 characters, and these are 27; copy all of it"`,
    );
    expect(textOf("sb1.")).toMatchInlineSnapshot(
      `"this is not the token of a run: it ends amid a number; copy all of it"`,
    );
    expect(textOf("sb1")).toMatchInlineSnapshot(
      `"this is not the token of a run: it is no more than its first characters, "sb1""`,
    );
    expect(textOf(`${TOKEN}x`)).toMatchInlineSnapshot(
      `"this is not the token of a run: it has 30 characters, and 1 come after them"`,
    );
  });

  it("with some character in the middle", () => {
    expect(textOf(TOKEN.replace("HmA", "HnA"))).toMatchInlineSnapshot(
      `"this is not the token of a run: its checksum does not fit: some of its characters are not what they were"`,
    );
    // A length that is no exact number.
    expect(problemOf(`sb1.${"_".repeat(10)}fA`)).toBe("checksum");
    expect(problemOf(`sb1.${"g".repeat(400)}A`)).toBe("checksum");
  });

  it("of foreign content with a correct checksum", () => {
    expect(problemOf(sealed(`A${"A".repeat(12)}`))).toBe("none");
    expect(textOf(sealed(`A${"A".repeat(12)}AA`))).toMatchInlineSnapshot(
      `"this is not the token of a run: it ends amid a choice; encodeToken writes no such token"`,
    );
    expect(textOf(sealed(`A${"A".repeat(12)}${"_".repeat(9)}AAA`))).toMatchInlineSnapshot(
      `"this is not the token of a run: it stands for more than 1,000,000 choices; encodeToken writes no such token"`,
    );
    expect(textOf(sealed(`A${"A".repeat(12)}A${"_".repeat(10)}PA`))).toMatchInlineSnapshot(
      `"this is not the token of a run: it has a choice of one among too many; encodeToken writes no such token"`,
    );
    expect(textOf(sealed(`A${"A".repeat(12)}A${"_".repeat(40)}AA`))).toMatchInlineSnapshot(
      `"this is not the token of a run: it has a choice of one among too many; encodeToken writes no such token"`,
    );
    expect(textOf(sealed(`${"_".repeat(40)}A${"A".repeat(12)}`))).toMatchInlineSnapshot(
      `"this is not the token of a run: it has settings that are too great a number; encodeToken writes no such token"`,
    );
    expect(problemOf(sealed(`A${"A".repeat(12)}${"g".repeat(400)}AAA`))).toBe("content");
    expect(textOf(sealed(`AE${"A".repeat(11)}`))).toMatchInlineSnapshot(
      `"this is not the token of a run: it has a hash of more than 32 bits; encodeToken writes no such token"`,
    );
    expect(textOf(sealed(`A${"A".repeat(12)}AA_`))).toMatchInlineSnapshot(
      `"this is not the token of a run: it ends amid a choice; encodeToken writes no such token"`,
    );
  });
});

describe("a value that is no run is rejected", () => {
  it.each<[Partial<TokenInput>, string]>([
    [{ scenario: "" }, "scenario"],
    [{ choices: [1], sizes: [] }, "sizes.length"],
    [{ choices: [1], sizes: [2, 2] }, "sizes.length"],
    [{ choices: [0, -1], sizes: [2, 2] }, "choices[1]"],
    [{ choices: [1.5], sizes: [2] }, "choices[0]"],
    [{ choices: [0, 2], sizes: [2, 2] }, "sizes[1]"],
    [{ choices: [2], sizes: [2.5] }, "sizes[0]"],
    [{ digest: 2 ** 32 }, "digest"],
    [{ digest: -1 }, "digest"],
    [{ settings: -1 }, "settings"],
    [{ settings: 2 ** 53 }, "settings"],
  ])("%j at %s", (wrong, path) => {
    let error: unknown;
    try {
      encodeToken({ ...run, ...wrong });
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(OptionError);
    expect(error).toMatchObject({ path });
  });

  it("more than a million choices", () => {
    const choices = new Array<number>(1_000_001).fill(0);
    const token = encodeToken({ ...run, choices, sizes: choices });
    expect(decodeToken(token).choices).toEqual([]);
    choices[999_999] = 1;
    const sizes = choices.with(999_999, 2);
    expect(decodeToken(encodeToken({ ...run, choices, sizes })).choices.length).toBe(1_000_000);
    choices[1_000_000] = 1;
    expect(() => encodeToken({ ...run, choices, sizes: choices.map((one) => one + 1) })).toThrow(
      "choices.length must be 1,000,000 at most; got 1000001",
    );
  });
});

describe("the hash of a scenario", () => {
  it("is the same in every version", () => {
    expect([
      scenarioHash(""),
      scenarioHash("two clerks"),
      scenarioHash("two clerkt"),
      scenarioHash("日"),
    ]).toMatchInlineSnapshot(`
      [
        2872998923,
        829192576,
        2171393523,
        1590678106,
      ]
    `);
  });

  it("is another for another scenario, with few exceptions", () => {
    const hashes = new Set<number>();
    for (let i = 0; i < 20_000; i++) hashes.add(scenarioHash(`scenario ${i}`));
    expect(hashes.size).toBeGreaterThan(19_995);
    for (const hash of hashes)
      if (!(hash >= 0 && hash < 2 ** 32 && Number.isInteger(hash))) expect.unreachable();
    const bits = Array.from(
      { length: 32 },
      (_, bit) => [...hashes].filter((hash) => (hash >>> bit) & 1).length,
    );
    for (const ones of bits) expect(Math.abs(ones / hashes.size - 0.5)).toBeLessThan(0.02);
  });
});

/** A token around anything, with length and checksum; the CRC from its polynomial, bit by bit over a list of bits. */
function sealed(body: string): string {
  const length = body.length + 6;
  const begin = `sb1.${length < 32 ? DIGITS[length] : `${DIGITS[(length % 32) + 32]}${DIGITS[Math.floor(length / 32)]}`}${body}`;
  const bits = [...begin].flatMap((char) =>
    Array.from({ length: 8 }, (_, bit) => (char.charCodeAt(0) >> bit) & 1),
  );
  for (let i = 0; i < 32; i++) {
    bits.push(0);
    bits[i] = 1 - (bits[i] as number);
  }
  const POLYNOMIAL = "100000100110000010001110110110111";
  for (let i = 0; i + 32 < bits.length; i++) {
    if (bits[i] === 1)
      for (let j = 0; j <= 32; j++) bits[i + j] = (bits[i + j] as number) ^ Number(POLYNOMIAL[j]);
  }
  const sum = bits.slice(-32).reduce((crc, bit, i) => crc + (1 - bit) * 2 ** i, 0);
  const digits = Array.from({ length: 6 }, (_, i) => DIGITS[Math.floor(sum / 64 ** (5 - i)) % 64]);
  return begin + digits.join("");
}
