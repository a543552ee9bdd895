// An option does what its comment says: some code reads it, besides the check of its value. Names are compared within a floor of lib.

import { Visitor } from "oxc-parser";
import { expect, test } from "vitest";
import { example, lib, parse, type Source } from "./modules.js";

/** Interfaces of what users set. */
const SETTINGS = /(Options|Policy|Limits|Rules)$/;
/** A call that stands alone, and only looks at a value. */
const CHECKS = /^(only|onlyKnown|oneOf|count|delay|duration|flag|text|named|callable|withMethod|check\w*)$/;

/** Options that are read in another way. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  "by the name of a status": [
    "RetentionOptions.completed",
    "RetentionOptions.killed",
    "PipelineRetentionOptions.cancelled",
  ],
  "by Node, which gets them whole": [
    "ThreadLimits.maxOldGenerationSizeMb",
    "ThreadLimits.maxYoungGenerationSizeMb",
    "ThreadLimits.stackSizeMb",
  ],
  "by PGlite, whose options they are": [
    "PgliteQueryOptions.rowMode",
    "PgliteQueryOptions.parsers",
    "PgliteQueryOptions.serializers",
  ],
};

interface Option {
  readonly path: string;
  readonly of: string;
  readonly name: string;
}

interface Found {
  readonly options: readonly Option[];
  /** Names of properties that the code of a file reads. */
  readonly read: ReadonlySet<string>;
}

type Node = { readonly type: string; readonly start: number; readonly end: number } & Record<string, unknown>;

const nameOf = (node: unknown): string | undefined => {
  const { type, name, value } = (node ?? {}) as Node;
  if (type === "Identifier") return name as string;
  return type === "Literal" && typeof value === "string" ? value : undefined;
};

function foundIn(source: Source): Found {
  const options: Option[] = [];
  const read = new Set<string>();
  // Reads within a check that stands alone do not count.
  const checks: Node[] = [];
  const isChecked = ({ start, end }: Node): boolean =>
    checks.some((check) => check.start <= start && end <= check.end);
  const note = (node: unknown, name: string | undefined): void => {
    if (name !== undefined && !isChecked(node as Node)) read.add(name);
  };
  new Visitor({
    ExpressionStatement({ expression }) {
      const call = expression as unknown as Node;
      if (call.type === "CallExpression" && CHECKS.test(nameOf(call.callee) ?? "")) checks.push(call);
    },
    ExportNamedDeclaration({ declaration }) {
      if (declaration?.type !== "TSInterfaceDeclaration" || !SETTINGS.test(declaration.id.name)) return;
      for (const member of declaration.body.body) {
        if (member.type !== "TSPropertySignature") continue;
        const name = member.computed ? undefined : nameOf(member.key);
        if (name !== undefined) options.push({ path: source.path, of: declaration.id.name, name });
      }
    },
    MemberExpression(node) {
      if (!node.computed) note(node, nameOf(node.property));
    },
    ObjectPattern({ properties }) {
      for (const property of properties)
        if (property.type === "Property") note(property, nameOf(property.key));
    },
  }).visit(parse(source).program);
  return { options, read };
}

const floorOf = ({ path }: Pick<Source, "path">): string => path.split("/").slice(0, 2).join("/");

/** Options that no code of their floor reads. */
function unread(sources: readonly Source[]): string[] {
  const options: Option[] = [];
  const read = new Map<string, Set<string>>();
  for (const source of sources) {
    const found = foundIn(source);
    options.push(...found.options);
    const floor = floorOf(source);
    const names = read.get(floor) ?? new Set();
    for (const name of found.read) names.add(name);
    read.set(floor, names);
  }
  return options
    .filter((one) => read.get(floorOf(one))?.has(one.name) !== true)
    .map(({ path, of, name }) => `${of}.${name} of ${path}`);
}

test("every option is read by code of its floor, besides its check", () => {
  const known = Object.values(ELSEWHERE).flat();
  const found = unread(lib).map((one) => one.replace(/ of .*/, ""));
  expect(found.filter((one) => !known.includes(one))).toEqual([]);
  expect(known.filter((one) => !found.includes(one))).toEqual([]);
});

test("the rule rejects an option that is only checked", () => {
  const code = `
    export interface ChildOptions { readonly onCancel?: string; readonly id?: string; readonly kept?: string }
    export function child(options: ChildOptions): string {
      oneOf("onCancel", options.onCancel ?? "cancel", ["cancel", "leave"]);
      const { kept } = options;
      return options.id + kept;
    }`;
  expect(unread([example(code, "lib/flow/child.ts")])).toEqual([
    "ChildOptions.onCancel of lib/flow/child.ts",
  ]);
});
