// The text somebody reads at three in the morning.

import { custom, System } from "signalbox";
import { describe, expect, test, vi } from "vitest";
import { Pid } from "../../lib/process/pid.js";
import { crashReport } from "../../lib/process/report.js";

const pid = new Pid({ name: "shop", id: "1" }, 17, "clerk", undefined);

describe("the report of a crash", () => {
  test("names the process, the reason, the message and the place in the code", () => {
    const error = new TypeError("no such item");
    const report = crashReport(
      pid,
      { type: "crash", error },
      { item: "tea", n: 3 },
      { message: { item: "tea", n: 3 } },
    );
    expect(report.text).toBe(
      "<shop.17 clerk> ended, and no process was linked to it or monitored it: crash, TypeError: no such item " +
        `at message {"item":"tea","n":3}\n${error.stack?.split("\n").slice(1).join("\n")}`,
    );
    expect(report).toMatchObject({ pid, reason: { type: "crash", error }, stack: error.stack });
    expect(report.lastMessage).toEqual({ item: "tea", n: 3 });
  });

  test("is one line when there is neither message nor stack", () => {
    expect(crashReport(pid, custom("out of tea"), undefined, undefined).text).toBe(
      '<shop.17 clerk> ended, and no process was linked to it or monitored it: custom "out of tea"',
    );
    expect(crashReport(pid, { type: "killed" }, undefined, undefined).text).toMatch(/: killed$/);
  });

  test("is made for any message", () => {
    const loop: unknown[] = [];
    loop.push(loop);
    const hostile = {
      toJSON: () => {
        throw new Error("not me");
      },
    };
    const messages = [
      loop,
      hostile,
      10n,
      Symbol("s"),
      () => 1,
      null,
      Object.create(null),
      "x".repeat(9),
      new Map(),
    ];
    for (const message of messages) {
      expect(crashReport(pid, { type: "killed" }, message, { message }).text).toContain("killed at message ");
    }
    const message = { long: "y".repeat(10_000) };
    expect(crashReport(pid, { type: "killed" }, message, { message }).text.length).toBeLessThan(200);
  });
});

describe("reports of a system", () => {
  test("go to the sink of the system's `report` option", async () => {
    const lines: string[] = [];
    await using system = new System({
      name: "shop",
      report: { to: (text) => lines.push(text), messages: true },
    });
    const clerk = system.spawn<string>(
      {
        handle: () => {
          throw new Error("out of tea");
        },
      },
      { label: "clerk" },
    );
    system.send(clerk, "one tea");
    await system.idle();
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(
      /^<shop\.1 clerk> ended, .*crash, Error: out of tea at message "one tea"\n {4}at /,
    );
  });

  test("go to standard error by default, and nowhere when `report` is false", async () => {
    const printed = vi.spyOn(console, "error").mockImplementation(() => undefined);
    try {
      for (const options of [{}, { report: false as const }]) {
        await using system = new System({ name: "shop", ...options });
        system.spawn((ctx) => ctx.exit(custom("boom")));
        await system.idle();
      }
      expect(printed.mock.calls).toEqual([[expect.stringMatching(/^<shop\.1> ended, .*: custom "boom"$/)]]);
    } finally {
      printed.mockRestore();
    }
  });
});
