import { inspect } from "node:util";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { PipelineFileError } from "../../../lib/pipeline/yaml/errors.js";
import { adapterType, pipelineRegistry } from "../../../lib/pipeline/yaml/registry.js";
import { configOf, linesOf, parse, withConfig } from "./support.js";

const HERE = "routes.a.adapters[0].config";
// biome-ignore-start lint/suspicious/noTemplateCurlyInString: variables of files look like this

describe("variables of the environment", () => {
  it.each<[string, Record<string, string>, unknown]>([
    ["${A}", { A: "x" }, "x"],
    ["a-${A}-${B}", { A: "1", B: "2" }, "a-1-2"],
    ["${A:-none}", {}, "none"],
    ["${A:-none}", { A: "" }, "none"],
    ["${A}", { A: "" }, ""],
    ["${A:-}", {}, ""],
    ["${A:-8}", {}, 8],
    ["${A}", { A: "8" }, 8],
    ["${A}", { A: "-1.5e3" }, -1500],
    ["${A}", { A: "true" }, true],
    ["${A}", { A: "null" }, "null"],
    ["${A}", { A: "012" }, "012"],
    ['"${A}"', { A: "8" }, "8"],
    ["'${A}'", { A: "true" }, "true"],
    ["${A}0", { A: "8" }, "80"],
    ['"$${A}"', { A: "8" }, "${A}"],
    ['"$$${A}"', { A: "8" }, "$${A}"],
    ["${A}", { A: "${B}", B: "not read" }, "${B}"],
    ["|\n          one ${A}\n          two", { A: "x" }, "one x\ntwo\n"],
    ["$A {A} $", { A: "x" }, "$A {A} $"],
  ])("%s with %j is %j [Y77]", async (written, env, expected) => {
    expect(await configOf(withConfig(written), { env })).toEqual(expected);
  });

  it.each([
    "x\nroutes: {}\nb: 1",
    "}, evil: { a: 1",
    "# comment",
    "*alias",
    "&a x",
    "!!binary x",
    "a: b: c",
    '"',
    "'",
    "- 1\n- 2",
    "%YAML 1.1",
    "\u0000\u2028",
    "__proto__",
  ])("a value has no effect on structure: %j (bug 39) [Y78]", async (value) => {
    const env = { A: value };
    expect(await configOf(withConfig("{ x: '${A}', y: 1 }"), { env })).toEqual({ x: value, y: 1 });
    expect(await configOf(withConfig("${A}"), { env })).toBe(value);
  });

  it("a variable in a comment is not looked up (bug 39) [Y78]", async () => {
    expect(await configOf(`# \${MISSING}\n${withConfig("1 # ${MISSING} ${")}`)).toBe(1);
  });

  it("a variable in a name is refused: names are structure", async () => {
    expect(await linesOf(withConfig("{ '${A}': 1 }"), { env: { A: "x" } })).toEqual([
      `8:19 ${HERE}["\${A}"]: a name without variables: they stand in values <- \${A}`,
    ]);
  });

  it.each([
    [
      "${MISSING}",
      `8:17 ${HERE}: a variable that is set, or one with a default as in \${MISSING:-default} <- \${MISSING}, which is not set`,
    ],
    [
      "${HOMW}",
      `8:17 ${HERE}: a variable that is set, or one with a default as in \${HOMW:-default} <- \${HOMW}, which is not set (HOME?)`,
    ],
    [
      "${toString}",
      `8:17 ${HERE}: a variable that is set, or one with a default as in \${toString:-default} <- \${toString}, which is not set`,
    ],
    [
      "a ${",
      `8:17 ${HERE}: a text with variables such as \${NAME} or \${NAME:-default}, or $\${ for a plain \${ <- an unfinished \${`,
    ],
    [
      "${1A}",
      `8:17 ${HERE}: a text with variables such as \${NAME} or \${NAME:-default}, or $\${ for a plain \${ <- an unfinished \${`,
    ],
    [
      "${BIG}",
      `8:17 ${HERE}: a number that is exact, or in quotes to make it a text <- \${BIG}, whose value is a number that is too large`,
    ],
  ])("%s is a fault with its place [Y77]", async (written, line) => {
    expect(
      await linesOf(withConfig(written), { env: { HOME: "/root", BIG: "12345678901234567890" } }),
    ).toEqual([line]);
  });

  it("within { } a variable needs quotes, and the fault says so", async () => {
    expect((await linesOf(withConfig("{ a: ${A} }"), { env: { A: "x" } }))[0]).toMatch(
      /needs quotes: "\$\{NAME\}"$/,
    );
  });

  it("takes policies of a route too", async () => {
    const text = withConfig("1").replace("from: a", "from: a\n    concurrency: ${N}");
    expect((await parse(text, { env: { N: "12" } })).options.routes[0]?.options.concurrency).toBe(12);
  });
});

describe("values of the environment", () => {
  const SECRET = "hunter2-S3cret";
  const DIGITS = "834";
  const env = { PW: SECRET, PIN: DIGITS, URL: `postgres://u:${SECRET}@db` };
  const create = (config: unknown) => ({ name: "x", process: () => config });
  const types = pipelineRegistry({
    adapters: [
      adapterType({
        type: "zod",
        config: z.strictObject({ a: z.literal("x"), b: z.string().regex(/^q/) }),
        create,
      }),
      adapterType({
        type: "valibot",
        config: v.strictObject({ a: v.literal("x"), b: v.pipe(v.string(), v.regex(/^q/)) }),
        create,
      }),
      adapterType({ type: "arktype", config: type({ "+": "reject", a: "'x'", b: /^q/ }), create }),
      adapterType({
        type: "throws",
        config: z.unknown(),
        create: (config) => {
          throw new Error(`cannot connect: ${JSON.stringify(config)}`);
        },
      }),
    ],
  });

  it.each(["zod", "valibot", "arktype", "throws"])("appear in no error: %s [Y79]", async (name) => {
    const text =
      `version: 1\nname: a\ninFlight: \${PW}\nmaxHops: "\${PIN}"\nsources: '\${URL}'\nroutes:\n  a:\n    from: '\${PW}'\n` +
      `    adapters:\n      - type: ${name}\n        config: { a: '\${PW}', b: 'x\${URL}', c: ["\${PIN}"] }\n      - type: '\${PW}'\n` +
      "        when: { field: x, operator: matches, value: '(${PW}' }\n    to: '${PW}'\n";
    const error: unknown = await parse(text, { registry: types, env }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PipelineFileError);
    const { message, faults } = error as PipelineFileError;
    expect(faults.length).toBeGreaterThan(5);
    const shown = message + JSON.stringify(faults) + inspect(error, { depth: 9 });
    expect(shown).not.toContain("hunter2");
    expect(shown.replaceAll(/:\d+/g, "")).not.toContain(DIGITS);
    expect(message).toContain("${PW}");
  });

  it("appear in no fault of the graph either, nor in one of bounds [Y79]", async () => {
    const text =
      "version: 1\nname: a\nmaxHops: ${ONE}\nsources: { s: { type: messages, to: '${Q}', config: { values: [] } } }\n" +
      "defaults:\n  retry:\n    backoff:\n      minMs: ${PIN}\n      maxMs: ${ONE}\nroutes:\n" +
      "  a: { from: '${Q}', to: [b, '${OTHER}'], firstMatch: true }\n  b: { from: b, to: c }\n  c: { from: '${Q}' }\n  d: { from: '${LAST}' }\n";
    const more = { ONE: "1", Q: "queue-of-secrets", OTHER: "other-secrets", LAST: "qqq" };
    const lines = await linesOf(text, { env: { ...env, ...more } });
    expect(lines).toEqual([
      '9:14 defaults.retry.backoff.maxMs: minMs or more <- "${ONE}"',
      '11:30 routes.a.to[1]: a queue that a route takes from <- "${OTHER}"',
      '11:30 routes.a.to[1]: in front of the queue without a condition, as the route has firstMatch <- "${OTHER}"',
      "12:6 routes.b: less than maxHops routes away from a source <- 1 route on the shortest way to it",
      '12:21 routes.b.to: a queue that a route takes from <- "c", which no route takes from',
      '13:14 routes.c.from: a queue that no other route takes from <- "${Q}"',
      '14:6 routes.d: a route that some source leads to <- no way to its queue "(hidden)"',
    ]);
  });

  it("are not in the frozen configuration [Y79]", async () => {
    const { options } = await parse(withConfig('["${PW}", "a ${PIN}", "${X:-y}"]'), { env });
    const written = JSON.stringify(options.configuration);
    expect(written).not.toContain(SECRET);
    expect(written).not.toContain(DIGITS);
    expect(written).toContain('["${PW}","a ${PIN}","${X:-y}"]');
  });
});
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: as above
