// Every limit has a name and a default, and each does what its name says.

import { type ReplyTo, SYSTEM_DEFAULTS, System } from "signalbox";
import { describe, expect, test } from "vitest";
import { testClock } from "../../lib/testing/kit/clock.js";

const silent = { handle: () => undefined };

test("the table of defaults", () => {
  expect(SYSTEM_DEFAULTS).toEqual({
    callTimeoutMs: 5_000,
    startTimeoutMs: Number.POSITIVE_INFINITY,
    shutdownMs: 5_000,
    stopTimeoutMs: 60_000,
    highWater: 10_000,
    turnMessages: 10_000,
    turnMs: 5,
    activationMessages: 100,
    longTurnMs: 50,
    reportsPerSecond: 20,
  });
});

describe("a limit that is set", () => {
  test("holds for this system, and the others keep their defaults", async () => {
    const clock = testClock();
    await using short = new System({
      environment: clock.environment,
      limits: { callTimeoutMs: 10 },
      report: false,
    });
    await using usual = new System({ environment: clock.environment, report: false });
    const ended: string[] = [];
    for (const [name, system] of Object.entries({ short, usual })) {
      const pid = system.spawn<ReplyTo<string>>(silent);
      system
        .call(pid, (replyTo: ReplyTo<string>) => replyTo)
        .catch((error) => ended.push(`${name} ${error.code}`));
    }
    await clock.advance(9);
    expect(ended).toEqual([]);
    await clock.advance(1);
    expect(ended).toEqual(["short ERR_CALL_TIMEOUT"]);
    await clock.advance(SYSTEM_DEFAULTS.callTimeoutMs - 11);
    expect(ended).toHaveLength(1);
    await clock.advance(1);
    expect(ended).toEqual(["short ERR_CALL_TIMEOUT", "usual ERR_CALL_TIMEOUT"]);
  });

  test("may be infinite: such a call waits for ever", async () => {
    const clock = testClock();
    await using system = new System({
      environment: clock.environment,
      limits: { callTimeoutMs: Number.POSITIVE_INFINITY },
      report: false,
    });
    const pid = system.spawn<ReplyTo<string>>(silent);
    let ended = false;
    const call = system
      .call(pid, (replyTo: ReplyTo<string>) => replyTo)
      .catch(() => {
        ended = true;
      });
    await clock.advance(1e12);
    expect(ended).toBe(false);
    system.exit(pid, "kill");
    await call;
    expect(ended).toBe(true);
  });

  test("does not change when the caller changes the options object later", async () => {
    const limits = { highWater: 2 };
    await using system = new System({ limits, report: false });
    limits.highWater = 1_000;
    let told = 0;
    system.events.on("highWater", () => told++);
    const pid = system.spawn<number>(silent);
    for (let i = 0; i < 2; i++) system.send(pid, i);
    expect(told).toBe(1);
  });
});
