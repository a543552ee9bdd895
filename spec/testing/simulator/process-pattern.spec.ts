// Which processes a rule is about, by their path.

import { fc, test as properties } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import { patternMatcher } from "../../../lib/testing/simulator/process-pattern.js";

const fits = (match: Parameters<typeof patternMatcher>[1], path: string): boolean =>
  patternMatcher("of", match)(path);

describe("a pattern", () => {
  test.each<[pattern: string, path: string, fit: boolean]>([
    ["shop/till", "shop/till", true],
    ["shop/till", "shop/till2", false],
    ["shop/till", "my/shop/till", false],
    ["shop/*", "shop/till", true],
    ["shop/*", "shop/floor/till", false],
    ["shop/*", "shop/", true],
    ["shop/picker*", "shop/picker0", true],
    ["shop/picker*", "shop/picker", true],
    ["shop/picker*", "shop/picker#2", true],
    ["shop/till", "shop/till#2", true],
    ["shop/till", "shop/till#12", true],
    ["shop/till", "shop/till#", false],
    ["shop/till", "shop/till#2b", false],
    ["shop/till#2", "shop/till#2", true],
    ["shop/till#2", "shop/till", false],
    ["shop/till#2", "shop/till#3", false],
    ["shop/till#*", "shop/till#3", true],
    ["shop/till#*", "shop/till", false],
    ["shop/floor/till", "shop#3/floor#2/till#2", true],
    ["shop#3/till", "shop#3/till#2", true],
    ["shop#3/till", "shop#2/till", false],
    ["**/till", "shop/floor#2/till#2", true],
    ["shop/**", "shop#2/a", true],
    ["shop/*", "shop/till#2", true],
    ["shop/t**", "shop/t/a/b", true],
    ["shop/picker*", "shop/the picker", false],
    ["shop/*0", "shop/picker10", true],
    ["shop/p*r*", "shop/pickers", true],
    ["*/till", "shop/till", true],
    ["shop/**", "shop/floor/till", true],
    ["shop/**", "shop", false],
    ["**/till", "shop/floor/till", true],
    ["**/till", "till", true],
    ["**/till", "shop/untill", false],
    ["shop/**/till", "shop/till", true],
    ["shop/**/till", "shop/a/b/till", true],
    ["shop/**/till", "shop/a/b/untill", false],
    ["**", "shop/a/b", true],
    ["shop/a.c", "shop/abc", false],
    ["shop/a.c", "shop/a.c", true],
    ["shop/(a|b)+[c]?", "shop/(a|b)+[c]?", true],
    ["shop/$^{}\\", "shop/$^{}\\", true],
    ["", "", false],
  ])('"%s" and the path "%s": %s', (pattern, path, fit) => {
    if (pattern === "")
      expect(() => fits(pattern, path)).toThrow("of must be a pattern such as `shop/picker*`");
    else expect(fits(pattern, path)).toBe(fit);
  });

  properties.prop([fc.array(fc.stringMatching(/^[^/*#]{1,6}$/), { minLength: 1, maxLength: 4 })])(
    "without a star stands for itself, whatever characters it is made of",
    (names) => {
      const path = names.join("/");
      expect(fits(path, path)).toBe(true);
      expect(fits(path, `${path}x`)).toBe(false);
      expect(fits(path, `x${path}`)).toBe(false);
      expect(fits(`${path}/**`, `${path}/a/b`)).toBe(true);
      expect(fits(`**/${names.at(-1)}`, path)).toBe(true);
      expect(fits(path, names.map((name) => `${name}#2`).join("/"))).toBe(true);
      expect(fits(`${path}#2`, path)).toBe(false);
    },
  );
});

describe("something else", () => {
  test("may be a regular expression, anywhere in the path unless it is anchored", () => {
    expect(fits(/till/, "shop/untill/x")).toBe(true);
    expect(fits(/^till$/, "shop/till")).toBe(false);
    expect(fits(/TILL/i, "shop/till")).toBe(true);
  });

  test("a regular expression with a memory says the same of the same path each time", () => {
    for (const flags of ["g", "y", "gy"]) {
      const match = patternMatcher("of", new RegExp("shop/till", flags));
      expect([1, 2, 3].map(() => match("shop/till"))).toEqual([true, true, true]);
    }
  });

  test("may be a function of the path", () => {
    expect(fits((path) => path.length === 4, "shop")).toBe(true);
    expect(fits((path) => path.length === 4, "shops")).toBe(false);
  });

  test("may be a list, of which one has to fit", () => {
    const list = ["a", /b/, (path: string) => path === "c"];
    expect(["a", "abba", "c", "d"].map((path) => fits(list, path))).toEqual([true, true, true, false]);
    expect(fits([], "a")).toBe(false);
  });

  test.each<[unknown, string]>([
    [undefined, "of must be"],
    [5, "of must be"],
    [null, "of must be"],
    [["a", ""], "of\\[1\\] must be"],
    [["a", ["b", 5]], "of\\[1\\]\\[1\\] must be"],
  ])("%j is a mistake, and its place is named", (match, message) => {
    expect(() => patternMatcher("of", match as string)).toThrow(new RegExp(`^${message}`));
  });
});
