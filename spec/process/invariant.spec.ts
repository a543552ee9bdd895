// Rules that the library relies on are checked where it relies on them.

import { describe, expect, test } from "vitest";
import { InvariantError } from "../../lib/process/errors.js";
import { invariant } from "../../lib/process/invariant.js";

describe("an invariant", () => {
  test("that holds does nothing, and tells the compiler what holds", () => {
    const child: string | undefined = ["clerk"].at(0);
    invariant(child !== undefined, "there is a clerk");
    const text: string = child;
    expect(text).toBe("clerk");
  });

  test("that is broken throws an error that names the rule and asks for a report", () => {
    let error: unknown;
    try {
      invariant(false, "a budget is never overdrawn");
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(InvariantError);
    expect(error).toMatchObject({
      name: "InvariantError",
      code: "ERR_INVARIANT",
      invariant: "a budget is never overdrawn",
      message:
        "a bug in signalbox broke this rule: a budget is never overdrawn. Please report it with the stack trace",
    });
  });
});
