// The configuration of a service, by schemas of a real library and by hand.

import { type Body, supervisor } from "signalbox";
import { ConfigurationError, run, type StandardSchema } from "signalbox/service";
import * as v from "valibot";
import { describe, expect, expectTypeOf, it } from "vitest";
import { readConfiguration } from "../../../lib/service/application/configuration.js";

const worker: Body<never> = async (ctx) => void (await ctx.receive());
const tree = supervisor({ children: [{ id: "clerk", start: worker }] });
const schema = v.object({
  PORT: v.pipe(v.string(), v.transform(Number), v.integer(), v.minValue(1)),
  DATABASE_URL: v.pipe(v.string(), v.url()),
  LEVEL: v.optional(v.picklist(["info", "debug"]), "info"),
});

/** What is wrong, as `path: message`. */
async function problems(given: StandardSchema, from: unknown): Promise<string[]> {
  const error: unknown = await readConfiguration({ schema: given, from }).catch((thrown) => thrown);
  if (!(error instanceof ConfigurationError)) throw new Error("it was valid");
  return error.problems.map(({ path, message }) => `${path}: ${message}`);
}

/** A schema that finds these issues. */
function finding(...issues: readonly { message: string; path?: readonly PropertyKey[] }[]): StandardSchema {
  return { "~standard": { version: 1, vendor: "test", validate: () => ({ issues }) } };
}

describe("a valid configuration", () => {
  it("is given to the function that makes the tree, with its type", async () => {
    const from = { PORT: "8080", DATABASE_URL: "postgres://db", OTHER: "1" };
    await using service = run(
      (config, { name }) => {
        expectTypeOf(config).toEqualTypeOf<{ PORT: number; DATABASE_URL: string; LEVEL: "info" | "debug" }>();
        expect([config, name]).toEqual([
          { PORT: 8080, DATABASE_URL: "postgres://db", LEVEL: "info" },
          "shop",
        ]);
        return tree;
      },
      { name: "shop", config: { schema, from }, host: false },
    );
    expectTypeOf(await service.started).toHaveProperty("whichChildren");
    expect(service.phase).toBe("running");
  });

  it("may come from a function, and be checked asynchronously", async () => {
    const slow = v.objectAsync({
      a: v.pipeAsync(
        v.string(),
        v.checkAsync(async (text) => text === "b"),
      ),
    });
    expect(await readConfiguration({ schema: slow, from: async () => ({ a: "b" }) })).toEqual({ a: "b" });
    expect(await problems(slow, async () => ({ a: "secret" }))).toEqual([
      'a: Invalid input: Received "(hidden)"',
    ]);
  });
});

describe("an invalid configuration", () => {
  it("is named with all that is wrong, and without values [A10]", async () => {
    expect(await problems(schema, { PORT: "many", DATABASE_URL: "my password", LEVEL: "loud" })).toEqual([
      "PORT: Invalid integer: Received NaN",
      "PORT: Invalid value: Expected >=1 but received NaN",
      'DATABASE_URL: Invalid URL: Received "(hidden)"',
      'LEVEL: Invalid type: Expected ("info" | "debug") but received "(hidden)"',
    ]);
    expect(await problems(schema, {})).toEqual([
      'PORT: Invalid key: Expected "PORT" but received undefined',
      'DATABASE_URL: Invalid key: Expected "DATABASE_URL" but received undefined',
    ]);
  });

  it.each([
    ["at the path", { path: ["pin"], message: 'got "7"' }, 'pin: got "(hidden)"'],
    [
      "below the path",
      { path: ["db"], message: "user root, password hunter2" },
      "db: user (hidden), password (hidden)",
    ],
    ["of another setting with a secret name", { message: "abc123 differs" }, ": (hidden) differs"],
    ["quoted with escapes", { path: ["quote"], message: String.raw`got "a\"b"` }, 'quote: got "(hidden)"'],
  ])("hides a value %s [A10]", async (_name, issue, expected) => {
    const from = { pin: 7, db: { user: "root", password: "hunter2" }, apiToken: "abc123", quote: 'a"b' };
    expect(await problems(finding(issue), from)).toEqual([expected]);
  });

  it("keeps the words of a message: a value that is a part of one hides nothing", async () => {
    const from = { a: "e", b: "type" };
    expect(await problems(finding({ path: ["a"], message: "Expected a number" }), from)).toEqual([
      "a: Expected a number",
    ]);
    expect(await problems(finding({ path: ["b"], message: "untyped" }), from)).toEqual(["b: untyped"]);
  });

  it.each([
    [
      "the schema throws",
      {
        "~standard": {
          version: 1,
          vendor: "t",
          validate: () => {
            throw new Error("no hunter2");
          },
        },
      },
      { password: "hunter2" },
    ],
    [
      "its source throws",
      finding(),
      () => {
        throw new Error("no file");
      },
    ],
  ] as const)("is also one when %s [A10]", async (_name, given, from) => {
    const [problem] = await problems(given as StandardSchema, from);
    expect(problem).toMatch(/^: it could not be checked: crash, Error: no (file|\(hidden\))$/);
  });

  it("starts nothing [A10]", async () => {
    let made = 0;
    const service = run(
      () => {
        made++;
        return tree;
      },
      { config: { schema, from: {} }, host: false, system: { report: false } },
    );
    await expect(service.started).rejects.toMatchObject({ code: "ERR_SERVICE_START" });
    expect([(await service.ended).outcome, (await service.ended).exitCode, made]).toEqual([
      "configurationInvalid",
      78,
      0,
    ]);
  });
});
