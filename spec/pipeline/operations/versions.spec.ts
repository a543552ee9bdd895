// An execution keeps the version of its pipeline with which it began, however many versions a host has.

import { memory, type StoreSource } from "signalbox/store";
import { testClock } from "signalbox/testing";
import { describe, expect, test } from "vitest";
import { Versions } from "../../../lib/host/versions.js";
import { definePipeline, type PipelineDefinition } from "../../../lib/pipeline/definition/pipeline.js";
import { route } from "../../../lib/pipeline/definition/route.js";
import { pipelineHost } from "../../../lib/pipeline/host.js";
import { ABSENT_MS } from "../../../lib/pipeline/runtime/stranded-machine.js";
import { inStore, runCommand } from "../../cli/pipelines/support.js";
import { proving } from "../../support/proof.js";
import { Life, lines, placeOf, places, takes } from "./change-support.js";

const PLACES = places(proving);

type Pipeline = PipelineDefinition<unknown>;

/** A version of the pipeline, which notes what it takes; the first one is held as long as its host runs. */
function versions(): {
  readonly held: Pipeline;
  of(version: number, compatibleWith?: number[]): Pipeline;
  readonly taken: string[];
} {
  const taken: string[] = [];
  const define = (version: number, compatibleWith: number[], isHeld: boolean): Pipeline =>
    definePipeline("text", {
      ...{ version, compatibleWith },
      routes: [
        route("take", { from: lines }).via("take", (line, { signal }) => {
          if (isHeld)
            return new Promise<undefined>((over) => signal.addEventListener("abort", () => over(undefined)));
          taken.push(`${line} by ${version}`);
          return undefined;
        }),
      ],
    });
  return {
    taken,
    held: define(1, [], true),
    of: (version, compatibleWith = []) => define(version, compatibleWith, false),
  };
}

/** The execution `x` of the first version, which a host has begun that is gone. */
async function begun(store: StoreSource, first: Pipeline): Promise<void> {
  const life = await Life.of(store, first);
  await life.host.start(first, { id: "x", messages: { to: lines, values: ["a"] } });
  await life.system.stop();
}

const LACKS = [{ part: "version", name: "1" }];

describe.each(PLACES)("$name", (kind) => {
  test("an execution in flight runs by its own version, a new one by that with which it was started [Y471]", async () => {
    const { held, of, taken } = versions();
    const store = await placeOf(kind);
    await begun(store, held);
    const newest = of(3);
    const life = await Life.of(store, newest, of(1), of(2));
    await life.host.get("x").completed();
    const run = await life.host.start(newest, { messages: { to: lines, values: ["b"] } });
    expect(await run.completed()).toMatchObject({ version: 3 });
    expect(taken).toEqual(["a by 1", "b by 3"]);
    await life.system.stop();
  });

  test("a version that goes on with an older one takes its executions, where the host does not have that one [Y472]", async () => {
    const { held, of, taken } = versions();
    const store = await placeOf(kind);
    await begun(store, held);
    const life = await Life.of(store, of(2, [1]), of(3, [1, 2]));
    const { done, version } = await life.host.get("x").completed();
    // It is still the version with which it began.
    expect({ done, version, taken }).toEqual({ done: 1, version: undefined, taken: ["a by 3"] });
    await life.system.stop();
  });
});

test("an execution whose version is not there is stranded until a host has it, and told once [Y473]", async () => {
  const { held, of, taken } = versions();
  const store = memory();
  await begun(store, held);
  const changed = await Life.of(store, of(2));
  await changed.hears();
  expect(changed.told).toEqual([{ execution: "x", pipeline: "text", missing: LACKS }]);
  expect(await changed.host.get("x").status()).toMatchObject({ status: "running", stranded: LACKS });
  await expect(changed.host.get("x").move({ to: "take" })).rejects.toMatchObject({
    code: "ERR_PIPELINE_UNKNOWN",
  });
  await changed.system.stop();
  const again = await Life.of(store, of(2), of(1));
  expect(await again.host.get("x").completed()).toMatchObject({ done: 1 });
  expect({ taken, told: again.told }).toEqual({ taken: ["a by 1"], told: [] });
});

describe("on a store that hosts share", () => {
  const lacksAll = [{ part: "pipeline", name: "text" }];
  const other = definePipeline("other", { routes: [takes(lines)] });

  test.each([
    ["version", LACKS, (of: ReturnType<typeof versions>["of"]) => of(2)],
    ["pipeline", lacksAll, () => other],
  ] as const)(
    "an execution whose %s no host has is stranded after half a minute, and told by one host, once [Y521]",
    async (_, missing, changes) => {
      const { held, of, taken } = versions();
      const clock = testClock();
      const store = memory({ shared: true });
      const live = (...pipelines: Pipeline[]) => clock.until(Life.in(clock.environment, store, ...pipelines));
      const [first, changed, another] = [await live(held), await live(changes(of)), await live(changes(of))];
      await clock.until(first.host.start(held, { id: "x", messages: { to: lines, values: ["a"] } }));
      const told = () => [...changed.told, ...another.told];
      await clock.advance(2 * ABSENT_MS);
      expect(told()).toEqual([]);
      await clock.until(first.system.stop());
      await clock.advance(ABSENT_MS / 2);
      expect(told()).toEqual([]);
      await clock.advance(2 * ABSENT_MS);
      expect(told()).toEqual([{ execution: "x", pipeline: "text", missing }]);
      expect(await clock.until(changed.host.get("x").status())).toMatchObject({ stranded: missing });
      // A host that has it takes the mark away, and does the work.
      const mended = await live(of(1));
      const { done, stranded } = await clock.until(mended.host.get("x").completed());
      expect({ done, stranded, taken }).toEqual({ done: 1, stranded: undefined, taken: ["a by 1"] });
    },
  );

  test("nothing is stranded while hosts that have it are replaced [Y521]", async () => {
    const { held, of } = versions();
    const clock = testClock();
    const store = memory({ shared: true });
    const live = (...pipelines: Pipeline[]) => clock.until(Life.in(clock.environment, store, ...pipelines));
    const [first, changed] = [await live(held), await live(of(2))];
    await clock.until(first.host.start(held, { id: "x", messages: { to: lines, values: ["a"] } }));
    await clock.until(first.system.stop());
    for (let lives = 0; lives < 3; lives++) {
      await clock.advance(ABSENT_MS - 10_000);
      const next = await live(held);
      await clock.advance(ABSENT_MS);
      await clock.until(next.system.stop());
    }
    expect(changed.told).toEqual([]);
  });
});

test("an execution whose version is gone for good completes when people give it up [Y473]", async () => {
  const { held, of } = versions();
  const store = memory();
  await begun(store, held);
  const life = await Life.of(store, of(2));
  await life.hears();
  const run = life.host.get("x");
  const completed = run.completed();
  expect(await run.giveUp({ stranded: true, reason: "begun anew" })).toMatchObject({ messages: 1 });
  expect(await completed).toMatchObject({ done: 1, dropped: 1 });
});

test("`check` compares an execution with its own version, or with one that goes on with it [Y474]", async () => {
  const { held, of } = versions();
  const store = memory();
  await begun(store, held);
  const host = await inStore(store);
  const check = (...code: Pipeline[]) =>
    runCommand(["check", "--store", "jobs.db", "--code", "./new.js", "--json"], {
      ...host,
      load: async () => ({ code }),
    });
  const missingIn = async (...code: Pipeline[]) =>
    JSON.parse((await check(...code)).printed).executions[0].missing;
  expect(await missingIn(of(2))).toEqual(LACKS);
  expect(await missingIn(of(2), of(1))).toEqual([]);
  expect(await missingIn(of(2, [1]))).toEqual([]);
  expect((await check(of(2))).code).toBe(1);
});

test("a host refuses to start a version that it does not have, and to have one twice [Y471]", async () => {
  const { of } = versions();
  const { host } = await Life.of(memory(), of(1), of(2));
  await expect(host.start(of(3), { id: "y" })).rejects.toMatchObject({
    code: "ERR_PIPELINE_UNKNOWN",
    message: "the host has no pipeline text of version 3; it has text, text of version 2",
  });
  expect(() => pipelineHost({ pipelines: [of(2), of(2)] })).toThrow(
    "a name and version that no other pipeline",
  );
});

test.each([
  ["version", { version: 0 }],
  ["version", { version: 1.5 }],
  ["compatibleWith", { compatibleWith: 1 }],
  ["compatibleWith[0]", { compatibleWith: ["1"] }],
  ["compatibleWith[1]", { version: 3, compatibleWith: [2, 3] }],
])("%s is checked", (path, options) => {
  const { routes } = versions().of(1).options;
  expect(() => definePipeline("text", { routes, ...(options as object) })).toThrow(
    expect.objectContaining({ code: "ERR_OPTION", path }),
  );
});

test("of several versions that go on with an execution, the newest does", () => {
  const known = new Versions();
  for (const [version, ...compatibleWith] of [
    [2, 1],
    [4, 1, 2],
    [3, 1],
  ] as const)
    expect(known.add({ name: "a", version, compatibleWith })).toBe(true);
  expect(known.add({ name: "a", version: 2, compatibleWith: [] })).toBe(false);
  expect([1, 2, 3, 5].map((version) => known.running("a", version)?.version)).toEqual([4, 2, 3, undefined]);
  expect([known.get("a")?.version, known.get("b"), known.has("b")]).toEqual([4, undefined, false]);
});
