// `signalbox replay`, with a host that holds files and modules in memory.

import { explore, type Simulation } from "signalbox/testing";
import { describe, expect, test } from "vitest";
import { EXIT, type ReplayHost, replay } from "../../lib/cli/replay/command.js";
import { signalbox } from "../../lib/cli/signalbox.js";
import { type KeptFailure, writeFailure } from "../../lib/testing/report/failure-file.js";
import { failureOf } from "../testing/support/found.js";

/** Two processes race for a list. */
async function race(sim: Simulation, wrong = "b before a"): Promise<void> {
  const system = sim.system({ name: "track" });
  const seen: string[] = [];
  const judge = system.spawn<string>({ handle: (_ctx, name) => void seen.push(name) }, { label: "judge" });
  for (const name of ["a", "b"]) system.spawn((ctx) => ctx.send(judge, name), { label: name });
  await sim.quiet();
  if (seen[0] !== "a") throw new Error(wrong);
}

const options = { name: "race" };
const { token, trace } = await failureOf(race, options);
const source = { module: "file:///track.js", export: "race", options: {} };
const kept: KeptFailure = { name: "race", token, trace };

interface Ran {
  readonly code: number;
  readonly printed: string;
  readonly complaints: string;
  readonly written: ReadonlyMap<string, string>;
}

async function run(
  args: readonly string[],
  files: { readonly [path: string]: string } = {},
  modules: { readonly [module: string]: object } = {},
): Promise<Ran> {
  const [printed, complaints] = [[] as string[], [] as string[]];
  const written = new Map<string, string>();
  const host: ReplayHost = {
    read: (path) => {
      const text = files[path];
      if (text === undefined) throw new Error("ENOENT: no such file");
      return text;
    },
    write: (path, text) => void written.set(path, text),
    ...{ now: () => 0, moment: () => undefined },
    print: (text) => void printed.push(text),
    complain: (text) => void complaints.push(text),
    load: async (module) => {
      const found = modules[module];
      if (found === undefined) throw new Error("Cannot find module");
      return found;
    },
    replay: (scenario, given, token) =>
      explore(scenario, { ...given, replay: token }).then(
        () => undefined,
        (error: unknown) => error,
      ),
  };
  const code = await signalbox(args, {
    ...host,
    version: "1.2.3",
    subcommands: { replay: async () => (rest) => replay(rest, host) },
  });
  return { code, printed: printed.join("\n"), complaints: complaints.join("\n"), written };
}

const file = { "race.json": writeFailure(kept) };
const sourced = { "race.json": writeFailure({ ...kept, source }) };

describe("without a module", () => {
  test("shows the recorded steps and the token", async () => {
    const { code, printed } = await run(["replay", "race.json"], file);
    expect(code).toBe(EXIT.fine);
    expect(printed).toContain('track/judge  took "b" from track/b');
    expect(printed).toContain("FAILED: Error: b before a");
    expect(printed).toContain(`replay: "${token}"`);
  });

  test("writes the page", async () => {
    const { code, written } = await run(["replay", "race.json", "--html", "out/race.html"], file);
    expect(code).toBe(EXIT.fine);
    expect(written.get("out/race.html")).toContain("<title>Error: b before a</title>");
    expect((await run(["replay", "--html=a.html", "race.json"], file)).written.has("a.html")).toBe(true);
  });
});

describe("with a module", () => {
  test("runs the schedule again, and says that it still fails in the same way", async () => {
    const { code, printed } = await run(["replay", "race.json"], sourced, { "file:///track.js": { race } });
    expect(printed).toContain("the schedule still fails in the same way");
    expect(code).toBe(EXIT.fails);
  });

  test("or that it passes now", async () => {
    const mended = { race: async (sim: Simulation) => race(sim).catch(() => undefined) };
    const { code, printed } = await run(["replay", "race.json"], sourced, { "file:///track.js": mended });
    expect(printed).toBe("the schedule passes now");
    expect(code).toBe(EXIT.fine);
  });

  test("or that it fails in another way", async () => {
    const other = { race: (sim: Simulation) => race(sim, "a came second") };
    const { code, printed } = await run(["replay", "race.json"], sourced, { "file:///track.js": other });
    expect(printed).toContain("the schedule does not fail as it did: Error: b before a");
    expect(printed).toContain("FAILED: Error: a came second");
    expect(code).toBe(EXIT.differs);
  });

  test("or that its choices do not fit any more", async () => {
    const crowded = {
      race: (sim: Simulation) => {
        const system = sim.system({ name: "track" });
        for (const label of ["c", "d", "e"]) system.spawn(() => undefined, { label });
        return race(sim);
      },
    };
    const { code, printed } = await run(["replay", "race.json"], sourced, { "file:///track.js": crowded });
    expect(printed).toContain("ReplayOutdatedError");
    expect(code).toBe(EXIT.differs);
  });

  test("that the arguments name", async () => {
    const args = ["replay", "race.json", "--module", "track.js", "--export", "sprint"];
    expect((await run(args, file, { "track.js": { sprint: race } })).code).toBe(EXIT.fails);
    expect((await run(args, sourced, { "track.js": { sprint: race } })).code).toBe(EXIT.fails);
  });

  test("unless only the record is asked for", async () => {
    const { code, printed } = await run(["replay", "race.json", "--show"], sourced);
    expect(printed).toContain("FAILED: Error: b before a");
    expect(code).toBe(EXIT.fine);
  });

  test("that cannot be used, says so", async () => {
    const absent = await run(["replay", "race.json"], sourced);
    expect(absent.complaints).toMatch(/cannot load file:\/\/\/track\.js: Cannot find module$/);
    const typed = await run(["replay", "race.json", "--module", "track.ts", "--export", "race"], sourced);
    expect(typed.complaints).toMatch(
      /cannot load track\.ts: Cannot find module\nA module in TypeScript needs .*tsx/,
    );
    const other = await run(["replay", "race.json"], sourced, { "file:///track.js": { race: 1, walk: 2 } });
    expect(other.complaints).toContain("exports no function race, only: race, walk");
    expect([absent.code, other.code]).toEqual([EXIT.misuse, EXIT.misuse]);
  });
});

describe("wrong arguments and files", () => {
  test.each([
    [["--help"], "usage: signalbox replay FILE"],
    [["replay", "--help"], "usage: signalbox replay FILE"],
    [[], "usage: signalbox replay FILE"],
  ])("%j shows the usage", async (args, text) => {
    const { code, printed } = await run(args);
    expect(printed).toContain(text);
    expect(code).toBe(EXIT.fine);
  });

  test.each([
    [["play", "race.json"], "there is no command play"],
    [["replay"], "replay needs a FILE"],
    [["replay", "race.json", "b.json"], "replay takes one FILE, and not also b.json"],
    [["replay", "race.json", "--htm", "x"], "there is no option --htm"],
    [["replay", "race.json", "--html"], "--html needs a value"],
    [["replay", "none.json"], "cannot read none.json: ENOENT"],
  ])("%j: %s", async (args, text) => {
    const { code, complaints } = await run(args, file);
    expect(complaints).toContain(text);
    expect(code).toBe(EXIT.misuse);
  });

  test.each([
    ["<!doctype html>", "it is no JSON"],
    ["[]", "it holds no object"],
    ["{}", 'its format is undefined and not "signalbox failure"; pass the .json file, not the page'],
    [
      writeFailure(kept).replace('"version":1', '"version":2'),
      "its version is 2, this signalbox reads version 1",
    ],
    [writeFailure({ ...kept, trace: { steps: [{}] } as never }), "step 1 of its trace is damaged"],
    [writeFailure({ ...kept, trace: {} as never }), "its trace has no steps"],
    [writeFailure({ ...kept, trace: undefined as never }), "it holds no trace"],
    [writeFailure({ ...kept, token: 1 as never }), "its name or its token is missing"],
    [writeFailure({ ...kept, source: {} as never }), "its source names no module and export"],
    [writeFailure({ ...kept, source: { ...source, options: 1 as never } }), "its source has no options"],
    [writeFailure({ ...kept, source: 1 as never }), "its source is no object"],
  ])("a file %# is refused: %s", async (text, problem) => {
    const { code, complaints } = await run(["replay", "x.json"], { "x.json": text });
    expect(complaints).toContain(`this is not a failure that signalbox has kept: ${problem}`);
    expect(code).toBe(EXIT.misuse);
  });
});
