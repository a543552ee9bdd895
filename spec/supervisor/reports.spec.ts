// What a supervisor reports: each restart in a line, with the stack, and its giving up with the history.

import { custom, dynamicSupervisor, OptionError, type Report, System, supervisor } from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { framesOf } from "../../lib/process/show.js";
import { type TestClock, testClock } from "../../lib/testing/kit/clock.js";
import { child } from "./house.js";

let clock: TestClock;
let system: System;
let reports: Report[];
beforeEach(() => {
  clock = testClock();
  reports = [];
  system = new System({
    name: "shop",
    environment: clock.environment,
    report: (_text, report) => void reports.push(report),
  });
});
afterEach(() => system.stop());

async function end(name: string, reason: Error | ReturnType<typeof custom>): Promise<void> {
  system.send(name, reason);
  await system.idle();
}

const [head, stack] = [
  (report: Report | undefined) => report?.text.split("\n")[0],
  (report: Report | undefined) => report?.text.split("\n").slice(1).join("\n"),
];

describe("a restart", () => {
  it("is one line: child, reason, strategy, intensity left; with the stack [R5]", async () => {
    await system.start(
      supervisor({
        label: "floor",
        strategy: "one_for_all",
        intensity: 3,
        children: [child("till", { name: "till" }), child("clerk")],
      }),
    );
    const error = new Error("no paper");
    await end("till", error);
    expect(reports).toMatchObject([
      { level: "warn", event: "restart", path: "shop/floor/till", error, reason: { type: "crash", error } },
    ]);
    expect(head(reports[0])).toBe(
      '<shop.1 floor> restarts child "till" (one_for_all with clerk; 2 more allowed within 5000 ms), which ended: ' +
        "crash, Error: no paper",
    );
    expect(stack(reports[0])).toBe(framesOf(error).slice(1));
  });

  it("names its wait, and says that there is no limit", async () => {
    const backoff = { minMs: 200, maxMs: 200, jitter: 0 };
    await system.start(
      supervisor({
        intensity: Number.POSITIVE_INFINITY,
        backoff,
        children: [child("till", { name: "till" })],
      }),
    );
    await end("till", custom("broken"));
    expect(reports.map((report) => report.text)).toEqual([
      '<shop.1 supervisor> restarts child "till" in 200 ms (one_for_one; no limit), which ended: custom "broken"',
    ]);
  });

  it("that does not happen, after the failure of a temporary child, is a line too", async () => {
    const temporary = child("till", { restart: "temporary", name: "till" });
    await system.start(supervisor({ children: [temporary] }));
    await end("till", new Error("no paper"));
    const many = await system.start(dynamicSupervisor({ child: temporary }));
    await many.startLike([]);
    await end("till", new Error("no paper"));
    const away = 'does not restart child "till" (temporary), which ended: crash, Error: no paper';
    expect(reports.map(head)).toEqual([`<shop.1 supervisor> ${away}`, `<shop.3 dynamic supervisor> ${away}`]);
    expect(reports[0]).toMatchObject({ level: "error", event: "childExit", path: "shop/supervisor/till" });
  });

  it("is not reported when a child ends as it is told to, or in order", async () => {
    const children = [
      child("a", { restart: "temporary", shutdown: "brutal_kill", name: "a" }),
      child("b", { restart: "temporary", name: "b" }),
    ];
    const shop = await system.start(supervisor({ children }));
    await shop.terminateChild("a");
    await end("b", { type: "shutdown" } as never);
    await system.stop();
    expect(reports).toEqual([]);
  });

  it("is not printed when `report` is false; the event stays", async () => {
    const events: string[] = [];
    system.events.on("restart", ({ id }) => events.push(id));
    const quiet = { report: false, children: [child("till", { name: "till" })] };
    await system.start(supervisor(quiet));
    await end("till", custom("broken"));
    expect([events, reports]).toEqual([["till"], []]);
    expect(() => supervisor({ ...quiet, report: "no" as never })).toThrow(OptionError);
  });
});

describe("giving up", () => {
  it("is reported with its history and the stack, also by a root [R6]", async () => {
    await system.start(
      supervisor({
        label: "floor",
        intensity: 2,
        periodMs: 1_000,
        children: [child("till", { name: "till" })],
      }),
    );
    await end("till", custom("forgotten"));
    await clock.advance(1_001);
    await end("till", custom("first"));
    await clock.advance(200);
    await end("till", custom("second"));
    await clock.advance(300);
    const last = new Error("third");
    await end("till", last);
    const report = reports.at(-1);
    expect(report).toMatchObject({ level: "error", event: "gaveUp", path: "shop/floor/till", error: last });
    expect(report?.text).toBe(
      '<shop.1 floor> gave up: child "till" ended once more (crash, Error: third) than its restart intensity allows ' +
        "within 1000 ms, and there is no supervisor above to try again\n" +
        '  500 ms before: child "till" ended (custom "first")\n' +
        `  300 ms before: child "till" ended (custom "second")${framesOf(last)}`,
    );
  });

  it("lists no more than the last ten ends", async () => {
    await system.start(supervisor({ intensity: 100, children: [child("till", { name: "till" })] }));
    for (let i = 0; i < 101; i++) await end("till", custom(i));
    await clock.advance(1_000);
    system.events.removeAllListeners();
    await system.start(supervisor({ intensity: 15, children: [child("clerk", { name: "clerk" })] }));
    for (let i = 0; i < 16; i++) await end("clerk", custom(i));
    const lines = reports.at(-1)?.text.split("\n") ?? [];
    expect(lines).toHaveLength(11);
    expect(lines.at(-1)).toContain("(custom 14)");
  });
});
