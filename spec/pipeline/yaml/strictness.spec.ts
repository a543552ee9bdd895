// YAML has surprises. A file is data as it looks, or it is refused with the place of what it is not.

import { describe, expect, it } from "vitest";
import { YAML_LIMITS } from "../../../lib/pipeline/yaml/limits.js";
import { pipelineRegistry } from "../../../lib/pipeline/yaml/registry.js";
import { shippedAdapters } from "../../../lib/pipeline/yaml/shipped-types.js";
import { configOf, faultsOf, linesOf, withConfig } from "./support.js";

const HERE = "routes.a.adapters[0].config";

describe("files that are refused", () => {
  it.each([
    [
      "%YAML 1.1",
      "%YAML 1.1\n---\nversion: 1\n",
      "1:1 : YAML 1.2, without directives <- the directive %YAML 1.1",
    ],
    [
      "%TAG",
      "%TAG ! tag:x,2000:\n---\nversion: 1\n",
      "1:1 : YAML 1.2, without directives <- the directive %TAG ! tag:x,2000:",
    ],
    ["a second document", `${withConfig("1")}---\nversion: 1\n`, "9:1 : one document <- a second one"],
    [
      "2^53 + 1",
      withConfig("9007199254740993"),
      `8:17 ${HERE}: a finite number of at most 2^53 - 1, or in quotes <- about 9007199254740992`,
    ],
    [
      "1e999",
      withConfig("[1e999]"),
      `8:18 ${HERE}[0]: a finite number of at most 2^53 - 1, or in quotes <- about Infinity`,
    ],
    [
      ".nan",
      withConfig(".nan"),
      `8:17 ${HERE}: a finite number of at most 2^53 - 1, or in quotes <- about NaN`,
    ],
    [
      ".inf",
      withConfig("-.inf"),
      `8:17 ${HERE}: a finite number of at most 2^53 - 1, or in quotes <- about -Infinity`,
    ],
    [
      "a merge key",
      withConfig("{ <<: { a: 1 }, b: 2 }"),
      `8:19 ${HERE}["<<"]: a name; a file has \`defaults\` instead of merge keys <- the merge key <<`,
    ],
    [
      "__proto__",
      withConfig("{ __proto__: { polluted: true } }"),
      `8:19 ${HERE}.__proto__: another name <- __proto__`,
    ],
    [
      "__proto__ in quotes",
      withConfig('{ "__proto__": 1 }'),
      `8:19 ${HERE}.__proto__: another name <- __proto__`,
    ],
    [
      "a duplicate name",
      withConfig("{ a: 1, b: 2, a: 3 }"),
      `8:31 ${HERE}.a: a name that the object does not have already <- "a"`,
    ],
    ["an empty name", withConfig("{ '': 1 }"), `8:19 ${HERE}[""]: a name <- a name that is no text`],
    ["!!binary", withConfig("!!binary aGk="), /without a tag <- the tag tag:yaml.org,2002:binary/],
    ["an unknown tag", withConfig("!secret x"), /without a tag <- the tag !secret/],
    ["a known tag", withConfig("!!str 5"), /without a tag <- the tag tag:yaml.org,2002:str/],
    [
      "a list as a name",
      withConfig("{ ? [a, b] : 1 }"),
      /YAML 1\.2 <- With stringKeys, all keys must be strings/,
    ],
    ["an alias of nothing", withConfig("*none"), `8:17 ${HERE}: an alias of an anchor above it <- *none`],
    [
      "an alias of what is around it",
      withConfig("&a { b: [*a] }"),
      `8:26 ${HERE}.b[0]: an alias of something that it is not in <- *a`,
    ],
    ["an empty file", "# nothing\n", "1:1 : a pipeline <- an empty file"],
    [
      "a list",
      "- a\n",
      '1:1 : an object of version, name, description, inFlight, maxHops, maxMessageBytes, defaults, sources, routes <- ["a"]',
    ],
    ["a tab", withConfig("\n\t\tx: 1"), /YAML 1\.2 <- Tabs are not allowed as indentation/],
  ])("%s is one fault with its place (bug 38) [Y75]", async (_, text, expected) => {
    const lines = await linesOf(text);
    if (typeof expected === "string") expect(lines[0]).toBe(expected);
    else expect(lines[0]).toMatch(expected);
    // A directive and what follows on a file that is only a beginning may have more.
    if (text.startsWith("version")) expect(lines).toHaveLength(1);
  });

  it("an object gets no property of another's prototype (bug 38)", async () => {
    await faultsOf(withConfig("{ __proto__: { polluted: true } }"));
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    expect(await configOf(withConfig("{ constructor: 1, toString: x }"))).toEqual({
      constructor: 1,
      toString: "x",
    });
  });

  it("an alias bomb stops at a number of values (bug 38) [Y76]", async () => {
    const levels = Array.from({ length: 12 }, (_, i) =>
      i === 0
        ? "l0: &l0 [x, x, x, x, x, x, x, x]"
        : `l${i}: &l${i} [${Array(8)
            .fill(`*l${i - 1}`)
            .join(", ")}]`,
    );
    const text = withConfig(`{ ${levels.join(", ")} }`);
    expect(await linesOf(text)).toEqual([
      expect.stringMatching(/^\d+:\d+ : a file of at most 20000 values <- more, with aliases$/),
    ]);
  });

  it("aliases that nest objects stop at a depth (bug 38) [Y76]", async () => {
    const levels = Array.from({ length: 80 }, (_, i) =>
      i === 0 ? "l0: &l0 [x]" : `l${i}: &l${i} [*l${i - 1}]`,
    );
    expect((await linesOf(withConfig(`{ ${levels.join(", ")} }`)))[0]).toMatch(/at most 64 levels deep/);
  });

  it.each([
    ["lists", "[".repeat(100_000) + "]".repeat(100_000)],
    ["objects", "{a: ".repeat(50_000) + "}".repeat(50_000)],
    ["lists of lines", "- ".repeat(100_000)],
    ["names of lines", "? ".repeat(100_000)],
    ["lines", Array.from({ length: 500 }, (_, i) => `${" ".repeat(i)}a:`).join("\n")],
    ["the middle of a file", withConfig("[".repeat(100_000))],
  ])("10^5 levels of %s are one fault (bug 38) [Y76]", async (_, text) => {
    expect(await linesOf(text)).toEqual([
      expect.stringMatching(/^\d+:\d+ : a file of at most 64 levels <- more$/),
    ]);
  });

  it("a file that is too large is not read [Y76]", async () => {
    const large = `# ${"x".repeat(YAML_LIMITS.characters)}`;
    expect(await linesOf(large)).toEqual([`1:1 : a file of at most 262144 characters <- ${large.length}`]);
    expect((await linesOf(`a: [${",".repeat(200_000)}]`))[0]).toMatch(
      /at most 50000 words and signs <- more/,
    );
  });

  it("a name that is there twice hides no other fault [Y340]", async () => {
    const text = `version: 1
name: twice
routes:
  a:
    from: lines
    from: others
    adapters:
      - type: shout
      - type: nothing
  b:
    from: words
    limit: 3
routes: {}
`;
    const paths = (await faultsOf(text)).map(({ path }) => path);
    expect(paths).toEqual(["routes.a.from", "routes.a.adapters[1].type", "routes.b.limit", "routes"]);
  });

  it("an invalid condition is reported at its own place [Y340]", async () => {
    const text = (config: string): string => `version: 1
name: filtered
routes:
  a:
    from: lines
    adapters:
      - type: filter
        config: ${config}
`;
    const registry = pipelineRegistry({ adapters: shippedAdapters });
    const places = async (config: string): Promise<string[]> =>
      (await faultsOf(text(config), { registry })).map(({ path }) => path);
    const config = "routes.a.adapters[0].config";
    expect(await places("{ condition: { field: cost, operator: lt, value: [1] } }")).toEqual([
      `${config}.condition.value`,
    ]);
    const second = "[{ field: a, operator: eq, value: 1 }, { field: b, operator: in, value: 2 }]";
    expect(await places(`{ condition: ${second} }`)).toEqual([`${config}.condition[1].value`]);
  });

  it("all faults of syntax come at once, but no more than a limit", async () => {
    const faults = await faultsOf("a: ]\nb: }\nc: '\n");
    expect(faults.map(({ line }) => line)).toEqual(expect.arrayContaining([1, 2, 3]));
    expect((await faultsOf(`[${",".repeat(5_000)}]`)).length).toBe(YAML_LIMITS.faults);
  });
});

describe("the values of a file", () => {
  it("keeps plain scalars: YAML 1.1's yes, sexagesimals and octals are no values [Y75]", async () => {
    const text = withConfig(
      "[yes, on, No, 1:30, 012, 0o17, 0x1F, 1_000, ~, null, 2001-01-01, 'true', 9007199254740991]",
    );
    const octal = 12;
    expect(await configOf(text)).toEqual([
      ...[
        "yes",
        "on",
        "No",
        "1:30",
        octal,
        15,
        31,
        "1_000",
        null,
        null,
        "2001-01-01",
        "true",
        9_007_199_254_740_991,
      ],
    ]);
  });

  it("`%YAML 1.2` is the version that is meant", async () => {
    expect(await configOf(`%YAML 1.2\n---\n${withConfig("yes")}`)).toBe("yes");
  });

  it("an alias is a copy: no two values share an object [Y75]", async () => {
    const given = (await configOf(withConfig("{ a: &x { n: [1] }, b: *x }"))) as Record<
      "a" | "b",
      { n: number[] }
    >;
    expect(given.a).toEqual(given.b);
    expect(given.a).not.toBe(given.b);
    given.a.n.push(2);
    expect(given.b).toEqual({ n: [1] });
  });

  it("an alias stands for the anchor above it, also if the name is given again", async () => {
    expect(await configOf(withConfig("[&x 1, &y [*x], &x 2, *y, *x]"))).toEqual([1, [1], 2, [1], 2]);
  });

  it("a value repeated by an alias has the place of its anchor", async () => {
    const lines = await linesOf(`${withConfig("1").replace("from: a", "from: &n 1b")}    to: [*n]\n`);
    expect(lines.map((line) => line.slice(0, line.indexOf(":", 3)))).toEqual([
      "5:14 routes.a.from",
      "5:14 routes.a.to[0]",
    ]);
  });
});
