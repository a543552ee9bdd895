// The verdict on the health of a service: a pure function.

import { describe, expect, it } from "vitest";
import { type CheckHealth, type PartHealth, reportOn } from "../../../lib/service/health/report.js";

const bounds = { maxMailboxDepth: 10, maxEventLoopDelayMs: 100 };
const parts: readonly PartHealth[] = [
  { path: "", phase: "running" },
  { path: "stock", phase: "running" },
  { path: "floor", phase: "running", restarts: { count: 1, intensity: 3, periodMs: 5_000 } },
  { path: "floor/clerk", phase: "running" },
];
const check = (name: string, ok: boolean, kind: "ready" | "live" = "ready", part = ""): CheckHealth => ({
  name,
  for: kind,
  part,
  ok,
});

/** Parts in which one is otherwise. */
function but(path: string, change: Partial<PartHealth>): readonly PartHealth[] {
  return parts.map((part) => (part.path === path ? { ...part, ...change } : part));
}

function verdict({
  path = "",
  phase = "running",
  findings = parts,
  checks = [] as readonly CheckHealth[],
  delay = 0,
}) {
  const report = reportOn("shop", phase, path, { parts: findings, checks, eventLoopDelayMs: delay }, bounds);
  return report && [report.live, report.ready, report.reasons.join("; "), report.warnings.join("; ")];
}

describe("a service", () => {
  it("is ready when it runs, with all children up and all checks passed [A13]", () => {
    expect(verdict({ checks: [check("db", true)] })).toEqual([true, true, "", ""]);
  });

  it.each(["configuring", "starting", "draining", "stopping"])(
    "is live and not ready while it is %s [A13]",
    (phase) => {
      expect(verdict({ phase })).toEqual([true, false, `the service is ${phase}`, ""]);
    },
  );

  it("is neither when it is stopped", () => {
    expect(verdict({ phase: "stopped", findings: [] })).toEqual([false, false, "the service is stopped", ""]);
  });

  it.each([
    ["restarting", "floor/clerk is restarting"],
    ["starting", "floor/clerk is starting"],
    ["unknown", "floor/clerk did not answer in time"],
  ] as const)("is not ready while a child is %s [A13]", (phase, why) => {
    expect(verdict({ findings: but("floor/clerk", { phase }) })).toEqual([true, false, why, ""]);
  });

  it("is ready although a child is stopped: that one has ended, or was stopped on purpose", () => {
    expect(verdict({ findings: but("stock", { phase: "stopped" }) })).toEqual([true, true, "", ""]);
  });

  it("is warned about when a supervisor is near its limit", () => {
    const restarts = { count: 3, intensity: 3, periodMs: 5_000 };
    const warning = "floor gives up at its next restart: 3 of 3 within 5000 ms";
    expect(verdict({ findings: but("floor", { restarts }) })).toEqual([true, true, "", warning]);
  });

  it("is not live when a mailbox is too deep, the event loop too late, or a check for liveness fails", () => {
    const deep = "stock has 11 messages in its mailbox; at most 10 are allowed";
    expect(verdict({ findings: but("stock", { mailboxDepth: 11 }) })).toEqual([false, false, deep, ""]);
    expect(verdict({ findings: but("stock", { mailboxDepth: 10 }) })).toEqual([true, true, "", ""]);
    const late = "the event loop is 101 ms late; at most 100 ms are allowed";
    expect(verdict({ delay: 101 })).toEqual([false, false, late, ""]);
    expect(verdict({ checks: [check("disk", false, "live")] })).toEqual([
      false,
      false,
      "check disk failed",
      "",
    ]);
    expect(verdict({ checks: [check("db", false)] })).toEqual([true, false, "check db failed", ""]);
  });
});

describe("a part", () => {
  it("has the health of what is below it, and of the supervisors above it [A13]", () => {
    const findings = but("floor/clerk", { phase: "restarting" });
    expect(verdict({ path: "stock", findings })).toEqual([true, true, "", ""]);
    expect(verdict({ path: "floor", findings })).toEqual([true, false, "floor/clerk is restarting", ""]);
    const down: readonly PartHealth[] = [parts[0] as PartHealth, { path: "floor", phase: "restarting" }];
    expect(verdict({ path: "floor/clerk", findings: down })).toEqual([
      true,
      false,
      "floor is restarting",
      "",
    ]);
  });

  it("has the checks that are about it, about what is below it, and about all", () => {
    const checks = [check("db", false, "ready", "stock"), check("till", false, "ready", "floor/clerk")];
    expect(verdict({ path: "stock", checks })).toEqual([true, false, "check db failed", ""]);
    expect(verdict({ path: "floor", checks })).toEqual([true, false, "check till failed", ""]);
    expect(verdict({ path: "stock", checks: [check("all", false)] })).toEqual([
      true,
      false,
      "check all failed",
      "",
    ]);
  });

  it("that does not exist has no health", () => {
    expect(verdict({ path: "flor" })).toBeUndefined();
    expect(verdict({ path: "flo" })).toBeUndefined();
  });
});
