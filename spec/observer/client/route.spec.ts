// The addresses of views, and the token that is taken from the first one.

import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import {
  changedRoute,
  formatRoute,
  parseRoute,
  takeToken,
} from "../../../lib/observer/client/model/route.js";

describe("the address of a view", () => {
  test.prop([
    fc.stringMatching(/^[a-z][\w-]{0,10}$/),
    fc.dictionary(
      fc.string({ minLength: 1 }).filter((name) => name !== "__proto__"),
      fc.string({ minLength: 1 }),
    ),
  ])("has the page and all parameters, whatever is in them [N1581]", (page, params) => {
    const address = formatRoute(page, params);
    expect(parseRoute(address)).toEqual({ page, params: { ...params } });
    expect(address).toMatch(/^#[\x21-\x7e]+$/);
  });

  it("is the same for the same view, in whatever order its parameters came", () => {
    expect(formatRoute("tree", { b: 2, a: "1" })).toBe(formatRoute("tree", { a: "1", b: 2 }));
  });

  it("leaves out what is not set", () => {
    expect(formatRoute("tree", { a: undefined, b: "", c: false, d: null, e: 0 })).toBe("#/tree?e=0");
    const route = parseRoute("#/top?find=x&sort=-Mailbox");
    expect(changedRoute(route, { find: "" })).toEqual({ page: "top", params: { sort: "-Mailbox" } });
  });

  test.each(["", "#", "#x", "#token=1", "#//", "javascript:alert(1)"])(
    "%j is the address of no page",
    (hash) => {
      expect(parseRoute(hash).page).toBe("");
    },
  );
});

describe("the token in an address", () => {
  test.each([
    ["#token=abc", "abc", ""],
    ["#token=a%2Bb&/tree?at=5", "a+b", "#/tree?at=5"],
    ["#token=a%", "a%", ""],
    ["#token=", undefined, ""],
    ["#/tree?token=abc", undefined, "#/tree?token=abc"],
  ])("%j", (hash, token, rest) => {
    expect(takeToken(hash)).toEqual({ token, rest });
  });
});
