// Members of a class are private by `#`, at run time and not only in types (docs/decisions/0194). The keyword stays on constructors,
// where TypeScript has nothing else, and in the files below.

import { Visitor } from "oxc-parser";
import { expect, test } from "vitest";
import { example, lib, parse, type Source } from "./modules.js";

/** Files, and floors, whose members keep the keyword, with the reason. */
const KEPT: { readonly [path: string]: string } = {
  ...Object.fromEntries(
    [
      ...[
        "abort",
        "calls",
        "events",
        "groups",
        "kernel",
        "links",
        "mailbox",
        "names",
        "origin",
        "owned-timer",
        "process",
      ],
      ...["production", "receive", "request", "scheduler", "shared-state", "snapshot", "timer-queue"],
    ].map((name) => [`lib/process/${name}.ts`, "it runs for each message: with # ping-pong cost 8 % more"]),
  ),
  "lib/behaviour/": "it runs for each message: with # a call of a server may cost 8 % more",
  "lib/dispatch/": "it runs for each dispatch: with # one cost 5 % more",
  "lib/testing/simulator/": "spec/testing/support/undeclared.ts watches the world and its interceptor",
  "lib/service/telemetry/recorder.ts":
    "it runs for each message of a traced system, and was not measured with #",
  "lib/topology/": "it runs for each tuple, and was not measured with #",
};

/** The members that are private by the keyword. */
function keywords(source: Source): string[] {
  const found: string[] = [];
  const look = (member: { accessibility?: unknown; kind?: string; start: number }): void => {
    if (member.accessibility === "private" && member.kind !== "constructor")
      found.push(`${source.path}:${source.text.slice(0, member.start).split("\n").length}`);
  };
  new Visitor({ PropertyDefinition: look, MethodDefinition: look, TSParameterProperty: look }).visit(
    parse(source).program,
  );
  return found;
}

const isKept = ({ path }: Source): boolean => Object.keys(KEPT).some((kept) => path.startsWith(kept));

test("members are private by #, but for the files that are listed", () => {
  expect(lib.filter((source) => !isKept(source)).flatMap(keywords)).toEqual([]);
});

test("the rule rejects the keyword, and accepts # and a constructor", () => {
  expect(keywords(example("class A {\n  private b = 1;\n  private c(): void {}\n}"))).toHaveLength(2);
  expect(keywords(example("class A {\n  #b = 1;\n  private constructor() {}\n}"))).toEqual([]);
});
