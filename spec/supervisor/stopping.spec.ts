// A system that stops gives its supervisors the time that their children's specs ask for, within the limit of the whole.

import { type Callbacks, dynamicSupervisor, System, supervisor } from "signalbox";
import { beforeEach, describe, expect, it } from "vitest";
import { type TestClock, testClock } from "../../lib/testing/kit/clock.js";
import { child, hanging, planned, stubborn, worker } from "./house.js";

let clock: TestClock;
let diary: string[];
let system: System;
beforeEach(() => {
  clock = testClock();
  diary = [];
  system = new System({ environment: clock.environment, report: (text) => diary.push(`printed: ${text}`) });
  const note = (label: string | undefined, what: string): void => {
    if (label !== "exited") diary.push(`${clock.now} ${label} ${what}`);
  };
  system.events.on("spawn", ({ pid }) => note(pid.label, "up"));
  system.events.on("exit", ({ pid, reason }) => note(pid.label, reason.type));
});

function news(): string[] {
  return diary.splice(0);
}

/** Stops the system, and gives the ends with their times. */
async function stopIn(ms: number): Promise<string[]> {
  news();
  const stopped = system.stop();
  await clock.advance(ms);
  await stopped;
  return news();
}

const slow = (id: string, shutdown: number): ReturnType<typeof child> =>
  child(id, { start: stubborn, shutdown });

describe("a system that stops", () => {
  it("leaves each child the shutdown time of its spec, one after the other [Q1]", async () => {
    await system.start(supervisor({ children: [slow("a", 30_000), child("b"), slow("c", 7_000)] }));
    expect(await stopIn(40_000)).toEqual([
      "7000 c killed",
      "7000 b shutdown",
      "37000 a killed",
      "37000 supervisor shutdown",
    ]);
  });

  it("leaves this time to children at any depth, and to dynamic children [Q1]", async () => {
    const Sessions = dynamicSupervisor({ child: slow("session", 20_000) });
    const branch = supervisor({ label: "branch", children: [child("sessions", { start: Sessions })] });
    await system.start(supervisor({ children: [slow("a", 10_000), child("branch", { start: branch })] }));
    const sessions = system.processes().find((pid) => pid.label === "sessions");
    if (sessions === undefined) throw new Error("no sessions");
    for (let i = 0; i < 2; i++)
      await system.call(sessions, (replyTo) => ({ type: "add-like", args: [], replyTo }) as never);
    expect(await stopIn(40_000)).toEqual([
      "20000 session killed",
      "20000 session killed",
      "20000 sessions shutdown",
      "20000 branch shutdown",
      "30000 a killed",
      "30000 supervisor shutdown",
    ]);
  });

  it("kills whole trees at the limit of the stop, and restarts nothing [Q3]", async () => {
    const branch = supervisor({ children: [slow("b", Number.POSITIVE_INFINITY)] });
    await system.start(
      supervisor({ strategy: "one_for_all", children: [child("a"), child("branch", { start: branch })] }),
    );
    const ends = await stopIn(60_000);
    expect(ends.sort()).toEqual([
      "60000 a killed",
      "60000 b killed",
      "60000 branch killed",
      "60000 supervisor killed",
    ]);
    expect([system.population, clock.pendingAlarms]).toEqual([0, 0]);
  });

  it("continues with the next root after a root has ended [Q1]", async () => {
    await system.start(supervisor({ label: "first", children: [slow("a", 10_000)] }));
    await system.start(supervisor({ label: "second", children: [slow("b", 20_000)] }));
    expect(await stopIn(40_000)).toEqual([
      "20000 b killed",
      "20000 second shutdown",
      "30000 a killed",
      "30000 first shutdown",
    ]);
  });
});

describe("a stop in the middle", () => {
  it("of a start interrupts the start, and stops the running children [Q4]", async () => {
    const start = system
      .start(supervisor({ children: [slow("a", 8_000), child("b", { start: hanging })] }))
      .catch((error) => diary.push(error.code));
    await clock.settle();
    expect(await stopIn(8_000)).toEqual([
      "0 b killed",
      "8000 a killed",
      "8000 supervisor shutdown",
      "ERR_START",
    ]);
    await start;
  });

  it("of a restart with backoff ends the wait, and starts nothing [Q4]", async () => {
    await system.start(
      supervisor({
        backoff: { minMs: 1_000, maxMs: 1_000 },
        strategy: "rest_for_one",
        children: [slow("a", 8_000), planned("b", ["up", "up"]), child("c")],
      }),
    );
    const b = system.processes().find((pid) => pid.label === "b");
    if (b === undefined) throw new Error("no b");
    system.exit(b, "kill");
    await clock.advance(500);
    expect(await stopIn(30_000)).toEqual(["8500 a killed", "8500 supervisor shutdown"]);
  });

  it("of a restart that hangs ends the restart, and stops the running children [Q4]", async () => {
    let starts = 0;
    const onceOnly: Callbacks<never> = {
      init: () => (++starts > 1 ? new Promise(() => undefined) : undefined),
      handle: () => undefined,
    };
    await system.start(supervisor({ children: [slow("a", 8_000), child("b", { start: onceOnly })] }));
    const b = system.processes().find((pid) => pid.label === "b");
    if (b === undefined) throw new Error("no b");
    system.exit(b, "kill");
    await clock.settle();
    expect(await stopIn(8_000)).toEqual(["0 b killed", "8000 a killed", "8000 supervisor shutdown"]);
  });

  it("of a stop of a child gives the child no more than its own time [Q4]", async () => {
    const shop = await system.start(supervisor({ children: [slow("a", 8_000), slow("b", 10_000)] }));
    const gone = shop.terminateChild("b").catch((error) => error.code);
    await clock.advance(4_000);
    expect(await stopIn(30_000)).toEqual(["10000 b killed", "18000 a killed", "18000 supervisor shutdown"]);
    expect(await gone).toBeUndefined();
  });

  it("called by a child of the tree ends this child when its turn to stop comes [Q4]", async () => {
    const asks: Callbacks<string> = { handle: () => void system.stop() };
    await system.start(
      supervisor({ children: [slow("a", 8_000), child("asks", { start: asks, name: "asks" }), child("z")] }),
    );
    news();
    system.send("asks", "stop");
    await clock.advance(10_000);
    expect(news()).toEqual(["0 z shutdown", "0 asks shutdown", "8000 a killed", "8000 supervisor shutdown"]);
  });

  it("of a supervisor that is giving up lets the supervisor finish [Q4]", async () => {
    await system.start(
      supervisor({ intensity: 0, children: [slow("a", 8_000), child("b", { start: worker })] }),
    );
    const b = system.processes().find((pid) => pid.label === "b");
    if (b === undefined) throw new Error("no b");
    system.exit(b, "kill");
    await clock.advance(1_000);
    const ends = await stopIn(30_000);
    expect(ends).toEqual(["8000 a killed", "8000 supervisor shutdown"]);
  });
});
