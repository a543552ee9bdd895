// The error page says what the error classes of lib say.

import { describe, expect, it } from "vitest";
import { example, lib } from "../house/modules.js";
import { errorsIn, errorsPage, raisersIn } from "./errors-page.js";

const entries = lib.flatMap(errorsIn);
const raisers = raisersIn(lib);

describe("docs/errors.md", () => {
  it("is generated from the classes: after a change, run `npm run docs:errors`", async () => {
    await expect(errorsPage(entries, raisers)).toMatchFileSnapshot("../../docs/errors.md");
  });

  it("has a meaning and a remedy for each error", () => {
    expect(entries.length).toBeGreaterThan(50);
    expect(entries.filter(({ meaning }) => meaning === "").map(({ name }) => name)).toEqual([]);
    expect(entries.filter(({ remedy }) => remedy === "").map(({ name }) => name)).toEqual([]);
  });

  it("names for each error the modules that raise it", () => {
    expect(entries.filter(({ name }) => !raisers.has(name)).map(({ name }) => name)).toEqual([]);
  });

  it("reads TSDoc with and without tags", () => {
    const source = example(
      `/**
        * The till is empty.
        * Nothing was paid.
        *
        * @remedy Fill the till,
        * then {@link Till.pay} again.
        * @example
        * 1 + 1;
        */
       export class EmptyError extends Error { readonly code = "ERR_EMPTY" as const; }
       /** No class comes here. */ const other = 1;
       class PlainError extends Error { readonly code: string = "ERR_PLAIN"; }
       throw new EmptyError();`,
    );
    expect(errorsIn(source)).toEqual([
      {
        code: "ERR_EMPTY",
        name: "EmptyError",
        meaning: "The till is empty. Nothing was paid.",
        remedy: "Fill the till, then {@link Till.pay} again.",
        path: source.path,
      },
      { code: "ERR_PLAIN", name: "PlainError", meaning: "", remedy: "", path: source.path },
    ]);
    expect([...raisersIn([source])]).toEqual([["EmptyError", [source.path]]]);
    expect(errorsPage(errorsIn(source), new Map())).toContain(
      "**Remedy.** Fill the till, then `Till.pay` again.",
    );
  });
});
