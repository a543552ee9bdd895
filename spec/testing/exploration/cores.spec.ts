// An exploration on several cores comes to the same as on one. Threads load published files, so the tests bundle them first.

import { mkdtempSync, rmSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import type * as testing from "signalbox/testing";
import type { ExploreOptions, Scenario } from "signalbox/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import config from "../../../.config/rolldown.config.js";
import { proving } from "../../support/proof.js";
import { errorOf } from "../support/found.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));
let folder = "";
let library: typeof testing;
let scenarios: { readonly [name: string]: Scenario };

beforeAll(async () => {
  folder = mkdtempSync(`${root}node_modules/.cores-`);
  const { output, ...input } = config;
  const bundle = await rolldown({
    ...input,
    input: {
      "testing/index": `${root}lib/testing/index.ts`,
      scenarios: `${root}spec/testing/support/on-cores.ts`,
    },
  });
  await bundle.write({ ...(Array.isArray(output) ? output[0] : output), dir: folder });
  library = (await import(/* @vite-ignore */ `${folder}/testing/index.js`)) as typeof testing;
  scenarios = (await import(/* @vite-ignore */ `${folder}/scenarios.js`)) as typeof scenarios;
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Explores a scenario of the module that threads load. */
function explore(name: string, options: ExploreOptions): Promise<testing.Exploration> {
  const source = { module: pathToFileURL(`${folder}/scenarios.js`).href, export: name };
  return library.explore(scenarios[name] as Scenario, { source, ...options });
}

describe("several cores", () => {
  test("come to the same result as one, in counts and in what is new [T19]", async () => {
    const schedules = proving ? 700 : 250;
    const options = { schedules, seed: 3, sometimes: ["d comes first"] };
    const one = await explore("anyOrder", options);
    for (const cores of [2, 3]) expect(await explore("anyOrder", { ...options, cores })).toEqual(one);
    expect(one.schedules).toBe(schedules);
  });

  test("end on the same plateau", async () => {
    const options = { schedules: 100_000, plateau: proving ? 60 : 30 };
    const one = await explore("anyOrder", options);
    expect(one.ended).toBe("plateau");
    expect(await explore("anyOrder", { ...options, cores: 2 })).toEqual(one);
  });

  test("find the same first failing schedule, and report it alike", async () => {
    const one = (await errorOf(explore("backwards", {}))) as testing.ScheduleFailedError;
    const two = (await errorOf(explore("backwards", { cores: 2 }))) as testing.ScheduleFailedError;
    expect(one.found.schedule).toBeGreaterThan(1);
    expect({ ...two.found, token: two.token, text: two.message }).toEqual({
      ...one.found,
      token: one.token,
      text: one.message,
    });
  });

  test("end with what was explored when the time is over", async () => {
    const { ended, schedules } = await explore("backwards", { cores: 2, budgetMs: 0 });
    expect(ended).toBe("time");
    expect(schedules).toBeGreaterThanOrEqual(1);
  });

  test("detect that something is not under control", async () => {
    expect(await errorOf(explore("diverges", { cores: 2, recheck: 1 }))).toMatchObject({
      code: "ERR_SIM_NONDETERMINISM",
    });
  });
});

describe("the threads of an exploration", () => {
  test("end it with an error when one of them ends", async () => {
    expect(await errorOf(explore("exits", { cores: 2 }))).toMatchObject({
      code: "ERR_SIM_THREAD",
      message: expect.stringContaining("it exited with code 3"),
    });
  });

  test.each([
    ["no such export", { export: "nothing" }, "exports no function nothing, only: anyOrder"],
    ["no such module", { module: "file:///nowhere/at/all.js" }, "Cannot find module"],
  ])("say why they cannot load the scenario: %s", async (_what, wrong, why) => {
    const source = { module: pathToFileURL(`${folder}/scenarios.js`).href, export: "anyOrder", ...wrong };
    expect(await errorOf(explore("anyOrder", { cores: 2, source }))).toMatchObject({
      code: "ERR_SIM_THREAD",
      message: expect.stringContaining(why),
    });
  });

  test("end when the exploration is aborted", async () => {
    const abort = new AbortController();
    const reason = new Error("enough");
    const run = explore("anyOrder", { cores: 2, schedules: 10_000_000, recheck: 0, signal: abort.signal });
    abort.abort(reason);
    expect(await errorOf(run)).toBe(reason);
  });
});

describe("options of explorations on several cores", () => {
  test.each([
    ["cores", { cores: 0 }],
    ["cores", { cores: "some" }],
    ["source", { cores: 2, source: undefined }],
    ["strategy", { cores: 2, strategy: { name: "mine", begin: () => undefined } }],
    ["allow", { cores: 2, allow: () => true }],
  ])("%s in %j", async (path, options) => {
    expect(await errorOf(explore("anyOrder", options as ExploreOptions))).toMatchObject({
      code: "ERR_OPTION",
      path,
    });
  });

  test("an exhaustive search needs one core", async () => {
    const options = { cores: 2, strategy: library.exhaustive() };
    expect(await errorOf(explore("anyOrder", options))).toMatchObject({
      code: "ERR_OPTION",
      path: "strategy",
    });
  });
});
