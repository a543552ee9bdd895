// Members of a class are private by `#`, at run time and not only in types (docs/decisions/0194). The keyword stays on constructors,
// where TypeScript has nothing else, and in the files below.

import { Visitor } from "oxc-parser";
import { expect, test } from "vitest";
import { example, lib, parse, type Source } from "./modules.js";

const MESSAGE =
  "they run for each message: with # in all of them ping-pong, dispatch-ack and server-call took up to 9 % more";

/** Files, and floors, whose members keep the keyword, with the reason. */
const KEPT: { readonly [reason: string]: readonly string[] } = {
  [MESSAGE]: [
    ...["calls", "kernel", "links", "mailbox", "origin", "owned-timer", "process"].map(inProcess),
    ...["production", "receive", "request", "scheduler", "timer-queue"].map(inProcess),
    ...["server/server-process", "state-machine/machine-process", "state-machine/order-machine"].map(
      (name) => `lib/behaviour/${name}.ts`,
    ),
    ...["conversation", "conversation-process", "flights", "member"].map((name) => `lib/dispatch/${name}.ts`),
  ],
  "spec/testing/support/undeclared.ts looks into them, to find state that a step uses without saying so": [
    "events",
    "groups",
    "names",
  ].map(inProcess),
  "they run in each step of the simulator: with # in all of them sim-steps took 8 % more": [
    ...["footprints", "host-work", "interceptor", "running-code"].map(
      (name) => `lib/testing/simulator/${name}.ts`,
    ),
  ],
  "they run for each message of a traced system, or each tuple, and were not measured with #": [
    "lib/service/telemetry/recorder.ts",
    ...["acking", "backpressure", "channels", "expiry", "outlet", "receive-buffer"].map(
      inTopology("runtime"),
    ),
    ...["router", "settlements", "simulator-hooks", "task-slots"].map(inTopology("runtime")),
    ...["bolt-settlement", "bolt-work", "in-flight", "pump", "task"].map(inTopology("tasks")),
    ...["acker-machine", "admission", "id-table", "retries"].map(inTopology("tracking")),
  ],
};

const PATHS = Object.values(KEPT).flat();

function inProcess(name: string): string {
  return `lib/process/${name}.ts`;
}

function inTopology(room: string): (name: string) => string {
  return (name) => `lib/topology/${room}/${name}.ts`;
}

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

const isKept = ({ path }: Source): boolean => PATHS.some((kept) => path.startsWith(kept));

test("members are private by #, but for the files that are listed", () => {
  expect(lib.filter((source) => !isKept(source)).flatMap(keywords)).toEqual([]);
});

test.each(PATHS)("there is such a member in %s", (kept) => {
  expect(lib.filter(({ path }) => path.startsWith(kept)).flatMap(keywords)).not.toEqual([]);
});

test("the rule rejects the keyword, and accepts # and a constructor", () => {
  expect(keywords(example("class A {\n  private b = 1;\n  private c(): void {}\n}"))).toHaveLength(2);
  expect(keywords(example("class A {\n  #b = 1;\n  private constructor() {}\n}"))).toEqual([]);
});
