// Code that awaits what the simulator does not settle: real I/O, real timers, promises that nobody settles.

import { readFile } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { ReplyTo } from "signalbox";
import { explore, type Scenario, type Simulation, simulate, UncontrolledAwaitError } from "signalbox/testing";
import { afterEach, describe, expect, test } from "vitest";
import { folders, placeOf } from "../../../lib/process/own-code.js";
import { macrotask } from "../../support/host.js";
import { causeOf, errorOf, failureOf } from "../support/found.js";

const HERE = fileURLToPath(import.meta.url);

/** Where in this file the caller is: the text of an error that names the line after it. */
function nextLine(): string {
  const line = /uncontrolled\.spec\.ts:(\d+):\d+/.exec(new Error().stack?.split("\n")[2] ?? "")?.[1];
  return `uncontrolled.spec.ts:${Number(line) + 1}:`;
}

/** A clerk that does some work on each message, and the end of the scenario. */
const doing = (work: () => unknown) => async (sim: Simulation) => {
  const system = sim.system({ name: "shop" });
  const clerk = system.spawn<string>(
    {
      handle: async () => {
        await work();
      },
    },
    { label: "clerk" },
  );
  system.send(clerk, "go");
  await sim.quiet();
};

// What a failed schedule has begun goes on in the host: the next test is not to take it for its own.
afterEach(async () => {
  const files = (kind: string): boolean => kind === "FSReqPromise" || kind === "CloseReq";
  while (process.getActiveResourcesInfo().some(files)) await macrotask();
});

describe("an await of something else", () => {
  let where = "";

  const cases: readonly [what: string, work: () => Promise<unknown>][] = [
    [
      "a file",
      async () => {
        where = nextLine();
        await readFile(HERE);
      },
    ],
    [
      "a promise that nobody settles",
      async () => {
        where = nextLine();
        await new Promise(() => undefined);
      },
    ],
  ];

  test.each(cases)("%s is named with the process and the place in its code", async (_what, work) => {
    const cause = await causeOf(doing(work), { schedules: 5 });
    expect(cause).toBeInstanceOf(UncontrolledAwaitError);
    expect((cause as Error).message).toContain(
      "shop/clerk awaits something that the simulator does not control at ",
    );
    expect((cause as Error).message).toContain(where);
  });

  test.each(cases)("%s is found also where virtual time could go on without it", async (_what, work) => {
    const cause = await causeOf(
      async (sim) => {
        await doing(work)(sim);
        await sim.sleep(3_600_000);
      },
      { schedules: 5 },
    );
    expect(cause).toBeInstanceOf(UncontrolledAwaitError);
  });

  test("the scenario's own code is watched too", async () => {
    const cause = await causeOf(() => readFile(HERE), { schedules: 1 });
    expect(cause).toBeInstanceOf(UncontrolledAwaitError);
    expect((cause as Error).message).toMatch(
      /^scenario awaits something .* \(active in the host: .*FSReqPromise/,
    );
  });

  test("so is `init`", async () => {
    const cause = await causeOf(
      async (sim) => {
        const init = (): Promise<unknown> => readFile(HERE);
        sim.system({ name: "shop" }).spawn({ init, handle: () => undefined }, { label: "clerk" });
        await sim.quiet();
      },
      { schedules: 1 },
    );
    expect((cause as Error).message).toMatch(/^shop\/clerk awaits something/);
  });

  test("it is found in the step that begins it, not when nothing else can run", async () => {
    const error = await failureOf(async (sim) => {
      const reading = doing(() => readFile(HERE))(sim);
      const other = sim.system({ name: "other" });
      for (let i = 0; i < 50; i++) other.spawn(() => undefined, { label: `errand${i}` });
      await reading;
    });
    expect(error.cause).toBeInstanceOf(UncontrolledAwaitError);
    expect(error.trace.steps.at(-1)).toMatchObject({ type: "run", process: "shop/clerk" });
  });

  test("a promise that another process settles is under control: it takes no time of the host's", async () => {
    await explore(
      async (sim) => {
        const system = sim.system();
        let open: () => void = () => undefined;
        const gate = new Promise<void>((resolve) => {
          open = resolve;
        });
        let through = false;
        const waiting = system.spawn<string>({
          handle: async () => {
            await gate;
            through = true;
          },
        });
        const opening = system.spawn<string>({ handle: () => open() });
        for (const pid of [waiting, opening]) system.send(pid, "go");
        sim.finally("it is through", () => through);
        await sim.quiet();
      },
      { schedules: 50 },
    );
  });
});

describe("a place in the code", () => {
  const stack = (...frames: string[]): string =>
    ["Error", ...frames.map((frame) => `    at ${frame}`)].join("\n");

  test.each<[frame: string, place: string | undefined]>([
    ["clerk (/home/me/shop/clerk.ts:12:9)", "/home/me/shop/clerk.ts:12:9"],
    ["async clerk (/home/me/shop/clerk.ts:12:9)", "/home/me/shop/clerk.ts:12:9"],
    ["/home/me/shop/clerk.ts:12:9", "/home/me/shop/clerk.ts:12:9"],
    ["async /home/me/shop/clerk.ts:12:9", "/home/me/shop/clerk.ts:12:9"],
    ["Object.handle [as run] (file:///home/me/shop/clerk.js:1:2)", "file:///home/me/shop/clerk.js:1:2"],
    ["clerk (/home/me/my shop/the clerk.ts:12:9)", "/home/me/my shop/the clerk.ts:12:9"],
    ["clerk (C:\\me\\shop\\clerk.ts:12:9)", "C:\\me\\shop\\clerk.ts:12:9"],
    // A folder of the user's own may have a name that one of ours has.
    ["clerk (/home/me/shop/lib/process/clerk.ts:12:9)", "/home/me/shop/lib/process/clerk.ts:12:9"],
    ["open (node:internal/fs/promises:639:25)", undefined],
    ["Promise.all (index 0)", undefined],
    ["new Promise (<anonymous>)", undefined],
    ["retry (/home/me/node_modules/p-retry/index.js:3:4)", undefined],
  ])("of %s is %s", (frame, place) => {
    expect(placeOf(stack(frame), [])).toBe(place);
  });

  test("is the first that is neither the host's, nor a module's, nor the library's", () => {
    const frames = [
      "Array.forEach (<anonymous>)",
      "Process.activate (/srv/signalbox/lib/process/process.ts:1:1)",
      "World.perform (file:///srv/signalbox/lib/testing/simulator/world.ts:1:1)",
      "clerk (/home/me/shop/clerk.ts:12:9)",
      "main (/home/me/shop/main.ts:1:1)",
    ];
    const own = folders("file:///srv/signalbox/lib/process/own-code.ts?v=1");
    expect(placeOf(stack(...frames), own)).toBe("/home/me/shop/clerk.ts:12:9");
    expect(placeOf(stack(...frames.slice(0, 3)), own)).toBe(undefined);
    // Bundled with the test: then nobody knows whose line it is.
    expect(placeOf(stack(...frames), folders("file:///work/bundle.js"))).toContain("process.ts:1:1");
    const shipped = folders("file:///srv/signalbox/dist/testing/index.js");
    const bundled = stack(
      "World.perform (file:///srv/signalbox/dist/testing/index.js:1:1)",
      "clerk (/home/me/shop/clerk.ts:12:9)",
    );
    expect(placeOf(bundled, shipped)).toBe("/home/me/shop/clerk.ts:12:9");
  });

  test("is the user's in a linked package, whose code is in chunks and in no folder node_modules [T32]", () => {
    const linked = folders("file:///srv/signalbox/dist/chunks/explore.js");
    const lines = stack(
      "Process.activate (file:///srv/signalbox/dist/chunks/process.js:1:1)",
      "World.perform (file:///srv/signalbox/dist/testing/index.js:1:1)",
      "clerk (/home/me/shop/clerk.ts:12:9)",
    );
    expect(placeOf(lines, linked)).toBe("/home/me/shop/clerk.ts:12:9");
  });

  test("is distinguished from the library's on Windows, and in folders with spaces", () => {
    const windows = folders("file:///D:/my%20box/lib/process/own-code.js");
    for (const library of ["D:\\my box\\lib\\a.js", "file:///D:/my%20box/lib/a.js"])
      expect(placeOf(stack(`f (${library}:1:1)`, "g (D:\\app\\b.ts:2:2)"), windows)).toBe(
        "D:\\app\\b.ts:2:2",
      );
  });
});

describe("processes that are allowed to", () => {
  /** Asks a clerk who reads a file before each answer. */
  const asking: Scenario = async (sim) => {
    const system = sim.system({ name: "shop" });
    const clerk = system.spawn<{ to: ReplyTo<number> }>(
      {
        handle: async (ctx, { to }) => {
          const text = await readFile(HERE, "utf8");
          ctx.reply(to, text.length);
        },
      },
      { label: "clerk" },
    );
    const other = system.spawn<string>({ handle: () => undefined }, { label: "other" });
    system.sendAfter(other, "tick", 1);
    const lengths = await Promise.all(
      [1, 2].map(() => system.call(clerk, (to: ReplyTo<number>) => ({ to }))),
    );
    expect(lengths[0]).toBe(lengths[1]);
    // While the simulator waits for the host, virtual time stands still.
    expect(sim.now).toBe(0);
  };

  test("are waited for in real time, and their step has a definite end", async () => {
    await explore(asking, { schedules: 10, recheck: 2, allow: "shop/clerk" });
  });

  test("others are not", async () => {
    const cause = await causeOf(asking, { schedules: 10, allow: "shop/other" });
    expect(cause).toBeInstanceOf(UncontrolledAwaitError);
  });

  test("may be several, and the scenario may be one of them", async () => {
    await explore(
      async (sim) => {
        await wait(1);
        await asking(sim);
        await wait(1);
      },
      { schedules: 5, allow: ["scenario", /clerk$/] },
    );
  });

  test("are not waited for for ever", async () => {
    const error = await errorOf(
      simulate(
        doing(() => new Promise(() => undefined)),
        { allow: "shop/*", patienceMs: 20 },
      ),
    );
    expect((error as Error).cause).toBeInstanceOf(UncontrolledAwaitError);
    expect(((error as Error).cause as Error).message).toContain("more than 20 ms of real time");
  });
});
