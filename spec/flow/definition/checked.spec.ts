// Values from outside are checked by the schemas of the user's library before anything is stored.

import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { checked, type Subject } from "../../../lib/flow/definition/checked.js";
import { FlowInputError, MessageError, ProgressError } from "../../../lib/host/payload/errors.js";
import type { StandardSchema } from "../../../lib/process/standard-schema.js";

const INPUT: Subject = { type: "input", flow: "checkout" };
const schemas: readonly (readonly [string, StandardSchema])[] = [
  ["zod", z.object({ id: z.string(), lines: z.array(z.object({ count: z.number() })) })],
  ["valibot", v.object({ id: v.string(), lines: v.array(v.object({ count: v.number() })) })],
];

describe.each(schemas)("with a schema of %s", (_, schema) => {
  test("a valid value passes, an invalid one fails with all issues and their paths [J48]", () => {
    const good = { id: "a", lines: [{ count: 1 }] };
    expect(checked(schema, good, INPUT)).toEqual(good);
    try {
      checked(schema, { id: 1, lines: [{ count: 1 }, { count: "x" }] }, INPUT);
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(FlowInputError);
      expect((error as FlowInputError).problems.map(({ path }) => path)).toEqual(["id", "lines.1.count"]);
      expect((error as FlowInputError).message).toMatch(
        /^the input of flow checkout is invalid:\n {2}id: .+\n {2}lines\.1\.count: .+$/,
      );
    }
  });

  test("the error says whether it was an input, a message or progress [J48]", () => {
    const message: Subject = { type: "message", flow: "checkout", topic: "approval" };
    expect(() => checked(schema, 5, message)).toThrow(MessageError);
    expect(() => checked(schema, 5, message)).toThrow(
      /^the message "approval" to flow checkout is invalid:\n {2}\(whole\): /,
    );
    expect(() => checked(schema, 5, { type: "progress", flow: "checkout" })).toThrow(ProgressError);
  });
});

test("an asynchronous schema is awaited, and no schema takes everything [J48]", async () => {
  const free = z.string().refine(async (id) => id !== "taken", "is taken");
  await expect(checked(free, "taken", INPUT)).rejects.toThrow("(whole): is taken");
  await expect(checked(free, "free", INPUT)).resolves.toBe("free");
  expect(checked(undefined, Symbol.iterator, INPUT)).toBe(Symbol.iterator);
});
