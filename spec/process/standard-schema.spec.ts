// Schemas of other libraries, through the one interface that they share.

import { OptionError } from "signalbox";
import * as v from "valibot";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  type InferInput,
  type InferOutput,
  pathOf,
  type SchemaIssue,
  type StandardSchema,
  schemaOption,
  validated,
} from "../../lib/process/standard-schema.js";

class Refused extends Error {
  readonly issues: readonly SchemaIssue[];
  constructor(issues: readonly SchemaIssue[]) {
    super("refused");
    this.issues = issues;
  }
}

const refused = (issues: readonly SchemaIssue[]): Refused => new Refused(issues);
const byZod = z.object({ id: z.string(), lines: z.array(z.object({ count: z.coerce.number() })) });
const byValibot = v.object({
  id: v.string(),
  lines: v.array(v.object({ count: v.pipe(v.unknown(), v.transform(Number), v.number()) })),
});

describe.each([
  ["zod", byZod],
  ["valibot", byValibot],
] as const)("a schema of %s", (_, schema) => {
  test("gives its output at once", () => {
    const given = { id: "a", lines: [{ count: "3" }] };
    expect(validated(schemaOption("input", schema), given, refused)).toEqual({
      id: "a",
      lines: [{ count: 3 }],
    });
  });

  test("names each issue with its path", () => {
    const given = { id: 7, lines: [{ count: 1 }, { count: "x" }] };
    try {
      validated<unknown>(schema, given, refused);
      expect.unreachable();
    } catch (error) {
      expect((error as Refused).issues.map(pathOf)).toEqual([["id"], ["lines", 1, "count"]]);
    }
  });
});

test("an asynchronous schema gives a promise", async () => {
  const free = z.string().refine(async (name) => name !== "taken", "is taken");
  await expect(validated(free, "free", refused)).resolves.toBe("free");
  await expect(validated(free, "taken", refused)).rejects.toMatchObject({
    issues: [{ message: "is taken" }],
  });
});

test("input and output are inferred", () => {
  const dates = z.string().transform((text) => new Date(text));
  expectTypeOf<InferInput<typeof dates>>().toEqualTypeOf<string>();
  expectTypeOf<InferOutput<typeof dates>>().toEqualTypeOf<Date>();
  expectTypeOf<InferOutput<typeof byValibot>>().toEqualTypeOf<{ id: string; lines: { count: number }[] }>();
  expectTypeOf(validated(dates, "2026-01-01", refused)).toEqualTypeOf<Date | Promise<Date>>();
});

test.each([undefined, null, {}, { "~standard": { version: 2, validate: () => 0 } }, { parse: () => 0 }])(
  "a value that is no schema is refused: %j",
  (given) => {
    expect(() => schemaOption("messages.approval", given as unknown as StandardSchema)).toThrow(OptionError);
    expect(() => schemaOption("messages.approval", given as unknown as StandardSchema)).toThrow(
      /^messages\.approval must be a schema that implements Standard Schema/,
    );
  },
);
