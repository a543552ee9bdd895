// Every entrance refuses an option that it does not know, and an argument that it does not take. The types say which entrances there are,
// so that none is forgotten; they are read once, which takes seconds.

import { System } from "signalbox";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Entrance, entrances } from "../support/entrances.js";
import { allLines } from "./all.js";
import { complaintsAbout, isCalledWithArguments } from "./hostile.js";
import { endOf, type Lines } from "./lines.js";

const ALL = entrances();
/** What looks like options, and stands for something that was started: a handle, or only its id or pid. */
const HANDLES = new Set([
  "FlowContext.send 0",
  "FlowContext.session 0",
  "DynamicSupervisorRef.terminateChild 0",
  "new Sessions 1",
  "new ConsumerGroup 0.scope",
  "joinCluster 1",
  "run 1.cluster.carrier",
]);
const WITH_OPTIONS = ALL.filter(({ options }) => options.length > 0);
const WITH_ARGUMENTS = ALL.filter(isCalledWithArguments);

let system: System;
let lines: Lines;
beforeAll(async () => {
  system = new System({ report: false });
  lines = await allLines(system);
});
afterAll(() => system.stop({ timeoutMs: 0 }));

type Bag = Record<string, unknown>;

/** A value with an unknown option at the end of a way into it: `.mailbox`, `.children[].mailbox`, `.queues.*`. */
function misspelled(value: unknown, way: string, unknown: (given: Bag) => Bag): unknown {
  const [, step = "", rest = ""] = /^(\.\*|\.\w+|\[\])(.*)$/.exec(way) ?? [];
  if (step === "[]") return [misspelled(Array.isArray(value) ? value[0] : undefined, rest, unknown)];
  const given: Bag = typeof value === "object" && value !== null ? { ...(value as Bag) } : {};
  if (step === "") return unknown(given);
  const name = step === ".*" ? "any" : step.slice(1);
  return { ...given, [name]: misspelled(given[name], rest, unknown) };
}

/** One letter too many. */
const typo = (known: string): string => `${known}${known.at(-1)}`;

async function complaints({ name, options }: Entrance): Promise<string[]> {
  const found: string[] = [];
  for (const path of new Set(options.map((one) => one.path))) {
    if (HANDLES.has(`${name} ${path}`)) continue;
    const known = options.filter((one) => one.path === path).flatMap((one) => one.known);
    const [, at = "", way = ""] = /^(\d+)(.*)$/.exec(path) ?? [];
    const [call, ...given] = await (lines[name] as Lines[string])();
    let meant = "";
    given[Number(at)] = misspelled(given[Number(at)], way, (bag) => {
      meant = Object.keys(bag).find((one) => known.includes(one)) ?? (known[0] as string);
      return { ...bag, [typo(meant)]: 1 };
    });
    const error = (await endOf([call, ...given])).error as { code?: string; message?: string } | undefined;
    const isTold =
      error?.code?.startsWith("ERR_") &&
      error.message?.includes(typo(meant)) &&
      error.message.includes(`did you mean ${meant}`);
    if (!isTold)
      found.push(`${path} with ${typo(meant)}: ${error === undefined ? "taken" : `${error}`.slice(0, 160)}`);
  }
  return found;
}

describe("an entrance with options", () => {
  it("has a line in this test, and every line has its entrance [E10]", () => {
    expect(WITH_OPTIONS.map(({ name }) => name).filter((name) => !(name in lines))).toEqual([]);
    expect(Object.keys(lines).filter((name) => !ALL.some((one) => one.name === name))).toEqual([]);
  });

  it.each(WITH_OPTIONS.map((one) => [one.name, one] as const))(
    "%s refuses an option that it does not know [E10]",
    async (name, entrance) => {
      expect(name in lines).toBe(true);
      expect(await complaints(entrance)).toEqual([]);
    },
  );
});

describe("an entrance", () => {
  it("has a line in this test, if users call it with arguments [E14]", () => {
    expect(WITH_ARGUMENTS.map(({ name }) => name).filter((name) => !(name in lines))).toEqual([]);
  });

  it.each(WITH_ARGUMENTS.map((one) => [one.name, one] as const))(
    "%s refuses what its types do not take, with an error that has a code [E14]",
    async (name, entrance) => {
      expect(name in lines).toBe(true);
      expect(await complaintsAbout(entrance, lines[name] as Lines[string], system)).toEqual([]);
    },
  );
});
