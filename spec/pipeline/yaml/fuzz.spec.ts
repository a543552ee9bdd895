// Whatever a file holds: a pipeline, or an error of ours with places.

import { fc, test } from "@fast-check/vitest";
import { expect } from "vitest";
import { stringify } from "yaml";
import { PipelineFileError } from "../../../lib/pipeline/yaml/errors.js";
import { YAML_LIMITS } from "../../../lib/pipeline/yaml/limits.js";
import { sized } from "../../support/proof.js";
import { parse } from "./support.js";

const VALID = `version: 1
name: shop
inFlight: 10
defaults: { retry: { attempts: 5, backoff: { minMs: 1, maxMs: 2 } }, fanOut: 9 }
sources:
  first: { type: messages, config: { values: [&m { id: 1 }, *m], key: id }, to: orders }
routes:
  read:
    from: orders
    concurrency: $\{N:-8}
    adapters:
      - type: post
        name: announce
        config: { url: "https://example.org/$\{USER}" }
        when: { field: country, operator: eq, value: DE }
    to:
      - queue: totals
        when: [{ field: id, operator: gt, value: 1 }]
  total:
    from: totals
    adapters:
      - type: sum
        config: { size: 100 }
`;

async function judged(text: string): Promise<void> {
  const error: unknown = await parse(text, { env: { USER: "me" } }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error === undefined) return;
  expect(error).toBeInstanceOf(PipelineFileError);
  const { faults, message } = error as PipelineFileError;
  expect(faults.length).toBeGreaterThan(0);
  expect(faults.length).toBeLessThanOrEqual(YAML_LIMITS.faults);
  const lines = text.split("\n");
  let before = 0;
  for (const { line, column, allowed, found, path } of faults) {
    expect(line).toBeGreaterThanOrEqual(Math.max(1, before));
    expect(line).toBeLessThanOrEqual(lines.length);
    expect(column).toBeGreaterThanOrEqual(1);
    expect(column).toBeLessThanOrEqual((lines[line - 1] as string).length + 1);
    expect(`${allowed}${found}`.length).toBeLessThan(2_000);
    expect(typeof path).toBe("string");
    before = line;
  }
  expect(message).not.toMatch(/undefined must|NaN:|\[object/);
}

const PIECES = [
  ..."[]{}:,-?&*!|>'\"%@#\n\t ~<",
  ...[
    "- ",
    ": ",
    "? ",
    "<<: ",
    "*m",
    "&m ",
    "!!int ",
    "__proto__: ",
    "---\n",
    "...\n",
    "%YAML 1.1\n",
    "$" + "{A}",
    "$" + "{",
  ],
  ...["9007199254740993", ".inf", "1e999", "\u0000", "\ud800", "\ufeff", "\r", "\u2028", "routes:", "  "],
];
const piece = fc.constantFrom(...PIECES);
const at = fc.nat({ max: VALID.length });

test("the file that is mutated is valid", async () => {
  await parse(VALID, { env: { USER: "me" } });
});

test.prop([at], { numRuns: sized(15, 0.1, 100) })("a file that is cut off anywhere [Y82]", (end) =>
  judged(VALID.slice(0, end)),
);

test.prop([fc.array(fc.tuple(at, fc.nat({ max: 12 }), piece), { minLength: 1, maxLength: 4 })], {
  numRuns: sized(20, 0.1, 250),
})("a file with pieces replaced [Y82]", (edits) =>
  judged(
    edits.reduce((text, [from, length, put]) => text.slice(0, from) + put + text.slice(from + length), VALID),
  ),
);

test.prop([fc.array(fc.nat({ max: VALID.split("\n").length - 1 }), { maxLength: 30 })], {
  numRuns: sized(15, 0.1, 100),
})("lines of a file in any order [Y82]", (order) =>
  judged(order.map((i) => VALID.split("\n")[i]).join("\n")),
);

test.prop([fc.array(piece, { maxLength: 60 })], { numRuns: sized(20, 0.1, 250) })(
  "signs of YAML in any order [Y82]",
  (all) => judged(all.join("")),
);

test.prop([fc.string({ unit: "binary", maxLength: 200 })], { numRuns: sized(15, 0.1, 100) })(
  "any text [Y82]",
  judged,
);

const names = fc.constantFrom(
  "version",
  "name",
  "routes",
  "sources",
  "from",
  "to",
  "adapters",
  "type",
  "config",
  "when",
  "queue",
  "a",
  "read",
);
const tree = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 6 },
    fc.constantFrom<unknown>(null, 1, -1, 1.5, "orders", "post", "none", true, ""),
    fc.dictionary(names, tie("value"), { maxKeys: 5 }),
    fc.array(tie("value"), { maxLength: 4 }),
  ),
}));
const KEYS = [
  ["routes"],
  ["routes", "read"],
  ["sources"],
  ["sources", "first"],
  ["routes", "read", "adapters"],
  ["routes", "read", "to"],
  ["defaults"],
  [],
];

test.prop([tree.value, fc.constantFrom(...KEYS)], { numRuns: sized(20, 0.1, 250) })(
  "values of wrong types anywhere [Y82]",
  (value, keys) => {
    const put = (inner: unknown, [first, ...rest]: readonly string[]): unknown =>
      first === undefined
        ? value
        : {
            ...(inner as object),
            [first]: put((inner as Record<string, unknown> | undefined)?.[first], rest),
          };
    return judged(
      stringify(put({ version: 1, name: "a", routes: { read: { from: "orders" } } }, keys), {
        aliasDuplicateObjects: false,
      }),
    );
  },
);

test.prop([fc.constantFrom("[", "{a: ", "- ", "? ", "&a [", "!a {", "a:\n "), fc.nat({ max: 20_000 })], {
  numRuns: sized(4, 0.01, 30),
})("any depth [Y82]", (open, depth) => judged(VALID + open.repeat(depth)));
