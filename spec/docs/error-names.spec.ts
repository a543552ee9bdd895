// The name of an error is part of the API. The name survives minification, because each class states it as a string.

import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { SignalboxError } from "../../lib/process/errors.js";

const LIB = new URL("../../lib/", import.meta.url);

/** Code of pages, which needs a browser, and of the program `signalbox`, which runs when it is loaded. It has no errors of its own. */
const RUNS = /(?:testing[\\/]viewer|observer)[\\/]client[\\/]|^cli[\\/]main\.ts$/;

const files = readdirSync(LIB, { recursive: true, encoding: "utf8" }).filter(
  (path) => path.endsWith(".ts") && !RUNS.test(path),
);
const modules: object[] = await Promise.all(files.map((path) => import(new URL(path, LIB).href)));

/** Every error class of lib, by the name under which lib exports the class. */
const errors = new Map<string, typeof SignalboxError>(
  modules
    .flatMap((module) => Object.entries(module))
    .filter(([, value]) => value === SignalboxError || value?.prototype instanceof SignalboxError),
);

/** Every class has a `name` of its own, which a minifier changes; only a stated name is enumerable. */
const statesItsName = (name: string, error: object): boolean =>
  Object.entries(error).some(([key, value]) => key === "name" && value === name);

describe("the name of an error", () => {
  it.each([...errors])("%s is stated in its class [P20]", (name, error) => {
    expect(statesItsName(name, error)).toBe(true);
  });

  it("is missing where a class does not state it", () => {
    class QuietError extends SignalboxError {
      readonly code = "ERR_QUIET";
    }
    expect(statesItsName("QuietError", QuietError)).toBe(false);
    expect(new QuietError("").name).toBe("QuietError");
  });
});
